import Fleet
import FleetFixtures
import FleetProgram
import FleetTerminal
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing

/// Every input from the network is counted and shown, and none is fatal.
@Suite struct RosterHostileInputTests {
  private static let kinds = [
    "status", "location", "heading", "attitude", "altitude", "motion", "region", "track", "regions/reported",
  ]

  @Test func randomBytes() {
    var generator = SplitMix(seed: 20_261_121)
    var roster = Roster()
    for round in 0..<5000 {
      let bytes = (0..<Int.random(in: 1...80, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      roster.apply(
        topic: "odograph/v1/demo/van/\(Self.kinds[round % Self.kinds.count])", payload: bytes,
        retained: round % 3 == 0,
        at: moment(0))
    }
    #expect(roster.counters.malformed == 5000 && roster.counters.messages == 5000)
  }

  @Test func omittedVehiclesAreReported() {
    var roster = Roster(capacity: 2)
    #expect(WatchPrinter.remarks(on: roster).isEmpty)
    for number in 1...5 {
      roster.apply(
        topic: "odograph/v1/demo/van-\(number)/location", payload: Array(locationJSON(48, at: 0).utf8),
        retained: true, at: moment(0))
    }
    roster.apply(topic: "odograph/v1/demo/van-1/location", payload: [1], retained: false, at: moment(0))
    #expect(
      WatchPrinter.remarks(on: roster) == [
        "1 message could not be read",
        "3 messages are from vehicles beyond the limit of 2, which are not shown; select vehicles with --fleet or --vehicle, "
          + "or raise --most",
      ])
  }

  /// Messages of each kind, with each of their values replaced by each of the wrong ones.
  @Test func wrongTypesMissingFieldsAndEnormousNumbers() throws {
    let good: [(String, String)] = [
      ("status", statusJSON("online", at: 0, epoch: "e", seq: 1)),
      ("location", locationJSON(48, at: 0, epoch: "e", seq: 1, speed: 3, course: 4)),
      ("heading", #"{"time":"\#(wireTime(0))","magneticHeading":20,"trueHeading":23.6}"#),
      ("attitude", #"{"time":"\#(wireTime(0))","frame":"xTrueNorthZVertical","quaternion":[1,0,0,0]}"#),
      (
        "altitude",
        #"{"time":"\#(wireTime(0))","relativeAltitude":-5.7,"pressure":95371.4,"altitude":508.2,"accuracy":2.3,"precision":0.2,"altitudeSource":"barometric","floor":{"level":-2,"confidence":0.9,"height":-5.7,"heightAccuracy":0.8},"epoch":"e","seq":2}"#
      ),
      ("motion", #"{"time":"\#(wireTime(0))","event":"impact","side":"front","peak":3,"epoch":"e","seq":2}"#),
      (
        "region",
        #"{"time":"\#(wireTime(0))","event":"enter","region":"depot","latitude":48.1,"longitude":11.5,"confidence":0.9,"epoch":"e","seq":3}"#
      ),
    ]
    let wrong: [JSONValue] = [
      .null, .bool(true), .integer(.max), .integer(.min), .number(1e308), .number(-1e308), .string(""),
      .string(String(repeating: "\u{1B}[2J", count: 1000)), .array([]), .object([:]),
      .array([.number(1e308), .number(-1e308), .number(0), .number(0)]), .string("9999-99-99T99:99:99Z"),
    ]
    var roster = Roster()
    var count = 0
    for (kind, text) in good {
      guard case .object(let members) = try JSONValue(parsing: Array(text.utf8)) else { continue }
      for key in members.keys {
        for value in wrong {
          var changed = members
          changed[key] = value
          roster.receive(kind, JSONValue.object(changed).text, at: 1)
          changed[key] = nil
          roster.receive(kind, JSONValue.object(changed).text, at: 1)
          count += 2
        }
      }
    }
    #expect(roster.counters.messages == count && roster.counters.malformed > count / 4)
    var view = WatchView(size: TerminalSize(columns: 120, rows: 40), title: "b")
    for key in [Key.down, .enter, .character("m")] { _ = view.handle(key) }
    let snapshot = view.snapshot(of: roster, at: moment(2))
    let frame = view.frame(of: snapshot, at: moment(2), rates: .init(), trouble: nil)
    #expect(!frame.lines.joined().unicodeScalars.contains { $0.value < 0x20 })
    #expect(throws: Never.self) {
      for record in roster.vehicles { _ = try JSONValue(parsing: record.json(at: moment(2))) }
    }
  }

  @Test func inventedVehiclesAreBounded() {
    var roster = Roster(capacity: 500)
    let payload = Array(statusJSON("online", at: 0).utf8)
    for number in 0..<20_000 {
      roster.apply(
        topic: "odograph/v1/f\(number % 7)/v\(number)/status", payload: payload, retained: false,
        at: moment(0))
    }
    #expect(roster.vehicles.count == 500 && roster.counters.refused == 19_500)
  }

  @Test func enormousSequencesDoNotOverflow() {
    var roster = Roster()
    for seq in [0, Int.max, 5, Int.max - 1] {
      roster.receive("location", locationJSON(48, at: 0, epoch: "e", seq: seq), at: 0)
      roster.receive("location", locationJSON(48, at: 0, epoch: "f", seq: seq), at: 0, vehicle: "other")
    }
    var view = WatchView(size: .usual, title: "")
    #expect(view.snapshot(of: roster, at: moment(0)).missing > 0)
  }
}
