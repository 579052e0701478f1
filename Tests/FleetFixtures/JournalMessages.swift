internal import Spatial
package import Telemetry
internal import VehicleData

/// Messages about trips and driving events, as topics below `odograph/v1/demo`, and payloads.
package enum JournalMessages {
  package static let series = "0123456789abcdef"

  /// A trip of 10 minutes that begins `start` seconds after noon.
  package static func trip(
    _ number: Int64, revision: Int = 1, phase: TripMessage.Phase = .ended, vehicle: String = "van",
    series: String = series, start: Double = 0, seq: UInt64? = nil, kind: TripMessage.Kind = .driven,
    distance: Double = 500, driver: String? = nil
  ) -> (String, String) {
    let (begin, end) = (noon.advanced(bySeconds: start), noon.advanced(bySeconds: start + 600))
    var trip = TripMessage(
      trip: JournalNumber(series: series, number: number), revision: revision, phase: phase, kind: kind,
      start: .init(
        time: begin, coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.125, longitude: 11.5)),
        horizontalAccuracy: 2.5,
        odometer: 1200.5),
      end: .init(
        time: end, coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.25, longitude: 11.75)),
        odometer: 1200.5 + distance),
      distance: distance, estimated: 12.5, moving: 540, standing: 60, idling: 8.5, greatestSpeed: 13.25,
      meanSpeed: 1, fuel: 0.125, electricity: -0.5, events: ["harshBraking": 2, "kerb": 1], driver: driver,
      purpose: "delivery",
      way: [
        .init(
          time: begin, coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.125, longitude: 11.5))),
        .init(
          time: begin.advanced(bySeconds: 300),
          coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.1875, longitude: 11.625))),
        .init(
          time: end, coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.25, longitude: 11.75))),
      ], bound: 5)
    trip.identity = MessageIdentity(epoch: "e", seq: seq ?? UInt64(number) * 100 + UInt64(revision))
    return ("\(vehicle)/trip", String(decoding: trip.payload, as: UTF8.self))
  }

  package static func event(
    _ number: Int64, _ kind: DrivingEventMessage.Kind = .harshBraking, ongoing: Bool = false,
    vehicle: String = "van", series: String = series, at seconds: Double = 0, trip: Int64? = 1,
    duration: Double? = 1.5, severity: DrivingEventMessage.Severity = .medium, seq: UInt64? = nil,
    region: String? = nil
  ) -> (String, String) {
    var event = DrivingEventMessage(
      time: noon.advanced(bySeconds: seconds), event: kind,
      journal: JournalNumber(series: series, number: number), isOngoing: ongoing, trip: trip,
      coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.125, longitude: 11.5)),
      horizontalAccuracy: 2.5, speed: 12.5,
      peak: 4.25, limit: 3, duration: duration, severity: severity, confidence: 0.875, region: region)
    event.identity = MessageIdentity(
      epoch: "e", seq: seq ?? 1_000_000 + UInt64(number) * 10 + (ongoing ? 0 : 1))
    return ("\(vehicle)/driving/event", String(decoding: event.payload, as: UTF8.self))
  }
}
