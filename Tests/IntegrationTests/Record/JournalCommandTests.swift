import Foundation
import TestSupport
import Testing

/// `odograph trips` and `odograph events` with both databases and with a broker.
@Suite(.timeLimit(.minutes(6))) struct JournalCommandTests {
  private let broker: BrokerFixture
  private let state: TemporaryDirectory

  init() throws {
    broker = try BrokerFixture()
    state = try TemporaryDirectory()
  }

  /// The examples of the schemas with their topics, in reverse order; the first example is repeated at the end.
  private func messages() throws -> [(topic: String, payload: String)] {
    let schemas = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../Config/schemas")
    var all: [(String, String)] = []
    for (file, path) in [("trip", "trip"), ("driving-event", "driving/event")] {
      let schema = try JSONSerialization.jsonObject(
        with: Data(contentsOf: schemas.appending(path: file + ".json")))
      for example in (schema as? [String: Any])?["examples"] as? [Any] ?? [] {
        let payload = try JSONSerialization.data(withJSONObject: example)
        all.append(("odograph/v1/delivery/van-1/\(path)", String(decoding: payload, as: UTF8.self)))
      }
    }
    try #require(all.count == 4)
    return all.reversed() + [all[0]]
  }

  private var address: [String] { ["--broker", "mqtt://127.0.0.1:\(broker.port)"] }

  private func record(into store: String) async throws {
    let recorder = RecordProcess(broker, into: store, ["--count", "5"], state: state)
    try recorder.start()
    try await broker.waitForLog("Sending SUBACK")
    for message in try messages() { try await publish(broker, message.topic, message.payload) }
    #expect(try await recorder.waitForEnd() == 0, "\(recorder.output)")
  }

  private func check(_ store: String) async throws {
    func run(_ arguments: [String]) async throws -> OdographProcess.Result {
      try await OdographProcess.run(arguments + ["--recording", store])
    }
    let list = try await run(["trips"])
    #expect(list.status == 0 && list.lines.count == 3, "\(list.output)")
    #expect(
      list.output.contains("delivery/van-1       41  2026-11-22T08:00:12Z   9 min    3.8 km"),
      "\(list.output)")
    #expect(list.output.contains("odograph: 1 trip from ") && list.output.contains(", 3.8 km"))
    let sheet = try await run(["trips", "van-1", "41", "-q"])
    for text in ["  driver    anna\n", "revision 4\n", "harshBraking  medium  peak 4.31 m/s²"] {
      #expect(sheet.output.contains(text), "\(sheet.output)")
    }
    let way = state.file("way-\(UInt32.random(in: 0 ... .max)).gpx")
    #expect(try await run(["trips", "van-1", "41", "-o", way, "-q"]).status == 0)
    #expect(try OdographProcess.text(of: way).contains("<name>delivery/van-1 41</name>"))
    let month = try await run(["trips", "--month", "2026-11", "--format", "csv", "-q"])
    #expect(month.lines.count == 2 && month.lines[1].hasPrefix("delivery,van-1,"), "\(month.output)")
    let other = try await run(["trips", "--month", "2026-10", "--format", "csv"])
    #expect(
      other.status == 0 && other.output.contains("nothing in it matches the options"), "\(other.output)")
    let none = try await run(["trips", "van-1", "7"])
    #expect(none.status == 64 && none.output.contains("cannot find trip 7 of van-1"), "\(none.output)")
    let events = try await run(["events", "--severity", "high", "--json", "-q"])
    #expect(events.lines.count == 1 && events.output.contains(#""tilt""#), "\(events.output)")
    #expect(try await run(["events", "--event", "kerb", "-q"]).lines.count == 1)
    let parts = try await run(["events", "van-1", "--to", "2026-11-22T12:00:00Z", "-q"])
    #expect(parts.lines.count == 2 && parts.lines[1].contains("harshBraking"), "\(parts.output)")
  }

  @Test func ofSQLite() async throws {
    let store = state.file("fleet.sqlite")
    try await record(into: store)
    try await check(store)
  }

  @Test(.needs(.postgreSQL)) func ofPostgreSQL() async throws {
    let server = try PostgreSQLFixture()
    try await record(into: server.url)
    try await check(server.url)
  }

  @Test func activeTripIncludesLaterPositions() async throws {
    let store = state.file("fleet.sqlite")
    let recorder = RecordProcess(broker, into: store, ["--count", "4"], state: state)
    try recorder.start()
    try await broker.waitForLog("Sending SUBACK")
    func trip(_ number: Int, at time: Date) -> String {
      let end = #"{"time":"\#(time.ISO8601Format())","latitude":48.0,"longitude":11.0}"#
      return """
        {"time":"\(time.ISO8601Format())","series":"0c9a51f2d4e8b736","number":\(number),"revision":1,"phase":"started",\
        "kind":"driven","start":\(end),"end":\(end),"distance":56,"moving":9,"standing":0,"epoch":"6f1d0a41c08e7b52",\
        "seq":\(10 * number)}
        """
    }
    let now = Date()
    try await publish(broker, "odograph/v1/demo/van-1/trip", trip(1, at: now - 3 * 86400))
    try await publish(broker, "odograph/v1/demo/van-1/trip", trip(2, at: now - 60))
    for (number, latitude) in [(1, 48.009), (2, 48.018)] {
      let time = (now - Double(60 - number)).ISO8601Format()
      try await publish(
        broker, "odograph/v1/demo/van-1/location",
        #"{"time":"\#(time)","latitude":\#(latitude),"longitude":11.0,"horizontalAccuracy":2.5,"epoch":"6f1d0a41c08e7b52","seq":\#(20 + number)}"#
      )
    }
    #expect(try await recorder.waitForEnd() == 0, "\(recorder.output)")
    let list = try await OdographProcess.run(["trips", "--recording", store, "-q"])
    let lines = list.lines
    try #require(lines.count == 3, "\(list.output)")
    #expect(lines[1].contains(" 56 m") && lines[1].hasSuffix("end not received"), "\(list.output)")
    // 0.018 degrees of latitude at 48 degrees north are 2,001 m.
    #expect(lines[2].contains(" 2.1 km") && lines[2].hasSuffix("started"), "\(list.output)")
  }

  /// Late and repeated messages are not printed; a document contains completed trips only.
  @Test func live() async throws {
    let gpx = state.file("live.gpx")
    let outputs = ["trips", "events", "gpx"].map { state.file($0 + ".out") }
    let commands = [
      ["trips", "--fleet", "delivery", "--count", "1"], ["events", "van-1", "--count", "2", "--json"],
      ["trips", "van-1", "-o", gpx],
    ]
    let children = try zip(commands, outputs).map { try OdographProcess.start($0 + address, output: $1) }
    try await broker.waitForLog("Sending SUBACK", times: 3)
    for message in try messages() { try await publish(broker, message.topic, message.payload) }
    for child in children.prefix(2) {
      try await eventually { !child.isRunning }
      #expect(child.waitForExit() == 0, "\(child.output)")
    }
    let trips = try OdographProcess.text(of: outputs[0])
    #expect(trips.contains("anna  delivery") && !trips.contains("started"), "\(trips)")
    let events = try OdographProcess.text(of: outputs[1]).split(separator: "\n")
    #expect(
      events.count == 2 && events.allSatisfy { $0.hasSuffix(#","fleet":"delivery","vehicle":"van-1"}"#) })
    // The file is created when the command exits, also after Ctrl-C.
    #expect(!FileManager.default.fileExists(atPath: gpx))
    children[2].signal(SIGINT)
    try await eventually { !children[2].isRunning }
    #expect(children[2].waitForExit() == 130)
    let document = try OdographProcess.text(of: gpx)
    #expect(
      document.components(separatedBy: "<trk>").count == 2 && document.hasSuffix("</gpx>\n"), "\(document)")
  }

  /// Arguments and expected messages.
  @Test func errorsHaveARemedy() async throws {
    let store = state.file("none.sqlite")
    let cases: [([String], String)] = [
      (["trips", "--recording", store], "no such file"),
      (["trips", "--month", "2026-11"], "name one with --recording"),
      (["events", "--from", "2026-11-21"], "name one with --recording"),
      (["trips", "--recording", store, "--month", "November"], "write a month as 2026-11"),
      (["trips", "--recording", store, "--month", "2026-13"], "write a month as 2026-11"),
      (["trips", "--recording", store, "--month", "2026-11", "--to", "2026-11-21"], "give one or the other"),
      (["trips", "--recording", store, "--count", "3"], "leave it out, or --recording"),
      (["trips", "--recording", store, "--timeout", "3"], "leave it out, or --recording"),
      (["trips", "van-1", "0"], "numbered from 1"),
      (["trips", "--kind", "flown"], "driven, carried, unobserved"),
      (["trips", "-o", "way.kml"], ".kml is none of the forms"), (["trips", "--count", "0"], "1 or more"),
      (["events", "--severity", "bad"], "low, medium, high"),
      (["events", "--event", "kerbs"], "one of harshBraking"),
      (["events", "--json", "--format", "csv"], "contradicts --format"),
    ]
    for (arguments, text) in cases {
      let result = try await OdographProcess.run(arguments)
      #expect(result.status == 64 && result.output.contains(text), "\(arguments): \(result.output)")
    }
    let late = try await OdographProcess.run(["trips", "--count", "1", "--timeout", "0.3"] + address)
    #expect(late.status == 75, "\(late.output)")
  }
}
