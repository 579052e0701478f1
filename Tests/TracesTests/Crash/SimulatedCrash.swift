import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport

/// Samples of a device in a crashing vehicle, in virtual time: motion in the frame of the vehicle, rotated by the
/// mounting.
struct SimulatedCrash {
  /// Acceleration to the right, forward and up in m/s², by time in seconds.
  var acceleration: (Double) -> Vector3 = { _ in .zero }
  /// Rotation rate about the vehicle's axes in rad/s, by time in seconds.
  var rotation: (Double) -> Vector3 = { _ in .zero }
  /// Rotation from the device's frame to the vehicle's.
  var mounting = Quaternion.identity
  var rate = 400.0
  /// Standard deviation of the noise in m/s² and rad/s.
  var noise = (force: 0.05, rate: 0.003)
  /// Limit of each axis in m/s², beyond which the sensor clips.
  var range = Double.infinity
  var random: SeededGenerator

  init(_ random: SeededGenerator) { self.random = random }

  /// A crash pulse: a haversine whose integral is the change of velocity.
  static func pulse(_ change: Vector3, at start: Double, lasting duration: Double) -> (Double) -> Vector3 {
    { time in
      guard (start...start + duration).contains(time) else { return .zero }
      let phase = sin(.pi * (time - start) / duration)
      return change * (2 / duration * phase * phase)
    }
  }

  mutating func scans(_ seconds: Double) -> [InertialScan] {
    // The vehicle is level at the start. Its heading does not matter.
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
