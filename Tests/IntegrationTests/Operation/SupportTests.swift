import Foundation
import TestSupport
import Testing

/// `odographd support`, `odographd check --estimate` and the metrics file.
@Suite(.serialized) struct SupportTests {
  private static let secrets = [
    "correct-horse-battery-staple", "somebody-special", "00112233445566778899aabbccddeeff", "48.13713",
    "11.57541",
    "hunter2", "identity-of-the-van",
  ]

  @Test(.timeLimit(.minutes(6))) func reportHasNoSecretsOrPositions() throws {
    let directory = try TemporaryDirectory()
    let password = try directory.write("password", "correct-horse-battery-staple\n")
    let socket = directory.file("control.socket")
    let configuration = try directory.write(
      "odograph.toml",
      """
      [vehicle]
      id = "van"
      [input]
      mode = "simulation"
      [mqtt]
      broker = "mqtt://127.0.0.1:\(try FreePort.next() as Int)"
      user = "somebody-special"
      password_file = "\(password)"
      [privacy]
      zones = ["48.13713 11.57541 300 withhold"]
      [store]
      path = "\(directory.file("outbox.sqlite"))"
      [control]
      socket = "\(socket)"
      """)
    let agent = try ChildProcess(BuiltProduct.path("odographd"), ["run", "--config", configuration])
    #expect(waitUntil { agent.output.contains("event=broker.unreachable") }, "\(agent.output)")
    let path = directory.file("report.txt")
    func write() throws -> ChildProcess {
      let child = try ChildProcess(
        BuiltProduct.path("odographd"), ["support", "--config", configuration, "--output", path])
      child.waitForExit()
      return child
    }
    let child = try write()
    #expect(child.exitStatus == 0, "\(child.output)")
    let report = try String(contentsOfFile: path, encoding: .utf8)
    for part in [
      "== agent\nversion ", "== system\nkernel Linux", "mqtt.user = (redacted)  # set",
      "mqtt.password_file = \"\(password)\" (readable)  # set", "privacy.zones = (1 redacted)  # set",
      "location.reporting = \"bounded\"", "event=broker.unreachable", "queue.records",
      "outbox.sqlite: ", "ok       store", "== estimate\na day with 2 h",
    ] {
      #expect(report.contains(part), "\(part) in \(report)")
    }
    for secret in Self.secrets { #expect(!report.contains(secret), "\(secret)") }
    #expect(report.firstMatch(of: /[0-9]{1,3}\.[0-9]{4,}/) == nil)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    // An existing file is not overwritten.
    #expect(try write().exitStatus == 1)
    agent.terminate()
  }

  /// Invalid values are not quoted, because they may be misplaced secrets.
  @Test(.timeLimit(.minutes(6))) func invalidConfigurationIsNotQuoted() throws {
    for (key, value) in [
      ("mqtt.broker", "mqtt://van:hunter2@broker.example"), ("mqtt.password_file", "hunter2"),
      ("mqtt.psk_identity", "identity-of-the-van"), ("privacy.zones", "48.13713 11.57541 many"),
    ] {
      let child = try ChildProcess(
        BuiltProduct.path("odographd"),
        [
          "support", "--output", "-", "--set", "vehicle.id=v", "--set", "input.mode=simulation", "--set",
          "\(key)=\(value)",
        ])
      #expect(child.waitForExit() == 0)
      #expect(child.output.contains("== check"), "\(child.output)")
      for secret in Self.secrets { #expect(!child.output.contains(secret), "\(secret) in \(child.output)") }
    }
  }

  @Test(.timeLimit(.minutes(6))) func checkEstimatesADay() throws {
    func check(_ hours: String) throws -> ChildProcess {
      let child = try ChildProcess(
        BuiltProduct.path("odographd"),
        ["check", "--estimate", "--driving-hours", hours, "--set", "vehicle.id=v"])
      child.waitForExit()
      return child
    }
    let child = try check("3")
    #expect(child.exitStatus == 0)
    #expect(child.output.hasPrefix("a day with 3 h of driving, estimated:\n  energy  "), "\(child.output)")
    #expect(try check("25").exitStatus == 64)
  }

  /// The metrics file is parsed with the official Prometheus client.
  @Test(.timeLimit(.minutes(6)), .needs(.prometheusClient)) func prometheusParsesTheMetrics() throws {
    let directory = try TemporaryDirectory()
    let broker = try BrokerFixture()
    let path = directory.file("odograph.prom")
    let agent = try AgentProcess([
      "input.mode": "simulation", "mqtt.broker": "127.0.0.1:\(broker.port)", "control.socket": "none",
      "metrics.file": path, "metrics.interval": "1",
    ])
    var text = ""
    #expect(
      waitUntil {
        text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.contains("odograph_broker_connected 1\n")
          && text.contains("odograph_location_age_seconds")
      }, "\(text) \(agent.log)")
    agent.child.terminate()
    let script = """
      import sys
      from prometheus_client.parser import text_string_to_metric_families as parse
      families = list(parse(open(sys.argv[1]).read()))
      assert len(families) > 15, families
      assert all(f.type in ("counter", "gauge") and f.documentation for f in families), families
      """
    let python = try ChildProcess(ContractScript.python, ["-c", script, path])
    #expect(python.waitForExit() == 0, "\(python.output)")
  }
}
