import Foundation
import MQTT
import TestSupport
import Testing

/// Delivery with clocks that jump by days, are stopped or were never set. Order and delivery do not depend on the clock.
@Suite(.serialized, .needs(.fakeClock)) struct DeliveryClockTests {
  /// Offsets from the real time in days, applied in sequence. After each jump, the link is cut or closed, or the process is killed.
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      (FakeClock.Reach.wallClock, [10, -10, 0, -10, 10, 0]), (.allClocks, [10, 20, 30]),
    ])
  func clockJumpsDoNotAffectDelivery(reach: FakeClock.Reach, days: [Int]) async throws {
    let directory = try TemporaryDirectory()
    let clock = try FakeClock(in: directory, reach: reach)
    let scene = try await Scene(directory, clock)
    for (index, offset) in days.enumerated() {
      try await scene.acceptMore()
      try clock.jump(days: offset)
      try await scene.acceptMore()
      switch index % 3 {
      case 0: scene.link.cut(afterBytes: 500)
      case 1: try scene.restart()
      default: scene.link.setOpen(false)
      }
      try await scene.acceptMore()
      scene.link.setOpen(true)
    }
    try await scene.finish()
  }

  @Test(.timeLimit(.minutes(6)), arguments: ["2026-11-21 12:00:00", "1970-01-01 00:00:30"])
  func stoppedClockDoesNotAffectDelivery(time: String) async throws {
    let directory = try TemporaryDirectory()
    let clock = try FakeClock(in: directory)
    try clock.stop(at: time)
    let scene = try await Scene(directory, clock)
    try await scene.acceptMore()
    scene.link.cut(afterBytes: 300)
    try await scene.acceptMore()
    try scene.restart()
    try await scene.acceptMore()
    // The clock is set.
    try clock.jump(days: 0)
    try await scene.acceptMore()
    try await scene.finish()
  }

  /// Certificates cannot be validated before the clock is set: the agent postpones TLS and connects later without a restart.
  @Test(.timeLimit(.minutes(6))) func tlsWaitsForTheClock() async throws {
    let directory = try TemporaryDirectory()
    let clock = try FakeClock(in: directory)
    let authority = try CertificateAuthority()
    let identity = try authority.issue("broker")
    let broker = try BrokerFixture([
      "allow_anonymous true", "cafile \(authority.certificateFile)", "certfile \(identity.certificateFile)",
      "keyfile \(identity.keyFile)",
    ])
    try clock.stop(at: "1970-01-01 00:01:00")
    let agent = try AgentProcess(
      [
        "mqtt.broker": "mqtts://127.0.0.1:\(broker.port)", "mqtt.ca_file": authority.certificateFile,
        "input.mode": "simulation",
      ], environment: clock.environment)
    try await eventually { agent.log.contains("the wall clock is not set") }
    #expect(!agent.log.contains("broker connected"))
    try clock.jump(days: 0)
    try await eventually { agent.log.contains("broker connected") }
    agent.child.terminate()
  }

  /// A clock jump while the agent's link is down: `odograph watch` shows the vehicle online after the reconnection, and offline after a
  /// kill.
  @Test(.timeLimit(.minutes(6)), arguments: [-10, 10]) func watchFollowsAClockJump(days: Int)
    async throws
  {
    let directory = try TemporaryDirectory()
    let clock = try FakeClock(in: directory)
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let watch = try ChildProcess(
      BuiltProduct.path("odograph"),
      ["watch", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "test"])
    let tail = try TailProcess(broker, ["--kind", "location"])
    let agent = try AgentProcess(
      [
        "mqtt.broker": "127.0.0.1:\(link.port)", "mqtt.keepalive": "5", "mqtt.backoff_base": "0.1",
        "mqtt.backoff_limit": "0.5", "input.mode": "simulation", "input.speed": "10", "status.interval": "5",
      ], environment: clock.environment)
    // Without a terminal, `watch` prints one line per change.
    func state() -> String? { watch.output.split(separator: "\n").last.map(String.init) }
    try await eventually { tail.messages.count > 10 }
    link.setOpen(false)
    try clock.jump(days: days)
    try await Task.sleep(for: .seconds(2))
    link.setOpen(true)
    let before = tail.messages.count
    try await eventually { tail.messages.count > before + 40 }
    try await eventually { state()?.contains("online") == true }
    let numbers = tail.messages.compactMap(\.seq)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
    agent.child.kill()
    try await eventually { state()?.contains("offline") == true }
    tail.child.terminate()
    watch.terminate()
  }
}

/// A process that accepts records with a fake clock, behind a link that can be cut, and a listener.
private final class Scene {
  let link: LinkProxy
  private let broker: BrokerFixture
  private let recorder = SessionRecorder()
  private let listener: MQTTSession
  private let directory: TemporaryDirectory
  private let clock: FakeClock
  private var agent: ChildProcess

  init(_ directory: TemporaryDirectory, _ clock: FakeClock) async throws {
    (self.directory, self.clock) = (directory, clock)
    broker = try BrokerFixture()
    link = try LinkProxy(to: broker.port)
    listener = try MQTTSession(
      configuration: configuration(broker, "listener"),
      subscriptions: [MQTTSubscription("records/#", qos: .atMostOnce)], handlers: recorder.handlers)
    try listener.start()
    agent = try Self.start(directory, link, clock)
    try await eventually { [recorder] in recorder.answerCount == 1 }
  }

  deinit { agent.kill() }

  private static func start(
    _ directory: TemporaryDirectory, _ link: LinkProxy, _ clock: FakeClock
  ) throws -> ChildProcess {
    try clock.start(
      BuiltProduct.path("DeliveryChild"),
      [
        "agent", directory.file("outbox.sqlite"), "\(link.port)", "vehicle", directory.file("accepted.log"),
        "5000",
      ], output: directory.file("agent.out"))
  }

  private var accepted: [Accepted] {
    get throws { try lines(directory.file("accepted.log")).map { Accepted($0) } }
  }

  /// Waits until more than 30 further records are accepted.
  func acceptMore() async throws {
    let before = try lineCount
    try await eventually { try lineCount > before + 30 }
  }

  private var lineCount: Int {
    get throws {
      (FileManager.default.contents(atPath: directory.file("accepted.log")) ?? Data()).count { $0 == 10 }
    }
  }

  func restart() throws {
    agent.kill()
    agent = try Self.start(directory, link, clock)
  }

  /// Waits until the process has delivered its queue, and compares the arrived records with the accepted ones.
  func finish() async throws {
    try directory.write("accepted.log.end", "")
    #expect(agent.waitForExit() == 0)
    let accepted = try accepted
    let identities = Set(accepted.map(\.identity))
    waitUntil { identities.isSubset(of: recorder.payloads) }
    #expect(identities.subtracting(recorder.payloads) == [], "accepted but not delivered")
    listener.stop()
    let arrived = firstArrivals(recorder.payloads)
    for lane in Set(accepted.map(\.lane)) {
      let expected = accepted.filter { $0.lane == lane }.map(\.identity)
      #expect(isInOrder(arrived, expected, lane: lane), "order of lane \(lane)")
    }
    // One epoch and ascending sequence numbers, independent of the clock.
    let parts = accepted.map { $0.identity.split(separator: " ") }
    #expect(Set(parts.map(\.[0])).count == 1)
    let numbers = parts.compactMap { Int($0[1]) }
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    #expect(Set(arrived).count >= accepted.count)
  }
}
