import Foundation
import TestSupport
import Testing

/// Records all native messages that a broker accepts, as lines of topic and payload, with mosquitto_sub.
struct BrokerLines {
  let path: String
  private let broker: BrokerFixture
  private let child: ChildProcess

  init(_ broker: BrokerFixture, in directory: TemporaryDirectory) async throws {
    self.broker = broker
    path = directory.file("lines-\(UInt32.random(in: 0 ... .max))")
    let before = broker.logCount("Sending SUBACK")
    child = try ChildProcess(
      "mosquitto_sub",
      ["-p", "\(broker.port)", "-q", "1", "-t", "odograph/v1/#", "-F", #"{"topic":"%t","payload":%p}"#],
      output: path)
    try await eventually { broker.logCount("Sending SUBACK") > before }
  }

  var text: String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

  /// Stops after the messages that the broker has accepted so far.
  func finish() async throws {
    // Messages arrive in order: this one is the last.
    try await publish(broker, "odograph/v1/last/one/command/locate", #"{"id":"the last"}"#)
    try await eventually { text.contains("the last") }
    child.terminate()
  }

  /// Validates all messages against their schemas. Returns the number of messages per schema.
  func validated() async throws -> [String: Int] {
    try await finish()
    let validator = try ContractScript.start("validate.py", stdin: path)
    #expect(validator.waitForExit() == 0, "\(validator.output)")
    let counts = ContractScript.counts(validator.output)
    print("validated at a broker: \(counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" })")
    return counts
  }

  /// Runs 20 simulated vehicles with outages, events and live values.
  static func simulate(at broker: BrokerFixture) async throws {
    let result = try await OdographProcess.run([
      "simulate", "--vehicles", "20", "--rate", "4", "--seconds", "6", "--outages", "3600",
      "--outage-seconds",
      "1", "--events", "3600", "--live-rate", "2", "--fleet", "demo", "--seed", "3", "--broker",
      "mqtt://127.0.0.1:\(broker.port)",
    ])
    #expect(result.status == 0, "\(result.output)")
  }
}
