import Foundation
import TestSupport
import Testing

/// `odograph check` with brokers that permit everything, only reading, or nothing.
@Suite struct FleetCheckTests {
  private func verdicts(_ result: OdographProcess.Result) throws -> [(
    subject: String, verdict: String, text: String
  )] {
    let objects = try #require(
      JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [[String: Any]], "\(result.output)")
    return objects.map {
      ($0["subject"] as? String ?? "", $0["verdict"] as? String ?? "", $0["text"] as? String ?? "")
    }
  }

  @Test(.timeLimit(.minutes(6)), arguments: [[], ["--mqtt-v311"]]) func brokerWithoutAccessControl(
    version: [String]
  )
    async throws
  {
    let broker = try BrokerFixture()
    try await publish(
      broker, "odograph/v1/demo/van/status", FleetPayload.status("online", session: "", seq: 1), retain: true)
    let result = try await OdographProcess.run(
      ["check", "--host", "127.0.0.1", "--port", "\(broker.port)", "--json"] + version)
    #expect(result.status == 0, "\(result.output)")
    let verdicts = try verdicts(result)
    #expect(
      verdicts.filter { $0.subject == "publish" }.map(\.verdict) == ["ok", "ok", "ok"], "\(result.output)")
    #expect(verdicts.contains { $0.subject == "login" && $0.verdict == "warning" })
    #expect(
      verdicts.contains { $0.subject == "retained" && $0.verdict == "ok" && $0.text.contains("1 vehicle") })
    #expect(
      verdicts.contains { $0.subject == "limits" && $0.verdict == (version.isEmpty ? "ok" : "unknown") })
    // `check` leaves no retained messages.
    let kept = try await OdographProcess.run([
      "tail", "--host", "127.0.0.1", "--port", "\(broker.port)", "--retained", "--timeout", "5",
    ])
    #expect(kept.lines.count == 1, "\(kept.output)")
  }

  @Test(.timeLimit(.minutes(6)), arguments: [[], ["--mqtt-v311"]])
  func readOnlyUser(version: [String]) async throws {
    let directory = try TemporaryDirectory()
    _ = try directory.write("acl", "topic read odograph/v1/#\n")
    // Without these limits, mosquitto closes the connection after each refused publish.
    let broker = try BrokerFixture(
      [
        "allow_anonymous true", "acl_file DIRECTORY/acl", "max_inflight_messages 20",
        "max_queued_messages 1000",
      ], directory: directory)
    let result = try await OdographProcess.run(
      ["check", "--host", "127.0.0.1", "--port", "\(broker.port)", "--json"] + version)
    #expect(result.status == 0, "\(result.output)")
    let verdicts = try verdicts(result)
    #expect(verdicts.filter { $0.subject == "publish" }.map(\.verdict) == ["warning", "warning", "warning"])
    #expect(verdicts.contains { $0.subject == "subscribe" && $0.verdict == "ok" })
  }

  @Test(.timeLimit(.minutes(6))) func refusedLoginAndUnreachableBroker() async throws {
    let broker = try BrokerFixture(["allow_anonymous false"])
    let refused = try await OdographProcess.run(["check", "--host", "127.0.0.1", "--port", "\(broker.port)"])
    #expect(refused.status == 69 && refused.output.contains("failed   login"), "\(refused.output)")
    let port: Int = try FreePort.next()
    let nobody = try await OdographProcess.run(["check", "--host", "127.0.0.1", "--port", "\(port)"])
    #expect(nobody.status == 69 && nobody.output.contains("failed   reach"), "\(nobody.output)")
  }

  @Test(.timeLimit(.minutes(8))) func aBrokerWithTLS() async throws {
    let authority = try CertificateAuthority()
    let identity = try authority.issue("broker")
    let broker = try BrokerFixture([
      "allow_anonymous true", "cafile \(authority.certificateFile)", "certfile \(identity.certificateFile)",
      "keyfile \(identity.keyFile)", "require_certificate true", "use_identity_as_username true",
    ])
    let client = try authority.issue("operator")
    let address = ["check", "--json", "--broker", "mqtts://127.0.0.1:\(broker.port)"]
    let own = ["--cert", client.certificateFile, "--key", client.keyFile]
    let good = try await OdographProcess.run(address + own + ["--ca", authority.certificateFile])
    #expect(good.status == 0, "\(good.output)")
    #expect(
      try verdicts(good).contains {
        $0.subject == "tls" && $0.text.contains("TLS") && $0.verdict != "failed"
      }, "\(good.output)")
    // An untrusted broker and a refused client certificate are distinguished.
    let other = try CertificateAuthority("Other")
    let stranger = try await OdographProcess.run(address + own + ["--ca", other.certificateFile])
    #expect(stranger.status == 69, "\(stranger.output)")
    #expect(
      try verdicts(stranger).contains {
        $0.subject == "tls" && $0.verdict == "failed"
          && ($0.text.contains("certificate") || $0.text.contains("issuer"))
      },
      "\(stranger.output)")
    let nobody = try await OdographProcess.run(address + ["--ca", authority.certificateFile])
    #expect(nobody.status == 69, "\(nobody.output)")
    #expect(
      try verdicts(nobody).contains { $0.verdict == "failed" }
        && nobody.output.contains("set --cert and --key"), "\(nobody.output)")
    // A broker without TLS.
    let plain = try BrokerFixture()
    let deaf = try await OdographProcess.run(
      ["check", "--json", "--broker", "mqtts://127.0.0.1:\(plain.port)", "--ca", authority.certificateFile])
    #expect(deaf.status == 69 && deaf.output.contains("failed"), "\(deaf.output)")
  }
}
