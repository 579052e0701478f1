import Foundation
import TestSupport
import Testing

/// Option `--share`: the members of a group share the messages, and a member that leaves has processed its part.
@Suite(.serialized) struct FleetShareTests {
  private func address(_ broker: BrokerFixture) -> [String] {
    ["--host", "127.0.0.1", "--port", "\(broker.port)"]
  }

  @Test(.timeLimit(.minutes(8))) func tailsShareMessagesWithoutLoss() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let before = broker.logCount("Sending SUBACK")
    // The first member exits early, after it has printed all messages delivered to it.
    let members = try [["--count", "20"], [], []].enumerated().map { index, more in
      try OdographProcess.start(
        ["tail", "--share", "readers"] + more + address(broker), output: directory.file("\(index)"))
    }
    try await eventually { broker.logCount("Sending SUBACK") >= before + members.count }
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    load.publish(3000)
    try await eventually { load.isSettled }
    func lines(_ index: Int) throws -> [Substring] {
      try OdographProcess.text(of: directory.file("\(index)")).split(separator: "\n")
    }
    try await eventually { try (0..<3).reduce(0) { $0 + (try lines($1).count) } >= 3000 }
    for member in members { member.signal(SIGTERM) }
    for (index, member) in members.enumerated() {
      try await eventually { !member.isRunning }
      #expect(member.waitForExit() == (index == 0 ? 0 : 143))
    }
    let split = try (0..<3).map { try lines($0).count }
    let all = try (0..<3).flatMap { try lines($0) }
    #expect(Set(all).count == 3000 && split.allSatisfy { $0 >= 20 }, "\(split)")
    print("tails shared 3000 messages,\(split)")
  }

  @Test(.timeLimit(.minutes(8))) func statsAndWatchReceiveTheirPart() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let before = broker.logCount("Sending SUBACK")
    let stats = try (0..<2).map { index in
      try OdographProcess.start(
        ["stats", "--json", "--share", "counters"] + address(broker), output: directory.file("stats-\(index)")
      )
    }
    let watch = try OdographProcess.start(
      ["watch", "--interval", "0.05", "--share", "watchers"] + address(broker),
      output: directory.file("watch"))
    try await eventually { broker.logCount("Sending SUBACK") >= before + 3 }
    let load = FleetLoad()
    try load.start(configuration(broker, "load"))
    load.publish(1000)
    try await eventually { load.isSettled }
    try await eventually { try OdographProcess.text(of: directory.file("watch")).contains("/") }
    for child in stats + [watch] {
      child.signal(SIGTERM)
      try await eventually { !child.isRunning }
      #expect(child.waitForExit() == 143)
    }
    let counts = try (0..<2).map { index in
      let text = try OdographProcess.text(of: directory.file("stats-\(index)"))
      return try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])["messages"]
        as? Int ?? 0
    }
    #expect(counts.reduce(0, +) == 1000 && counts.allSatisfy { $0 > 0 }, "\(counts)")
  }

  /// A broker that reports the missing feature in CONNACK, and one that disconnects after the subscription.
  @Test(.timeLimit(.minutes(2)), arguments: [[0x2A, 0], []] as [[UInt8]])
  func missingSharedSubscriptionsAreReported(properties: [UInt8]) async throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0, properties: properties)
      while let packet = connection.read() {
        if packet.type == 8, properties.isEmpty { connection.send([0xE0, 2, 0x9E, 0]) }
      }
    }
    for command in ["tail", "stats"] {
      let result = try await OdographProcess.run(
        [command, "--share", "g", "--timeout", "30", "--broker", "mqtt://127.0.0.1:\(broker.port)"])
      #expect(result.status == 69, "\(result.output)")
      #expect(
        result.output.contains("no shared subscriptions; leave out --share"), "\(command): \(result.output)")
    }
  }

  /// MQTT 3.1.1 does not report whether shared subscriptions are supported: mosquitto supports them, other brokers treat the filter as a
  /// plain topic.
  @Test(.timeLimit(.minutes(2))) func mqtt311PrintsAHint() async throws {
    let broker = try BrokerFixture()
    let result = try await OdographProcess.run(
      ["tail", "--share", "g", "--mqtt-v311", "--timeout", "2"] + address(broker))
    #expect(result.output.contains("if no messages arrive, leave out --share"), "\(result.output)")
    let alone = try await OdographProcess.run(["tail", "--mqtt-v311", "--timeout", "2"] + address(broker))
    #expect(!alone.output.contains("--share"), "\(alone.output)")
  }
}
