import TestSupport
import Testing

/// A third-party client (paho) reads the agent's messages.
@Suite(.serialized) struct PahoReaderTests {
  @Test(.timeLimit(.minutes(3)), arguments: ["5", "3.1.1"])
  func pahoReadsTheNativeTopics(version: String) throws {
    let broker = try BrokerFixture()
    let kinds = ["status", "location", "heading", "attitude", "motion"]
    let reader = try ContractScript.start("paho_reader.py", ["\(broker.port)", version] + kinds)
    let agent = try AgentProcess([
      "mqtt.broker": "127.0.0.1:\(broker.port)", "mqtt.protocol": version, "input.mode": "simulation",
      "input.speed": "20", "iio.rate": "20",
    ])
    #expect(reader.waitForExit() == 0, "\(reader.output)\n\(agent.log)")
    agent.child.terminate()
    print("paho \(version): \(reader.output.split(separator: "\n"))")
    let contentType = version == "5" ? "application/json" : ""
    for kind in kinds {
      #expect(
        reader.output.split(separator: "\n").contains {
          $0.hasPrefix("\(kind),") && $0.hasSuffix(",\(contentType)")
        })
    }
  }
}
