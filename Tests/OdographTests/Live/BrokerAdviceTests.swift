import ArgumentParser
import Fleet
import FleetCommand
import FleetProgram
import TestSupport
import Testing

@testable import MQTT
@testable import odograph

/// Advice for a command that cannot connect: origin of the address, profile, next steps.
@Suite struct BrokerAdviceTests {
  private static let refused = FleetError(
    MQTTDisconnection(
      broker: .init(host: "localhost", port: 1), phase: .tcp, cause: .unreachable("Connection refused")))

  private func advice(_ words: [String], on error: FleetError = refused) throws -> [String] {
    try Tail.parse(words).advice(on: error)
  }

  @Test func namesTheOptionAndTheLocalBroker() throws {
    #expect(
      try advice(["--broker", "mqtt://localhost:1"]).joined(separator: "\n").hasPrefix(
        """
        the address localhost:1 is from --broker; no profile is used
        next steps: start a broker with: mosquitto -p 1; or name another with --broker mqtt://HOST; or \
        write [default] and broker = "mqtt://HOST" into 
        """))
    #expect(try advice(["--host", "::1"])[0] == "the address [::1]:1883 is from --host; no profile is used")
  }

  @Test func namesTheProfile() throws {
    let folder = try TemporaryDirectory()
    let file = try folder.write("profile.toml", "[work]\nbroker = \"mqtts://a.example\"\n[default]\n")
    #expect(
      try advice(["--profile-file", file, "--profile", "work"]) == [
        "the address a.example:8883 is from the profile; profile: \(file) [work]",
        "next steps: name another with --broker mqtt://HOST; or change the key broker of \(file) [work]",
      ])
    #expect(
      try advice(["--profile-file", file])[0]
        == "the address localhost:1883 is the default; profile: \(file) [default]")
    #expect(
      try advice(["--profile-file", file, "--profile", "work", "--broker", "b.example"])[0]
        == "the address b.example:1883 is from --broker; profile: \(file) [work]")
    let other = try folder.write("other.toml", "[work]\n")
    #expect(
      try advice(["--profile-file", other])[0]
        == "the address localhost:1883 is the default; no profile: \(other) has no [default]")
  }

  /// A broker on another machine, with TLS or in a cluster is not started with one command.
  @Test(arguments: ["mqtt://a.example", "mqtts://localhost", "mqtt://localhost,localhost:1884"])
  func startsOnlyALocalBroker(address: String) throws {
    let lines = try advice(["--broker", address])
    #expect(lines.count == 2 && !lines[1].contains("mosquitto"))
  }

  @Test func givesNoStepsIfAProgramAnswers() throws {
    let words = ["--broker", "mqtt://localhost:1"]
    let refusal = MQTTDisconnection(
      broker: .init(host: "localhost", port: 1), phase: .connect, cause: .refused(.notAuthorized, nil))
    #expect(try advice(words, on: FleetError(refusal)).count == 1)
    #expect(try advice(words, on: .unanswered(within: 1)).count == 1)
    #expect(try advice(words, on: .usage("use", "a", "b")).isEmpty)
  }
}
