import Foundation
import JSON
import TestSupport
import Testing

/// schemathesis with a server that has a simulated fleet, a login, rules and a map: the server matches the OpenAPI document for valid and
/// invalid requests.
@Suite struct SchemathesisTests {
  /// Each form of each parameter; with ODOGRAPH_FULL also a few minutes of random requests and request sequences.
  private static let isFull = ProcessInfo.processInfo.environment["ODOGRAPH_FULL"]?.isEmpty == false
  private static let examples = isFull ? 200 : 15
  private static let phases = isFull ? "examples,coverage,fuzzing,stateful" : "examples,coverage"
  private static let token = String(repeating: "r", count: 32)

  /// A configuration with an operator of this fleet only, without a relevant request limit, with a rule and a map of one tile.
  private static func configuration(in directory: TemporaryDirectory) throws -> String {
    let tiles = """
      import sqlite3, sys
      tiles = sqlite3.connect(sys.argv[1])
      tiles.executescript(""\"
      CREATE TABLE metadata (name TEXT, value TEXT);
      CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
      INSERT INTO metadata VALUES ('format', 'png'), ('name', 'Town');
      INSERT INTO tiles VALUES (0, 0, 0, x'89504E470D0A1A0A');
      ""\")
      """
    let child = try ChildProcess("python3", ["-c", tiles, directory.file("town.mbtiles")])
    #expect(child.waitForExit() == 0, "\(child.output)")
    return try directory.write(
      "serve.toml",
      """
      [access]
      requests_per_second = 100000
      [tokens.robot]
      sha256 = "515a733d7320b35b2117893952f93a9400dc4d5ca8bb6972453cae4cab993a07"
      role = "operate"
      fleets = ["demo"]
      [map]
      mbtiles = "town.mbtiles"
      [rules.fast]
      when = "speed"
      above = 0.1
      """)
  }

  @Test(.needs(.schemathesis), .timeLimit(.minutes(30))) func serverMatchesTheDocument() async throws {
    let (broker, directory) = (try BrokerFixture(), try TemporaryDirectory())
    let simulation = try ChildProcess(
      BuiltProduct.path("odograph"),
      ["simulate", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--vehicles", "3", "--fleet", "demo"])
    defer { simulation.terminate() }
    let recording = directory.file("fleet.sqlite")
    let record = try ChildProcess(
      BuiltProduct.path("odograph"),
      ["record", recording, "--broker", "mqtt://127.0.0.1:\(broker.port)"])
    defer { record.terminate() }
    waitUntil { FileManager.default.fileExists(atPath: recording) }
    let server = try ServeProcess(
      broker, ["--recording", recording, "--config", Self.configuration(in: directory)])
    defer { server.child.terminate() }
    var seen = 0
    for _ in 0..<600 where seen == 0 {
      let answer = try await onThread { [port = server.port] in
        try HTTPConnection(port: port).ask(
          "GET", "/api/v1/vehicles", ["Authorization": "Bearer \(Self.token)"])
      }
      seen = try JSONValue(parsing: answer.body)["vehicles"]?.array?.count ?? 0
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(seen > 0, "\(server.child.output)")
    let tests = "\(ContractScript.repository)/Tests/Schemathesis"
    let (status, output) = try PythonEnvironment.schemathesis.run(
      "Schemathesis/run.py",
      [
        "\(tests)/schemathesis.toml", "http://127.0.0.1:\(server.port)", "\(Self.examples)", Self.phases,
        Self.token,
      ])
    #expect(status == 0, "\(output.suffix(20_000))\n\(server.child.output.suffix(2000))")
    #expect(server.child.isRunning)
  }
}
