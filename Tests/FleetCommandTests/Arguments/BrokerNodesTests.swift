import ArgumentParser
import Fleet
import FleetCommand
import MQTT
import Testing

/// `--broker` with the nodes of a cluster.
@Suite struct BrokerNodesTests {
  private func brokers(_ words: String...) throws -> [MQTTConfiguration.Broker] {
    try BrokerArguments.parse(words).configuration().brokers
  }

  @Test func nodesAreTriedInTheirOrder() throws {
    #expect(
      try brokers("--broker", "mqtts://ann@a.example,b.example:8884,[::1]")
        == [
          .init(host: "a.example", port: 8883), .init(host: "b.example", port: 8884),
          .init(host: "::1", port: 8883),
        ])
    #expect(try brokers("--broker", "a,b", "--port", "1884").map(\.port) == [1884, 1884])
    // A CA file alone enables TLS with its default port at each node.
    #expect(try brokers("--broker", "a,b:1", "--ca", "x").map(\.port) == [8883, 1])
    // A failure with MQTT 5 is not reported before MQTT 3.1.1 has been tried, also with a single broker.
    for text in ["a", "a,b"] {
      #expect(try !BrokerArguments.parse(["--broker", text]).configuration().reportsEachBroker)
    }
  }

  @Test(
    arguments: [
      ("mqtts://a,mqtts://b", "only before the first node"), ("a,ann@b", "only before the first node"),
      ("a,,b", "no host"),
      ("a,b:x", "port"),
    ])
  func errorsNameTheCause(_ text: String, _ cause: String) {
    let error = #expect(throws: FleetError.self) { try brokers("--broker", text) }
    #expect("\(String(describing: error))".contains(cause))
  }
}
