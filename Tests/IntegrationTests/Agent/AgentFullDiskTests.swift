import Foundation
import Glibc
import MQTT
import TestSupport
import Testing

/// The disk fills up while the agent runs: delivery continues from memory, `status` reports the problem, and the agent recovers.
@Suite(.serialized) struct AgentFullDiskTests {
  @Test(.timeLimit(.minutes(2)), .needs(.mounting)) func fullDiskIsReportedAndRecovered() async throws {
    let disk = try SmallFileSystem(size: "6m")
    let broker = try BrokerFixture()
    let recorder = SessionRecorder()
    let watcher = try MQTTSession(
      configuration: configuration(broker, "watcher"), subscriptions: [MQTTSubscription("odograph/#")],
      handlers: recorder.handlers)
    try watcher.start()
    try await eventually { recorder.answerCount == 1 }
    let agent = try AgentProcess([
      "mqtt.broker": "127.0.0.1:\(broker.port)", "store.path": disk.file("outbox.sqlite"),
      "input.mode": "simulation", "input.speed": "10", "status.interval": "5",
    ])
    func status() -> Message? { recorder.wire.last { $0.kind == "status" } }
    func locations() -> Int { recorder.messages.count { $0.topic.hasSuffix("/location") } }
    try await eventually { status()?.state == "online" && locations() > 5 }
    #expect(status()?.payload["storeProblem"] == nil)
    let filler = disk.file("filler")
    let descriptor = open(filler, O_WRONLY | O_CREAT, 0o600)
    let block = [UInt8](repeating: 0xFF, count: 65_536)
    while write(descriptor, block, block.count) > 0 {}
    close(descriptor)
    try await eventually { (status()?.payload["storeProblem"] as? String)?.contains("full") == true }
    // Delivery continues from memory.
    let before = locations()
    try await eventually { locations() > before + 20 }
    unlink(filler)
    try await eventually { status()?.payload["storeProblem"] == nil }
    #expect(agent.log.contains("held in memory") && agent.log.contains("writes to disk again"))
    agent.child.terminate()
    try await eventually { status()?.state == "offline" }
    watcher.stop()
  }
}
