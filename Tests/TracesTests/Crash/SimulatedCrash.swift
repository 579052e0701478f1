import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport

/// What a device measures in a vehicle, in exact virtual time: motion in the frame of the vehicle, seen through a mounting.
struct SimulatedCrash {
  /// m/s² right, forward, up of the vehicle at a second.
  var acceleration: (Double) -> Vector3 = { _ in .zero }
  /// rad/s about the vehicle's axes.
  var rotation: (Double) -> Vector3 = { _ in .zero }
  /// From the device to the vehicle.
  var mounting = Quaternion.identity
  var rate = 400.0
  /// m/s² and rad/s, one deviation.
  var noise = (force: 0.05, rate: 0.003)
  /// m/s², where an axis of the sensor ends.
  var range = Double.infinity
  var random: SeededGenerator

  init(_ random: SeededGenerator) { self.random = random }

  /// A pulse as crashes have it: a haversine whose area is a change of velocity.
  static func pulse(_ change: Vector3, at start: Double, lasting duration: Double) -> (Double) -> Vector3 {
    { time in
      guard (start...start + duration).contains(time) else { return .zero }
      let phase = sin(.pi * (time - start) / duration)
      return change * (2 / duration * phase * phase)
    }
  }

  mutating func scans(_ seconds: Double) -> [InertialScan] {
    // The vehicle lies level at the start, its heading is any.
    var attitude = Quaternion.identity
    return (0..<Int(seconds * rate)).map { number in
      let time = Double(number) / rate
      let turn = rotation(time)
      attitude = (attitude * Quaternion(rotationVector: turn / rate)).normalized
      let gravity = attitude.conjugate.rotate(Vector3(0, 0, standardGravity))
      let force =
        mounting.conjugate.rotate(acceleration(time) + gravity) + noise.force * random.nextNormalVector()
      return InertialScan(
        timestamp: Timestamp(seconds: 100 + time),
        specificForce: force.clamped(
          lowerBound: Vector3(repeating: -range), upperBound: Vector3(repeating: range)),
        rotationRate: mounting.conjugate.rotate(turn) + noise.rate * random.nextNormalVector())
    }
  }
}
