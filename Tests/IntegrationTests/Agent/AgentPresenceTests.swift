import Foundation
import MQTT
import TestSupport
import Testing

/// Presence of a vehicle as its fleet sees it, and the order of last-known values and their history.
@Suite(.serialized) struct AgentPresenceTests {
  private func settings(_ port: Int, _ more: [String: String] = [:]) -> [String: String] {
    [
      "mqtt.broker": "127.0.0.1:\(port)", "mqtt.keepalive": "5", "mqtt.backoff_base": "0.1",
      "mqtt.backoff_limit": "0.5", "input.mode": "simulation",
    ].merging(more) { $1 }
  }

  /// Subscribes to all topics with the sender's retain flags.
  private func watch(_ broker: BrokerFixture, _ name: String = "watcher") async throws -> (
    MQTTSession, SessionRecorder
  ) {
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: configuration(broker, name),
      subscriptions: [MQTTSubscription("odograph/#", retainAsPublished: true)],
      handlers: recorder.handlers)
    try session.start()
    try await eventually { recorder.answerCount == 1 }
    return (session, recorder)
  }

  /// Returns the retained status, as a new subscriber receives it.
  private func retainedStatus(_ broker: BrokerFixture) async throws -> Message? {
    let (session, recorder) = try await watch(broker, "late")
    try await eventually { recorder.messages.contains { $0.topic.hasSuffix("/status") } }
    session.stop()
    return recorder.wire.first { $0.kind == "status" }
  }

  /// Under MQTT 3.1.1 the broker disconnects the previous client of a name without a reason.
  @Test(.timeLimit(.minutes(6))) func clientOfTheSameNameIsReported() async throws {
    let broker = try BrokerFixture()
    let agent = try AgentProcess(
      settings(broker.port, ["mqtt.protocol": "3.1.1", "mqtt.client_id": "shared"]))
    try await eventually { agent.log.contains("event=broker.connected") }
    let rival = try MQTTSession(
      configuration: configuration(broker, "shared"), handlers: MQTTSession.Handlers())
    try rival.start()
    try await eventually { agent.log.contains("event=broker.duplicate_client") }
    #expect(agent.log.contains("client_id=shared"), "\(agent.log)")
    rival.stop()
    agent.child.terminate()
  }

  @Test(.timeLimit(.minutes(6))) func lastKnownLocationArrivesBeforeItsHistory() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(settings(link.port, ["input.speed": "40"]))
    func locations() -> [MQTTMessage] { recorder.messages.filter { $0.topic.hasSuffix("/location") } }
    try await eventually { locations().count > 5 }
    link.setOpen(false)
    // About 320 fixes are queued while the link is closed: a long backlog.
    try await Task.sleep(for: .seconds(8))
    let before = recorder.messages.count
    link.setOpen(true)
    try await eventually { locations().count > 300 }
    agent.child.terminate()
    try await eventually { recorder.wire.last { $0.kind == "status" }?.state == "offline" }
    watcher.stop()
    let numbers = recorder.wire.filter { $0.kind == "location" }.compactMap(\.seq)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
    // Apart from the will, the status and live values, the last-known location arrives first after the outage.
    let after = recorder.wire.dropFirst(before).filter { $0.kind != "status" && $0.kind != "heading" }
      .filter { $0.kind != "attitude" }
    let first = try #require(after.first)
    #expect(first.kind == "location")
    let overtaken = after.filter { $0.kind == "location" }.compactMap(\.seq).filter { $0 < first.seq ?? 0 }
    #expect(overtaken.count > 20, "\(overtaken.count)")
    // The retained location never goes back in time; only locations that were sent ahead of their history are retained.
    let kept = zip(recorder.messages, recorder.wire).filter { $0.0.retain && $0.1.kind == "location" }
      .compactMap(\.1.seq)
    #expect(zip(kept, kept.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(kept.last == numbers.max())
  }

  @Test(.timeLimit(.minutes(6))) func asleepHasTheTimeOfTheNextBurst() async throws {
    let broker = try BrokerFixture()
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(
      settings(
        broker.port,
        [
          "mqtt.link": "bursts", "mqtt.burst_interval": "5", "mqtt.burst_linger": "0.3",
          "motion.events": "",
        ]))
    func states() -> [String] { recorder.wire.filter { $0.kind == "status" }.compactMap(\.state) }
    try await eventually { states().count { $0 == "asleep" } >= 3 }
    let asleep = try #require(recorder.wire.last { $0.state == "asleep" })
    // The farewell has all members of `status` and the time of the next burst.
    #expect(asleep.payload["version"] is String && asleep.payload["storage"] is [String: Any])
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let told = try #require((asleep.payload["time"] as? String).map { try format.parse($0) })
    let next = try #require((asleep.payload["nextContact"] as? String).map { try format.parse($0) })
    #expect(next > told && next <= told.addingTimeInterval(5))
    #expect(try await retainedStatus(broker)?.state == "asleep")
    // Locations are produced continuously and sent in bursts.
    #expect(recorder.wire.contains { $0.kind == "location" })
    // A stop between bursts opens the link once more to publish `offline`.
    agent.child.terminate()
    try await eventually { states().last == "offline" }
    #expect(recorder.wire.last { $0.kind == "status" }?.payload["will"] == nil)
    #expect(try await retainedStatus(broker)?.state == "offline")
    #expect(!states().dropLast().contains("offline"), "unexpected will: \(states())")
    let numbers = recorder.wire.filter { $0.kind == "status" }.compactMap(\.seq)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    watcher.stop()
  }

  /// A vehicle at rest that connects as announced publishes no `online`. After a burst that breaks off, it does.
  @Test(.timeLimit(.minutes(6))) func scheduledBurstsAtRestPublishOnlyAsleep() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(
      settings(
        link.port,
        [
          "simulation.scenario": "parked", "mqtt.link": "bursts", "mqtt.burst_interval": "5",
          "mqtt.burst_linger": "0.5", "motion.events": "", "attitude.enabled": "false",
          "heading.enabled": "false", "location.reporting": "significant",
          "location.desired_accuracy": "kilometer",
        ]))
    func statuses() -> [Message] { recorder.wire.filter { $0.kind == "status" } }
    try await eventually { statuses().suffix(4).count { $0.state == "asleep" } == 4 }
    // Each `asleep` is that of another session, with the members of that session's status.
    let asleep = statuses().suffix(4)
    for (a, b) in zip(asleep, asleep.dropFirst()) {
      #expect(try #require(a.sessionStart) < #require(b.sessionStart))
      let counts = [a, b].compactMap { ($0.payload["counters"] as? [String: Any])?["connections"] as? Int }
      #expect(counts.count == 2 && counts.last == counts.first.map { $0 + 1 }, "\(counts)")
    }
    // The next connection breaks off within its `asleep`, which is longer than all messages before it together.
    let count = statuses().count
    link.cut(afterBytes: 1200)
    try await eventually { statuses().count >= count + 4 }
    #expect(statuses().dropFirst(count).prefix(4).map(\.state) == ["offline", "online", "asleep", "asleep"])
    #expect(statuses()[count].payload["will"] as? Bool == true)
    agent.child.terminate()
    watcher.stop()
  }

  /// The will has the same `sessionStart` as the session's `online`.
  @Test(.timeLimit(.minutes(6))) func willHasTheStartOfItsSession() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(settings(link.port))
    func statuses() -> [Message] { recorder.wire.filter { $0.kind == "status" } }
    // A status created before the first session arrives first, with the agent's start as `sessionStart`; the session's own status is the
    // second.
    try await eventually { statuses().count { $0.state == "online" && $0.sessionStart != nil } >= 2 }
    link.setOpen(false)
    try await eventually { statuses().contains { $0.payload["will"] as? Bool == true } }
    let will = try #require(statuses().last { $0.payload["will"] as? Bool == true })
    let first = try #require(statuses().last { $0.state == "online" }?.sessionStart)
    #expect(will.state == "offline" && will.sessionStart == first)
    link.setOpen(true)
    try await eventually { statuses().last?.state == "online" && statuses().last?.sessionStart ?? "" > first }
    let second = try #require(statuses().last?.sessionStart)
    #expect(second > first)
    agent.child.kill()
    try await eventually { statuses().last?.payload["will"] as? Bool == true }
    #expect(statuses().last?.sessionStart ?? "" >= second)
    watcher.stop()
  }

  /// At rest, a vehicle disconnects between bursts, or uses a longer keepalive.
  @Test(.timeLimit(.minutes(6))) func restChangesTheLink() async throws {
    let broker = try BrokerFixture()
    let (watcher, recorder) = try await watch(broker)
    let rest = ["simulation.scenario": "parked", "input.speed": "60"]
    let sleeper = try AgentProcess(
      settings(
        broker.port,
        rest.merging([
          "mqtt.link": "bursts-at-rest", "mqtt.burst_interval": "600", "mqtt.burst_linger": "0.2",
        ]) { $1 }))
    try await eventually { recorder.wire.contains { $0.state == "asleep" } }
    sleeper.child.terminate()
    let patient = try AgentProcess(
      settings(broker.port, rest.merging(["mqtt.keepalive_at_rest": "77"]) { $1 }))
    try await broker.waitForLog("(p5, c0, k77)")
    #expect(patient.log.contains("keepalive_s=77"))
    patient.child.terminate()
    watcher.stop()
  }

  @Test(.timeLimit(.minutes(6))) func failsOverToTheNextBrokerAndBack() async throws {
    let (preferred, spare) = (try BrokerFixture(), try BrokerFixture())
    let (a, first) = try await watch(preferred)
    let (b, second) = try await watch(spare)
    let agent = try AgentProcess(
      settings(0, ["mqtt.broker": "127.0.0.1:\(preferred.port),127.0.0.1:\(spare.port)"]))
    try await eventually { first.wire.contains { $0.state == "online" } }
    #expect(second.messages.isEmpty)
    preferred.stop()
    try await eventually { second.wire.contains { $0.state == "online" } }
    let answers = first.answerCount
    try preferred.start()
    try await eventually { first.answerCount > answers }
    let before = first.messages.count
    spare.stop()
    try await eventually { first.wire.dropFirst(before).contains { $0.state == "online" } }
    agent.child.terminate()
    a.stop()
    b.stop()
  }
}

/// Checks the order in which the numbers of a topic arrive: the newest may arrive ahead of its history, which arrives in order. Of
/// duplicates, the first counts.
struct HistoryOrder {
  private(set) var isSound = true

  init(_ numbers: [Int]) {
    var (highest, history) = (Int.min, Int.min)
    var seen: Set<Int> = []
    for number in numbers where seen.insert(number).inserted {
      if number > highest {
        highest = number
      } else {
        isSound = isSound && number > history
        history = number
      }
    }
  }
}

extension SessionRecorder {
  /// The received messages as JSON, in order of arrival.
  var wire: [Message] {
    messages.map { message in
      let object = try? JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any]
      return Message(topic: message.topic, payload: object ?? [:])
    }
  }
}

extension Message {
  var sessionStart: String? { payload["sessionStart"] as? String }
}
