import Foundation
import TestSupport
import Testing

/// schemathesis against a server of a simulated fleet: what the OpenAPI document says holds, for requests that it allows and
/// for ones that it does not.
@Suite struct SchemathesisTests {
  /// Each form of each parameter; with ODOGRAPH_FULL also a few minutes of random requests and of sequences.
  private static let isFull = ProcessInfo.processInfo.environment["ODOGRAPH_FULL"]?.isEmpty == false
  private static let examples = isFull ? 200 : 15

  @Test(.needs(.schemathesis), .timeLimit(.minutes(30))) func theDocumentHolds() async throws {
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
    let server = try ServeProcess(broker, ["--recording", recording])
    defer { server.child.terminate() }
    var seen = 0
    for _ in 0..<600 where seen == 0 {
      seen = try await server.get("/api/v1/vehicles").list("vehicles").count
      try await Task.sleep(for: .milliseconds(100))
    }
    #expect(seen > 0, "\(server.child.output)")
    let tests = "\(ContractScript.repository)/Tests/Schemathesis"
    let (status, output) = try PythonEnvironment.schemathesis.run(
      "Schemathesis/run.py",
      ["\(tests)/schemathesis.toml", "http://127.0.0.1:\(server.port)", "\(Self.examples)"]
        + (Self.isFull ? [] : ["examples,coverage"]))
    #expect(status == 0, "\(output.suffix(20_000))\n\(server.child.output.suffix(2000))")
    #expect(server.child.isRunning)
  }
}
