import Fleet
import FleetFixtures
import FleetStore
import MQTT
import Spatial
import Telemetry
import VehicleData

/// Rows that a recorder creates from messages.
enum RecordedRows {
  /// - Parameters:
  ///   - messages: topics below `odograph/v1/demo`, and payloads.
  ///   - seconds: seconds after noon of 2026-11-21 by the recorder's clock.
  static func of(_ messages: [(String, String)], at seconds: Double = 0) -> [RecordedMessage] {
    var recording = MessageRecording(root: "odograph/v1")
    return messages.map { topic, text in
      recording.record(
        MQTTMessage(topic: "odograph/v1/demo/" + topic, text: text, qos: .atLeastOnce), at: moment(seconds))
    }
  }

  /// A location of the van.
  static func location(_ seq: Int, at seconds: Double, latitude: Double = 48, longitude: Double = 11.5) -> (
    String, String
  ) {
    location("van", seq, at: seconds, latitude: latitude, longitude: longitude)
  }

  /// A coarse location of the van.
  static func coarse(_ seq: Int, at seconds: Double, latitude: Double) -> (String, String) {
    let fix = location(seq, at: seconds, latitude: latitude)
    return (fix.0, fix.1.dropLast() + #","positionSource":"coarse"}"#)
  }

  /// A suspect location of the van.
  static func suspect(_ seq: Int, at seconds: Double, latitude: Double) -> (String, String) {
    let fix = location(seq, at: seconds, latitude: latitude)
    return (fix.0, fix.1.dropLast() + #","suspect":"jump"}"#)
  }

  /// A track of the van.
  static func track(_ seq: Int, at seconds: Double, latitudes: [Double]) -> (String, String) {
    track("van", seq, at: seconds, latitudes: latitudes)
  }

  /// A location of a vehicle, `seconds` after noon.
  static func location(
    _ vehicle: String, _ seq: Int, at seconds: Double, latitude: Double = 48, longitude: Double = 11.5
  ) -> (String, String) {
    (
      vehicle + "/location",
      locationJSON(latitude, at: seconds, epoch: "e", seq: seq, speed: 2.5, course: 90, longitude: longitude)
    )
  }

  /// A track with fixes every second, at an altitude of 520.5 m and a speed of 13.37 m/s.
  static func track(_ vehicle: String, _ seq: Int, at seconds: Double, latitudes: [Double]) -> (
    String, String
  ) {
    let fixes = latitudes.enumerated().map { index, latitude in
      TrackMessage.Fix(
        time: noon.advanced(bySeconds: seconds + Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: latitude, longitude: 11.5)),
        horizontalAccuracy: 2.5, altitude: 520.5,
        speed: 13.37)
    }
    let track = TrackMessage(identity: MessageIdentity(epoch: "e", seq: UInt64(seq)), fixes: fixes)
    return (vehicle + "/track", String(decoding: track.payload, as: UTF8.self))
  }

  static let day = 86_400.0
}

/// Positions whose newest one is not the one with the latest time.
enum LatestCases {
  /// The clock is right, then two hours ahead, then right again; then a track from before arrives. The newest
  /// position has the latitude 52.
  static var clockSetBack: [[RecordedMessage]] {
    [
      RecordedRows.of([RecordedRows.location(1, at: 0, latitude: 49)], at: 1),
      RecordedRows.of([RecordedRows.location(2, at: 7211, latitude: 50)], at: 11),
      RecordedRows.of([RecordedRows.location(3, at: 7221, latitude: 51)], at: 21),
      RecordedRows.of([RecordedRows.location(5, at: 40, latitude: 52)], at: 41),
      RecordedRows.of([RecordedRows.track(4, at: 3, latitudes: [47, 48])], at: 51),
    ]
  }
}
