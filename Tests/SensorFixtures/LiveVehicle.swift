internal import Foundation
package import Spatial
package import TestSupport

/// A vehicle's hardware in real time: a receiver connected to a real gpsd, and the chips of an emulated iiod.
package final class LiveVehicle {
  package static let start = Coordinate(latitude: 48.1374, longitude: 11.5755)

  package let receiver: LiveReceiver
  package let sensors: EmulatedIIOD
  private let begin = Date().timeIntervalSince1970

  /// Starts with a level vehicle at rest that faces north and has a fix.
  package init() throws {
    receiver = try LiveReceiver(at: Self.epoch(0, speed: 0), language: .ubx)
    sensors = try EmulatedIIOD()
  }

  /// Settings of an agent on this vehicle.
  package var settings: [String: String] {
    ["input.mode": "hardware", "gpsd.port": "\(receiver.port)", "iio.contexts": sensors.uri]
  }

  /// Number of times that a client watched gpsd since the start.
  package var watches: Int { receiver.watched(from: begin, to: Date().timeIntervalSince1970).times }

  private static func epoch(_ metersEast: Double, speed: Double) -> LiveReceiver.Epoch {
    let place = start.destination(distance: metersEast, bearing: 90)
    return LiveReceiver.Epoch(
      latitude: place.latitude, longitude: place.longitude, speed: speed, course: 90)
  }

  /// Drives east at 20 m/s from the next second, then stops.
  package func drive(seconds: Int) {
    let epochs =
      (0..<seconds).map { Self.epoch(20 * Double($0), speed: 20) }
      + [Self.epoch(20 * Double(seconds), speed: 0)]
    receiver.play(epochs, from: Int(Date().timeIntervalSince1970) + 1)
  }

  /// Holds the vehicle level and at rest.
  package func rest() { sensors.play { _ in EmulatedIIOD.Reading() } }

  /// Gestures repeated every 24 s: a turn to the right and back, a shake, an impact on the left, and a roll onto the
  /// side and back.
  package static func gestures(_ time: Double) -> EmulatedIIOD.Reading {
    let phase = time.truncatingRemainder(dividingBy: 24)
    // Angle and rate of a trapezoid in time: it rises from `begin` and falls from `end`.
    func turn(_ begin: Double, _ end: Double, seconds: Double, degrees: Double) -> (
      angle: Double, rate: Double
    ) {
      let rise = min(max(0, (phase - begin) / seconds), 1)
      let fall = min(max(0, (phase - end) / seconds), 1)
      let slope =
        rise > 0 && rise < 1 ? degrees / seconds : fall > 0 && fall < 1 ? -degrees / seconds : 0
      return (degrees.radians * (rise - fall), slope.radians)
    }
    let yaw = turn(1, 5, seconds: 3, degrees: -90)
    let roll = turn(13, 18, seconds: 2, degrees: 90)
    let attitude =
      Quaternion(angle: yaw.angle, axis: Vector3(0, 0, 1))
      * Quaternion(angle: roll.angle, axis: Vector3(0, 1, 0))
    var force = Vector3(0, 0, 9.80665)
    if (9..<9.8).contains(phase) { force.x += 25 * sin(2 * .pi * 4 * phase) }
    if (11.5..<11.58).contains(phase) { force.x += 60 * sin(.pi * (phase - 11.5) / 0.08) }
    return EmulatedIIOD.Reading(
      specificForce: attitude.conjugate.rotate(force),
      rotationRate: roll.rate == 0 ? Vector3(0, 0, yaw.rate) : Vector3(0, roll.rate, 0),
      magneticField: attitude.conjugate.rotate(Vector3(0, 20, -44)))
  }
}
