import Fleet
import FleetFixtures
import FleetStore
import Spatial
import Telemetry
import Testing

@testable import odograph

/// Trips and driving events as text.
@Suite struct TripTextTests {
  private typealias Entry = JournalMessages

  private let van = VehicleKey(fleet: "demo", vehicle: "van")

  private func trip(_ message: (String, String)) throws -> ReportedTrip {
    try #require(ReportedTrip(vehicle: van, payload: Array(message.1.utf8)))
  }

  private func event(_ message: (String, String)) throws -> ReportedDrivingEvent {
    try #require(ReportedDrivingEvent(vehicle: van, payload: Array(message.1.utf8)))
  }

  private func text(_ writer: any DocumentWriter<ReportedTrip>, _ all: [ReportedTrip]) -> String {
    func written(_ given: some DocumentWriter<ReportedTrip>) -> String {
      var writer = given
      writer.begin()
      for told in all { writer.append(told) }
      writer.end()
      return String(decoding: writer.bytes, as: UTF8.self)
    }
    return written(writer)
  }

  @Test func tripsHaveALineOrASheet() throws {
    let moving = try trip(Entry.trip(8, phase: .underway, driver: "\u{1B}[2Jann"))
    let lines = text(JournalFormat.text.tripWriter(isSheet: false), [try trip(Entry.trip(7)), moving])
      .split(separator: "\n")
    #expect(lines.count == 3 && lines[0].hasPrefix("VEHICLE "))
    #expect(
      lines[1]
        == "demo/van              7  2026-11-21T12:00:00Z  10 min     500 m    3.6 km/h   47.7 km/h  driven  2 harshBraking, 1 kerb  delivery"
    )
    #expect(lines[2].contains("driven  underway  2 harshBraking, 1 kerb  \u{FFFD}[2Jann  delivery"))
    // Time and distance of a trip under way end at the same position.
    var continued = moving
    continued.continuation = TripContinuation(
      distance: 1500, end: moving.trip.end.time.advanced(bySeconds: 300))
    let row = text(JournalFormat.text.tripWriter(isSheet: false), [continued]).split(separator: "\n")[1]
    #expect(row.contains(" 15 min    2.0 km           –           –  driven"), "\(row)")
    let sheet = text(JournalFormat.text.tripWriter(isSheet: true), [continued])
    #expect(sheet.contains("  reported  2026-11-21T12:10:00Z "))
    #expect(sheet.contains("  distance  500 m"))
    #expect(sheet.contains("  since     1.5 km until 2026-11-21T12:15:00Z\n"))
    var told = try trip(Entry.trip(7, driver: "ann"))
    told.drivingEvents = [try event(Entry.event(2)), try event(Entry.event(3, .idling, ongoing: true))]
    #expect(
      text(JournalFormat.text.tripWriter(isSheet: true), [told]) == """
        demo/van  trip 7  driven
          begun     2026-11-21T12:00:00Z  48.12500   11.50000  ±2.5 m  odometer 1.2 km
          ended     2026-11-21T12:10:00Z  48.25000   11.75000  odometer 1.7 km
          distance  500 m  13 m of it estimated
          time      9 min moving  1 min standing  8 s of that idling
          speed     mean 3.6 km/h  greatest 47.7 km/h
          energy    0.125 l  -0.5 kWh
          events    2 harshBraking, 1 kerb
          driver    ann
          purpose   delivery
          way       3 places within 5.0 m
          journal   0123456789abcdef  revision 1
          2026-11-21T12:00:00Z  harshBraking  medium  peak 4.25 m/s² over 3 m/s²  for 1.5 s  at 45.0 km/h  48.12500   11.50000  trip 1  88 % sure
          2026-11-21T12:00:00Z  idling  medium  ongoing  peak 4.25 over 3  for 1.5 s  at 45.0 km/h  48.12500   11.50000  trip 1  88 % sure

        """)
  }
}
