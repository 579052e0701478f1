import Foundation
import TestSupport
import Testing

/// Secrets never appear in logs or in the output of `check`, with correct and with wrong credentials.
@Suite(.serialized) struct AgentSecretTests {
  private static let password = "correct-horse-battery-staple"
  private static let preSharedKey = "00112233445566778899aabbccddeeff"

  /// Runs the agent until its log contains a text, and then `check`; returns the log and the output.
  private func output(_ settings: [String: String], until text: String) async throws -> String {
    let agent = try AgentProcess(
      settings.merging(["input.mode": "simulation", "log.level": "debug"]) { $1 })
    try await eventually { agent.log.contains(text) }
    agent.child.terminate()
    var arguments = ["check"]
    for (key, value) in settings.merging(
      ["vehicle.id": "van", "input.mode": "simulation"], uniquingKeysWith: { $1 })
    {
      arguments += ["--set", "\(key)=\(value)"]
    }
    let check = try ChildProcess(BuiltProduct.path("odographd"), arguments)
    check.waitForExit()
    #expect(check.output.contains("broker"))
    return agent.log + check.output
  }

  @Test(.timeLimit(.minutes(6)), arguments: [true, false])
  func passwordsAndPrivateKeys(isRight: Bool) async throws {
    let authority = try CertificateAuthority()
    let (server, client) = (try authority.issue("broker"), try authority.issue("vehicle"))
    let directory = try TemporaryDirectory()
    let file = directory.file("passwords")
    let made = try ChildProcess("mosquitto_passwd", ["-b", "-c", file, "van", Self.password])
    #expect(made.waitForExit() == 0)
    let broker = try BrokerFixture([
      "allow_anonymous false", "password_file \(file)", "cafile \(authority.certificateFile)",
      "certfile \(server.certificateFile)", "keyfile \(server.keyFile)", "require_certificate true",
    ])
    let given = isRight ? Self.password : Self.password + "-not"
    let settings = [
      "mqtt.broker": "mqtts://127.0.0.1:\(broker.port)", "mqtt.ca_file": authority.certificateFile,
      "mqtt.certificate_file": client.certificateFile, "mqtt.key_file": client.keyFile, "mqtt.user": "van",
      "mqtt.password_file": try directory.write("password", given + "\n"),
    ]
    let text = try await output(settings, until: isRight ? "broker connected" : "refused the connection")
    #expect(!text.contains(Self.password))
    let key = try String(contentsOfFile: client.keyFile, encoding: .utf8)
    for line in key.split(separator: "\n") where !line.hasPrefix("-----") { #expect(!text.contains(line)) }
  }

  @Test(.timeLimit(.minutes(6)), arguments: [true, false])
  func preSharedKeys(isRight: Bool) async throws {
    let directory = try TemporaryDirectory()
    let keys = try directory.write("psk", "van:\(Self.preSharedKey)\n")
    let broker = try BrokerFixture(["allow_anonymous true", "psk_hint hint", "psk_file \(keys)"])
    let given = isRight ? Self.preSharedKey : Self.preSharedKey + "00"
    let settings = [
      "mqtt.broker": "mqtts://127.0.0.1:\(broker.port)", "mqtt.psk_identity": "van",
      "mqtt.psk_file": try directory.write("key", given + "\n"),
    ]
    let text = try await output(settings, until: isRight ? "broker connected" : "broker unreachable")
    #expect(!text.lowercased().contains(Self.preSharedKey))
  }
}
