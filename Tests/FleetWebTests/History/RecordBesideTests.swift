import Fleet
import FleetFixtures
import Glibc
import JSON
import TestSupport
import Testing

@testable import FleetWeb

/// `odograph serve --record`: a server that fills what it shows.
@Suite struct RecordBesideTests {
  private func publish(_ seq: Int, to broker: BrokerFixture) throws {
    let (topic, text) = HistoryRows.location("demo/van", seq, at: Double(seq), latitude: 48)
    let child = try ChildProcess(
      "mosquitto_pub", ["-p", "\(broker.port)", "-q", "1", "-t", "odograph/v1/\(topic)", "-m", text])
    #expect(child.waitForExit() == 0, "\(child.output)")
  }

  private func serve(_ broker: BrokerFixture, _ arguments: [String], _ home: String) throws -> ChildProcess {
    try ChildProcess(
      BuiltProduct.path("odograph"),
      ["serve", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "demo"] + arguments,
      environment: ["XDG_STATE_HOME": home])
  }

  private func count(_ store: String) throws -> String? {
    try SQLiteReader(store).rows("SELECT count(*) FROM messages").first?.first ?? nil
  }

  @Test func itRecordsAndRecordTakesUpItsSession() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let (store, home) = (directory.file("fleet.sqlite"), directory.path)
    let port: Int = try FreePort.next()
    let server = try serve(
      broker, ["--recording", store, "--record", "--listen", "127.0.0.1:\(port)"], home)
    // The page's own connection, and the recorder's.
    #expect(waitUntil { broker.logCount("Received SUBSCRIBE") >= 2 }, "\(server.output)")
    try publish(1, to: broker)
    #expect(try waitUntil { try count(store) == "1" }, "\(server.output)")
    #expect(server.terminate() == 143, "\(server.output)")
    // While neither runs the broker keeps it.
    try publish(2, to: broker)
    let record = try ChildProcess(
      BuiltProduct.path("odograph"),
      [
        "record", store, "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "demo", "--count", "1",
        "--timeout", "60",
      ], environment: ["XDG_STATE_HOME": home])
    #expect(record.waitForExit() == 0, "\(record.output)")
    #expect(try count(store) == "2")
  }

  @Test func optionsThatMakeNoSenseAreRefused() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    for (arguments, said) in [
      (["--record"], "--recording"), (["--recording", directory.file("none.sqlite")], "none.sqlite"),
      (["--recording", directory.file("f.sqlite"), "--keep", "90d"], "--record"),
      (["--recording", directory.file("f.gpx"), "--record"], "export"),
      (["--recording", "mysql://x/y"], "postgres://"),
      (["--recording", directory.file("f.sqlite"), "--record", "--keep", "soon"], "90d"),
    ] {
      let server = try serve(broker, arguments + ["--listen", "127.0.0.1:0"], directory.path)
      #expect(server.waitForExit() == 64, "\(arguments): \(server.output)")
      #expect(server.output.contains(said), "\(arguments): \(server.output)")
    }
  }
}
