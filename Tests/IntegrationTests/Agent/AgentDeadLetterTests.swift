import Foundation
import MQTT
import TestSupport
import Testing

/// Messages that the broker refuses permanently are stored, counted and listed, and can be sent again after the broker's permissions were
/// corrected.
@Suite(.serialized) struct AgentDeadLetterTests {
  @Test(.timeLimit(.minutes(6))) func deadLettersAreListedAndSentAgain() async throws {
    let directory = try TemporaryDirectory()
    let everything = "topic readwrite odograph/#\n"
    let rules = try directory.write("acl", everything + "topic deny odograph/v1/test/van/location\n")
    let broker = try BrokerFixture([
      "allow_anonymous true", "acl_file \(rules)", "max_queued_messages 1000",
    ])
    let settings = [
      "mqtt.broker": "127.0.0.1:\(broker.port)", "input.mode": "simulation", "status.interval": "1",
      // Unauthorized messages become dead letters immediately.
      "store.refused_hours": "0",
    ]
    let recorder = SessionRecorder()
    let watcher = try MQTTSession(
      configuration: configuration(broker, "watcher"), subscriptions: [MQTTSubscription("odograph/#")],
      handlers: recorder.handlers)
    try watcher.start()
    let agent = try AgentProcess(settings, directory: directory)
    let command = DeadLetterCommand(directory)
    // While the agent is running.
    try await eventually { try command.letters.count > 3 }
    let letters = try command.letters
    for letter in letters {
      #expect(letter["reason"] as? String == "not authorized (0x87)")
      #expect(letter["topic"] as? String == "odograph/v1/test/van/location")
      #expect((letter["payload"] as? [String: Any])?["latitude"] is Double)
    }
    #expect(try command.run(["--limit", "1"]).output.hasSuffix("not authorized (0x87)\n"))
    let busy = try command.run(["--retry"])
    #expect(busy.status == 1 && busy.output.contains("another process has it open"), "\(busy)")
    // `status` counts the dead letters.
    try await eventually {
      recorder.wire.contains { ($0.payload["counters"] as? [String: Int])?["queue.dead"] ?? 0 > 0 }
    }
    agent.child.terminate()
    #expect(!recorder.wire.contains { $0.kind == "location" })

    broker.stop()
    try directory.write("acl", everything)
    let answers = recorder.answerCount
    try broker.start()
    try await eventually { recorder.answerCount > answers }
    let count = try command.letters.count
    #expect(try command.run(["--retry"]).output == "put back: \(count)\n")
    #expect(try command.letters.isEmpty)
    // All messages are delivered with their original sequence numbers.
    let second = try AgentProcess(settings, directory: directory)
    let lost = Set(letters.compactMap { ($0["payload"] as? [String: Any])?["seq"] as? Int })
    #expect(lost.count == letters.count)
    try await eventually { Set(recorder.wire.compactMap(\.seq)).isSuperset(of: lost) }
    second.child.terminate()
    #expect(try command.run(["--remove"]).output == "forgotten: 0\n")
    watcher.stop()
  }

  @Test func usageErrorsAreReported() throws {
    let directory = try TemporaryDirectory()
    let command = DeadLetterCommand(directory)
    for arguments in [[], ["--remove"], ["--retry"]] {
      let outcome = try command.run(arguments)
      #expect(outcome.status == 1 && outcome.output.contains("no store"), "\(outcome)")
    }
    #expect(try command.run(["--remove", "--retry"]).status == 64)
    #expect(try command.run(["--limit", "0"]).status == 64)
    try directory.write("outbox.sqlite", "not a database, but long enough to look at")
    let outcome = try command.run([])
    #expect(
      outcome.status == 1 && outcome.output.contains("outbox.sqlite: file is not a database"), "\(outcome)")
  }
}

/// `odographd dead-letters` on the store of a test.
struct DeadLetterCommand {
  private let directory: TemporaryDirectory

  init(_ directory: TemporaryDirectory) { self.directory = directory }

  func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let child = try ChildProcess(
      BuiltProduct.path("odographd"),
      ["dead-letters", "--set", "vehicle.id=van", "--set", "store.path=\(directory.file("outbox.sqlite"))"]
        + arguments)
    return (child.waitForExit(), child.output)
  }

  /// Listed dead letters; empty while the store does not exist.
  var letters: [[String: Any]] {
    get throws {
      let outcome = try run(["--json"])
      guard outcome.status == 0 else { return [] }
      return try outcome.output.split(separator: "\n").map { line in
        try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      }
    }
  }
}
