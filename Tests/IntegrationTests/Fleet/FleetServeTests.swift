import Foundation
import JSON
import TestSupport
import Testing

/// `odograph serve` with a real broker and a simulated fleet.
@Suite(.serialized) struct FleetServeTests {
  /// Waits until a server prints the address of its page; returns the port.
  private func port(_ output: String) async throws -> Int {
    var port: Int?
    try await eventually {
      let text = try OdographProcess.text(of: output)
      guard let match = text.firstMatch(of: /the page is at http:\/\/127\.0\.0\.1:(\d+)\//) else {
        return false
      }
      port = Int(match.1)
      return true
    }
    return try #require(port)
  }

  private func get(_ port: Int, _ path: String) async throws -> HTTPAnswer {
    try await onThread { try HTTPConnection(port: port).ask("GET", path) }
  }

  @Test(.timeLimit(.minutes(5))) func fleetIsServedLive() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let address = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let notify = try NotifySocket(directory.file("notify"))
    let server = try OdographProcess.start(
      ["serve", "--listen", "127.0.0.1:0"] + address, output: directory.file("serve"),
      environment: ["NOTIFY_SOCKET": notify.address])
    let port = try await port(directory.file("serve"))
    try await eventually { notify.messages == ["READY=1"] }
    let fleet = try OdographProcess.start(
      ["simulate", "--vehicles", "30"] + address, output: directory.file("simulate"))
    try await eventually {
      let vehicles = try JSONValue(parsing: try await get(port, "/api/v1/vehicles").body)["vehicles"]?.array
      return vehicles?.count == 30 && vehicles?.allSatisfy { $0["state"]?.string == "online" } == true
    }
    try await eventually { try await get(port, "/health/ready").status == 200 }
    #expect(try await get(port, "/").text.hasPrefix("<!doctype html>"))
    let metrics = try await get(port, "/metrics").text
    #expect(metrics.contains("odograph_fleet_vehicles{state=\"online\"} 30\n"), "\(metrics)")
    // The stream delivers moving vehicles, and its end is announced.
    let stream = try await onThread {
      let connection = try HTTPConnection(port: port)
      connection.send("GET", "/api/v1/stream")
      _ = try connection.readHead()
      return connection
    }
    _ = try await onThread {
      var text = ""
      while text.components(separatedBy: "event: vehicles\n").count < 4, let chunk = try stream.readChunk() {
        text += String(decoding: chunk, as: UTF8.self)
      }
    }
    server.signal(SIGTERM)
    let rest = try await onThread {
      var text = ""
      while let chunk = try stream.readChunk() { text += String(decoding: chunk, as: UTF8.self) }
      return text
    }
    #expect(rest.hasSuffix("event: bye\ndata: {\"reason\":\"the server ends\"}\n\n"))
    try await eventually { !server.isRunning }
    #expect(server.waitForExit() == 143)
    #expect(notify.messages == ["READY=1", "STOPPING=1\nSTATUS=Stopping"])
    fleet.terminate()
  }

  /// 1000 concurrent clients request the stream: 256 are accepted, the others get status 503, and a further request is answered.
  @Test(.timeLimit(.minutes(5))) func aThousandConnectionsAreServed() async throws {
    let directory = try TemporaryDirectory()
    let nowhere: Int = try FreePort.next()
    let server = try OdographProcess.start(
      ["serve", "--listen", "127.0.0.1:0", "--host", "127.0.0.1", "--port", "\(nowhere)"],
      output: directory.file("serve"))
    let port = try await port(directory.file("serve"))
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, max(limit.rlim_cur, 4096))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let statuses = try await onThread {
      let clients = try (0..<1000).map { _ in try HTTPConnection(port: port) }
      for client in clients { client.send("GET", "/api/v1/stream") }
      let statuses = try clients.map { try $0.readHead().status }
      #expect(try HTTPConnection(port: port).ask("GET", "/api/v1/vehicles").status == 200)
      return statuses
    }
    let counts = Dictionary(grouping: statuses) { $0 }.mapValues(\.count)
    #expect(counts == [200: 256, 503: 744])
    #expect(server.isRunning)
    server.signal(SIGTERM)
    try await eventually { !server.isRunning }
  }

  /// An unreachable broker is reported; the server runs and retries.
  @Test(.timeLimit(.minutes(5))) func serverWaitsForTheBroker() async throws {
    let directory = try TemporaryDirectory()
    let nowhere: Int = try FreePort.next()
    let server = try OdographProcess.start(
      ["serve", "--listen", "127.0.0.1:0", "--host", "127.0.0.1", "--port", "\(nowhere)"],
      output: directory.file("serve"))
    let port = try await port(directory.file("serve"))
    try await eventually { try OdographProcess.text(of: directory.file("serve")).contains("trying again") }
    #expect(try await get(port, "/health/live").status == 200)
    #expect(try await get(port, "/health/ready").status == 503)
    let statistics = try JSONValue(parsing: try await get(port, "/api/v1/statistics").body)
    #expect(
      statistics["broker"]?["connected"]?.bool == false && statistics["broker"]?["trouble"]?.string != nil)
    server.signal(SIGINT)
    try await eventually { !server.isRunning }
    #expect(server.waitForExit() == 130)
  }

  @Test(.timeLimit(.minutes(5))) func invalidConfigurationEndsTheServer() async throws {
    let directory = try TemporaryDirectory()
    let wrong = try directory.write("wrong.toml", "[server]\nstreams = 0\n")
    let unknown = try directory.write("unknown.toml", "[sever]\nlisten = \"127.0.0.1:0\"\n")
    for (arguments, told) in [
      (["--listen", "0.0.0.0:8080"], "without a login"),
      (["--listen", "8080"], "write an address"),
      (["--config", wrong], "wrong.toml:2"), (["--config", unknown], "did you mean [server]?"),
      (["--config", directory.file("none.toml")], "none.toml"),
      (["--leaflet", directory.path], "apt install libjs-leaflet"),
    ] {
      let run = try await OdographProcess.run(["serve", "--seconds", "20"] + arguments)
      #expect(run.status == 64 && run.output.contains(told), "\(arguments): \(run.output)")
    }
    let broker = try BrokerFixture()
    let run = try await OdographProcess.run([
      "serve", "--seconds", "20", "--listen", "127.0.0.1:\(broker.port)",
    ])
    #expect(run.status == 69 && run.output.contains("another program listens there"), "\(run.output)")
  }

  /// The example configuration is valid.
  @Test(.timeLimit(.minutes(5))) func exampleConfigurationIsValid() async throws {
    // A copy, because the server creates its state next to the file.
    let directory = try TemporaryDirectory()
    let text = try String(contentsOfFile: "\(ContractScript.repository)/Config/serve.toml", encoding: .utf8)
    let run = try await OdographProcess.run([
      "serve", "--config", try directory.write("serve.toml", text), "--listen", "127.0.0.1:0",
      "--seconds", "1",
    ])
    #expect(run.status == 0, "\(run.output)")
  }
}
