import Fleet
import FleetFixtures
import FleetProgram
import FleetStore
import FleetTerminal
import Foundation
import JSON
import MQTT
import Spatial
import TestSupport
import Testing

/// A broker full of invented vehicles: everything that stores vehicles or topics is bounded, reports the number beyond the bound, and
/// does not use more and more memory.
@Suite(.serialized) struct MillionTopicsTests {
  private static let count = 1_000_000
  /// Number of topics in tests that are slower.
  private static let shorter = Shared.isFullRun ? count : 300_000

  /// Resident memory in MB.
  private var resident: Double {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return Double(text.split(separator: " ").dropFirst().first ?? "").map { $0 * 4096 / 1e6 } ?? .nan
  }

  private func topic(_ number: Int, _ kind: String) -> String {
    "odograph/v1/f\(number % 7)/v\(number)/\(kind)"
  }

  /// Runs `body` for each number. Returns the growth of the memory in MB after the first fifth, in which the bounds are reached.
  private func growth(_ count: Int = count, _ body: (Int) -> Void) -> Double {
    var before = 0.0
    for number in 0..<count {
      if number == count / 5 { before = resident }
      body(number)
    }
    return resident - before
  }

  @Test(.timeLimit(.minutes(10))) func theRosterIsBounded() {
    var roster = Roster(capacity: 2000)
    let payload = Array(statusJSON("online", at: 0).utf8)
    let grown = growth { number in
      roster.apply(topic: topic(number, "status"), payload: payload, retained: false, at: moment(0))
    }
    #expect(roster.vehicles.count == 2000 && roster.counters.refused == Self.count - 2000)
    #expect(roster.counters.messages == Self.count)
    #expect(grown < 30, "grew by \(grown) MB")
    // Vehicles in the roster are still updated.
    roster.apply(
      topic: topic(5, "location"), payload: Array(locationJSON(48, at: 1).utf8), retained: false,
      at: moment(1))
    #expect(roster[VehicleKey(fleet: "f5", vehicle: "v5")]?.location != nil)
    // The footer has the number of refused vehicles; lists of vehicles do not contain it.
    var view = WatchView(size: TerminalSize(columns: 120, rows: 10), title: "b")
    let snapshot = view.snapshot(of: roster, at: moment(1))
    let frame = view.frame(of: snapshot, at: moment(1), rates: .init(), trouble: nil)
    #expect(frame.lines.joined().contains("\(Self.count - 2000) without room"))
  }

  /// At the capacity, a readable vehicle replaces the oldest one without a readable message.
  @Test func unreadableVehiclesAreReplaced() {
    var roster = Roster(capacity: 3)
    func send(_ vehicle: String, _ path: String, _ payload: String) -> Roster.Outcome {
      roster.apply(
        topic: "odograph/v1/demo/\(vehicle)/\(path)", payload: Array(payload.utf8), retained: false,
        at: moment(0))
    }
    func names() -> [String] { roster.vehicles.map(\.key.vehicle).sorted() }
    let status = statusJSON("online", at: 0)
    _ = send("a", "status", "x")
    #expect(send("b", "status", status) == .applied)
    _ = send("c", "location", "{")
    #expect(names() == ["a", "b", "c"])
    // A vehicle that cannot be read replaces none.
    #expect(send("d", "status", "x") == .refused && names() == ["a", "b", "c"])
    #expect(send("e", "status", status) == .applied && names() == ["b", "c", "e"])
    #expect(send("f", "status", status) == .applied && names() == ["b", "e", "f"])
    #expect(send("g", "status", status) == .refused && names() == ["b", "e", "f"])
    #expect(roster.counters.refused == 2 && roster.removals == 2)
    for name in names() { #expect(roster[VehicleKey(fleet: "demo", vehicle: name)]?.key.vehicle == name) }
  }

  @Test(.timeLimit(.minutes(10))) func theStatisticsAreBounded() {
    var statistics = StreamStatistics(capacity: 2000)
    let payload = Array(locationJSON(48, at: 0, epoch: "e", seq: 1).utf8)
    let grown = growth { number in
      statistics.add(topic: topic(number, "location"), payload: payload, retained: false, at: moment(0))
    }
    #expect(statistics.vehicles.count == 2000 && statistics.withoutRoom == Self.count - 2000)
    #expect(statistics.cachedTopics <= 2000 && statistics.messages == Self.count)
    #expect(grown < 30, "grew by \(grown) MB")
    let text = StatsView(title: "").text(of: statistics, seconds: 1, width: 120, styles: false)
    #expect(text.contains("without room"))
  }

  /// Every message is recorded; only the memory of topics is bounded.
  @Test(.timeLimit(.minutes(10))) func theRecorderIsBounded() {
    var recording = MessageRecording(root: "odograph/v1")
    var sequencer = MessageSequencer()
    var vehicles = 0
    let grown = growth(Self.shorter) { number in
      let message = MQTTMessage(
        topic: topic(number, "location"), text: #"{"epoch":"e","seq":1}"#, qos: .atLeastOnce)
      if recording.record(message, at: moment(0)).vehicle == "v\(number)" { vehicles += 1 }
      vehicles += sequencer.filter([message]).count - 1
    }
    #expect(vehicles == Self.shorter)
    // 100,000 topics, and 200,000 vehicles in the sequencer, need some hundred bytes each.
    #expect(grown < 250, "grew by \(grown) MB")
  }

  /// Property: random bytes, and JSON with members of wrong types and huge numbers, pass through everything that reads payloads; names
  /// contain control characters.
  @Test(.timeLimit(.minutes(10))) func randomPayloadsAreProcessed() {
    var generator = SplitMix(seed: 62)
    let values = [
      "null", "true", "-1", "0", "9223372036854775807", "9223372036854775808", "1e308", "-1e400", "1.5", "[]",
      "{}",
      "\"\"", "\"\\u001b[2J\"", "\"2026-11-21T12:00:00Z\"", "\"9999-12-31T23:59:60+23:59\"", "[[1e999]]",
      "\"online\"",
      "\"location\"", "\"enter\"",
    ]
    let names = [
      "time", "latitude", "longitude", "seq", "epoch", "state", "event", "lat", "lon", "tst", "_type",
      "region",
      "quaternion", "speed", "accepted", "features", "points", "count", "precision", "times", "waypoints",
      "odograph",
    ]
    let hostile = ["van", "\u{1B}[2J", "v\u{202E}", "\u{0}", "ü\u{301}\u{301}\u{301}", "/", " "]
    let paths = [
      "status", "location", "track", "heading", "attitude", "altitude", "motion", "region",
      "regions/desired",
      "regions/reported", "event", "waypoint", "waypoints", "image",
    ]
    var rosters = MessageProfile.allCases.map { Roster(profile: $0, capacity: 50) }
    var statistics = MessageProfile.allCases.map { StreamStatistics(profile: $0, capacity: 50) }
    var recording = MessageRecording(root: "odograph/v1")
    var lines = MessageLines()
    for round in 0..<30_000 {
      var payload: [UInt8]
      if round % 4 == 0 {
        payload = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
          .random(in: 0...255, using: &generator)
        }
      } else {
        let members = (0..<Int.random(in: 0...9, using: &generator)).map { _ in
          "\"\(names.randomElement(using: &generator) ?? "")\":\(values.randomElement(using: &generator) ?? "")"
        }
        payload = Array("{\(members.joined(separator: ","))}".utf8)
      }
      let root = round % 2 == 0 ? "odograph/v1" : "owntracks"
      let topic =
        "\(root)/\(hostile.randomElement(using: &generator) ?? "")/\(hostile.randomElement(using: &generator) ?? "")"
        + (round % 5 == 0 ? "" : "/" + (paths.randomElement(using: &generator) ?? ""))
      for place in rosters.indices {
        rosters[place].apply(
          topic: topic, payload: payload, retained: round % 3 == 0, at: moment(Double(round)))
        statistics[place].add(
          topic: topic, payload: payload, retained: round % 3 == 0, at: moment(Double(round)))
      }
      let row = recording.record(
        MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce), at: moment(Double(round)))
      #expect(row.fields.latitude.map { (-90...90).contains($0) } ?? true)
      lines.removeAll()
      lines.append(topic: topic, qos: 1, retain: false, payload: payload)
      #expect(lines.bytes.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F })
    }
    for roster in rosters {
      #expect(roster.counters.messages == 30_000 && roster.vehicles.count <= 50)
      var view = WatchView(size: TerminalSize(columns: 120, rows: 60), title: "b")
      let table = WatchPrinter.table(of: roster, at: moment(40_000), &view, styles: false)
      #expect(
        !table.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7F...0x9F).contains($0.value) })
    }
    for one in statistics {
      let text = StatsView(title: "").text(of: one, seconds: 1, width: 200, styles: false)
      #expect(
        !text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7F...0x9F).contains($0.value) })
      #expect(JSONScan(one.json(seconds: 1).span).isValid)
    }
  }
}
