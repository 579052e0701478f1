import Fleet
import FleetFixtures
import FleetWeb
import Glibc
import JSON
import Platform
import TestSupport
import Testing

/// `odograph serve --record`: a server that fills the recording that it shows.
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

  @Test func recordResumesTheSessionOfServe() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let (store, home) = (directory.file("fleet.sqlite"), directory.path)
    let port: Int = try FreePort.next()
    let server = try serve(
      broker, ["--recording", store, "--record", "--listen", "127.0.0.1:\(port)"], home)
    // The connection of the page, and that of the recorder.
    #expect(waitUntil { broker.logCount("Received SUBSCRIBE") >= 2 }, "\(server.output)")
    try publish(1, to: broker)
    #expect(try waitUntil { try count(store) == "1" }, "\(server.output)")
    #expect(server.terminate() == 143, "\(server.output)")
    // While neither runs, the broker queues the message.
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

  /// A broker that rejects the subscriptions for a while: the failure is visible, and recording starts with the grant.
  @Test(.timeLimit(.minutes(3))) func recordingStartsAfterARefusedSubscription() throws {
    let isGranting = Locked(false)
    let acknowledged = Locked(0)
    let (topic, text) = HistoryRows.location("demo/van", 1, at: 1, latitude: 48)
    let location = Self.packet("odograph/v1/\(topic)", text)
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        switch packet.type {
        case 8:
          let isGranted = isGranting.withLock { $0 }
          // The last byte of the request is the requested quality of service.
          let reason = isGranted ? (packet.body.last ?? 0) & 3 : 0x87
          connection.send([0x90, 4] + Array(packet.body.prefix(2)) + [0, reason])
          if isGranted { connection.send(location) }
        case 10: connection.send([0xB0, 4] + Array(packet.body.prefix(2)) + [0, 0])
        case 4: acknowledged.withLock { $0 += 1 }
        case 12: connection.send([0xD0, 0])
        default: break
        }
      }
    }
    let directory = try TemporaryDirectory()
    let store = directory.file("fleet.sqlite")
    let port: Int = try FreePort.next()
    let server = try ChildProcess(
      BuiltProduct.path("odograph"),
      [
        "serve", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "demo", "--recording", store,
        "--record", "--listen", "127.0.0.1:\(port)",
      ], environment: ["XDG_STATE_HOME": directory.path])
    func answer(_ path: String) -> String {
      (try? HTTPConnection(port: port).ask("GET", path, ["Host": "127.0.0.1:\(port)"]))?.text ?? ""
    }
    #expect(waitUntil { answer("/metrics").contains("\nodograph_record_failed 1\n") }, "\(server.output)")
    let statistics = answer("/api/v1/statistics")
    #expect(statistics.contains(#""failed":true,"refused":true"#), "\(statistics)")
    isGranting.withLock { $0 = true }
    #expect(waitUntil { answer("/metrics").contains("\nodograph_record_failed 0\n") }, "\(server.output)")
    #expect(try waitUntil { try count(store) == "1" }, "\(server.output)")
    #expect(waitUntil { acknowledged.withLock { $0 } > 0 }, "\(server.output)")
    // The page's own subscription was granted as well.
    #expect(waitUntil { answer("/api/v1/vehicles").contains(#""van""#) }, "\(server.output)")
    #expect(server.terminate() == 143, "\(server.output)")
    let lines = server.output.split(separator: "\n")
    for text in ["its messages are not recorded", "recording again"] {
      #expect(lines.filter { $0.contains(text) }.count == 1, "\(text): \(server.output)")
    }
  }

  /// A PUBLISH of MQTT 5 at QoS 1 with less than 16,000 bytes.
  private static func packet(_ topic: String, _ text: String) -> [UInt8] {
    let name = Array(topic.utf8)
    let body: [UInt8] = [0, UInt8(name.count)] + name + [0, 1, 0] + Array(text.utf8)
    let length =
      body.count < 128 ? [UInt8(body.count)] : [UInt8(body.count & 0x7F | 0x80), UInt8(body.count >> 7)]
    return [0x32] + length + body
  }

  /// A recording that is unavailable at the start, such as a file of a recorder that starts later, is opened by a later request.
  @Test func startsWithoutItsRecording() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let store = directory.file("none.sqlite")
    let port: Int = try FreePort.next()
    let server = try serve(
      broker, ["--recording", store, "--listen", "127.0.0.1:\(port)"], directory.path)
    func extent() -> String {
      (try? HTTPConnection(port: port).ask(
        "GET", "/api/v1/vehicles/demo/van/extent", ["Host": "127.0.0.1:\(port)"]))?.text ?? ""
    }
    #expect(waitUntil { extent().contains(#""recording-unavailable""#) }, "\(server.output)")
    try HistoryRows.store([HistoryRows.location("demo/van", 1, at: 0, latitude: 48)], in: store)
    #expect(waitUntil { extent().contains(#""positions":1"#) }, "\(server.output)")
    #expect(server.terminate() == 143, "\(server.output)")
    #expect(
      server.output.contains("none.sqlite: no such file; starts without positions of the past"),
      "\(server.output)")
  }

  /// The same for a database server that is not running yet.
  @Test func historyWaitsForPostgreSQL() async throws {
    let port: Int = try FreePort.next()
    let fixture = try await HistoryFixture("postgres://fleet@127.0.0.1:\(port)/fleet")
    #expect(try fixture.get("vehicles/demo/van/extent").code == "recording-unavailable")
    let error = #expect(throws: FleetError.self) { try HistoryReaders("postgres://ann:secret@[::1/fleet") }
    #expect(error?.kind == .invalidInput && error?.description.contains("secret") == false)
  }

  /// A disk that is full at the start: the page is available, and messages wait at the broker.
  @Test(.needs(.mounting)) func recordsAfterStartingOnAFullDisk() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let disk = try SmallFileSystem(size: "8m")
    let filler = open(disk.file("filler"), O_WRONLY | O_CREAT, 0o600)
    let block = [UInt8](repeating: 0xFF, count: 4096)
    while write(filler, block, block.count) > 0 {}
    close(filler)
    let store = disk.file("fleet.sqlite")
    let port: Int = try FreePort.next()
    let server = try serve(
      broker, ["--recording", store, "--record", "--listen", "127.0.0.1:\(port)"], directory.path)
    func metrics() -> String {
      (try? HTTPConnection(port: port).ask("GET", "/metrics", ["Host": "127.0.0.1:\(port)"]))?.text ?? ""
    }
    #expect(waitUntil { metrics().contains("\nodograph_record_failed 1\n") }, "\(server.output)")
    #expect(waitUntil { broker.logCount("Received SUBSCRIBE") >= 2 }, "\(server.output)")
    try publish(1, to: broker)
    unlink(disk.file("filler"))
    #expect(waitUntil { (try? count(store)) == "1" }, "\(server.output)")
    #expect(waitUntil { metrics().contains("\nodograph_record_failed 0\n") }, "\(server.output)")
    #expect(server.terminate() == 143, "\(server.output)")
    let lines = server.output.split(separator: "\n")
    for text in ["cannot open \(store)", "writing to \(store) again"] {
      #expect(lines.filter { $0.contains(text) }.count == 1, "\(text): \(server.output)")
    }
  }

  @Test func invalidOptionsAreRefused() throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    for (arguments, said) in [
      (["--record"], "--recording"),
      (["--recording", "postgres://h/db?nonsense=1"], "invalid URI query parameter"),
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
