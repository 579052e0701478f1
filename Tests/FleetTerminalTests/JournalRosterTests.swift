import Fleet
import FleetFixtures
import FleetProgram
import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@testable import FleetTerminal

/// The newest trip and the newest driving event of a vehicle in the roster and on the screen.
@Suite struct JournalRosterTests {
  private func trip(
    _ number: Int64, revision: Int, phase: TripMessage.Phase = .ended, start: Double = 0, seq: UInt64,
    series: String = "0123456789abcdef", driver: String? = nil
  ) -> String {
    var trip = TripMessage(
      trip: JournalNumber(series: series, number: number), revision: revision, phase: phase, kind: .driven,
      start: .init(time: noon.advanced(bySeconds: start)),
      end: .init(time: noon.advanced(bySeconds: start + 600)), distance: 12_340, meanSpeed: 10,
      events: ["kerb": 2, "idling": 1], driver: driver,
      way: [
        .init(time: noon, coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)))
      ])
    trip.identity = MessageIdentity(epoch: "e", seq: seq)
    return String(decoding: trip.payload, as: UTF8.self)
  }

  private func event(_ number: Int64, ongoing: Bool = false, at seconds: Double, seq: UInt64) -> String {
    var event = DrivingEventMessage(
      time: noon.advanced(bySeconds: seconds), event: .overSpeed,
      journal: JournalNumber(series: "0123456789abcdef", number: number), isOngoing: ongoing, speed: 20,
      duration: ongoing ? nil : 90, severity: .high, region: "depot")
    event.identity = MessageIdentity(epoch: "e", seq: seq)
    return String(decoding: event.payload, as: UTF8.self)
  }

  @Test func theNewestTripIsStoredWhateverTheOrder() throws {
    var roster = Roster()
    #expect(roster.receive("trip", trip(4, revision: 1, phase: .started, seq: 5), at: 1) == .applied)
    #expect(roster.receive("trip", trip(4, revision: 3, seq: 9), at: 2) == .applied)
    #expect(roster.receive("trip", trip(4, revision: 3, seq: 9), at: 3) == .duplicate)
    #expect(roster.receive("trip", trip(4, revision: 2, phase: .underway, seq: 7), at: 4) == .outdated)
    #expect(roster.van?.trip?.message.phase == .ended && roster.van?.trip?.message.revision == 3)
    // Its route is not stored.
    #expect(roster.van?.trip?.message.way.isEmpty == true)
    // A later correction of an earlier trip.
    _ = roster.receive("trip", trip(3, revision: 8, seq: 11, driver: "ann"), at: 5)
    #expect(roster.van?.trip?.message.trip.number == 4)
    // The vehicle starts a new series of numbers.
    _ = roster.receive(
      "trip", trip(1, revision: 1, phase: .started, start: 5000, seq: 12, series: "fedcba9876543210"),
      at: 5001)
    #expect(roster.van?.trip?.message.trip.number == 1)
    guard case .malformed(let reason) = roster.receive("trip", #"{"series":1}"#, at: 6) else {
      Issue.record("a trip with an invalid series was accepted")
      return
    }
    #expect(reason.contains("series") && roster.van?.unreadable == 1)
  }

  @Test func anEventIsShownFromItsStartToItsEnd() {
    var roster = Roster()
    roster.receive("driving/event", event(7, ongoing: true, at: 10, seq: 1), at: 10)
    #expect(roster.van?.event?.message.summary == "overSpeed (ongoing)")
    #expect(roster.van?.drivingEvent?.message.isOngoing == true)
    roster.receive("driving/event", event(7, at: 10, seq: 2), at: 100)
    #expect(roster.van?.event?.message.summary == "overSpeed")
    #expect(roster.van?.drivingEvent?.message.duration == 90)
    #expect(roster.receive("driving/event", event(7, ongoing: true, at: 10, seq: 1), at: 101) == .outdated)
    #expect(roster.van?.drivingEvent?.message.isOngoing == false && roster.van?.recentEvents.count == 2)
  }

  @Test func bothAreShownInTheDetailsAndInJSON() throws {
    var roster = Roster()
    roster.receive("trip", trip(4, revision: 3, seq: 9, driver: "a\u{1B}nn"), at: 660)
    roster.receive("driving/event", event(7, at: 540, seq: 12), at: 661)
    let van = try #require(roster.van)
    let lines = DetailPane(record: van, now: moment(720)).lines(columns: 120, rows: 40).map(\.plain)
    let shown = lines.joined(separator: "\n")
    #expect(
      lines.contains {
        $0.hasPrefix(
          "trip      4 driven  ended 2 min ago  12.3 km  10 min  mean 36.0 km/h  3 events  a\u{FFFD}nn")
      }, "\(shown)")
    #expect(
      lines.contains {
        $0.hasPrefix("driving   overSpeed  high  for 1 min  at 72.0 km/h  in depot  3 min ago")
      },
      "\(shown)")
    let json = try JSONValue(parsing: van.json(at: moment(720)))
    #expect(json["trip"]?["number"]?.integer == 4 && json["trip"]?["distance"]?.double == 12_340)
    #expect(json["drivingEvent"]?["event"]?.string == "overSpeed")
    #expect(json["drivingEvent"]?["ongoing"] == .bool(false))
  }
}
