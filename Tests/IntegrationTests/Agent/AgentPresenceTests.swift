import Foundation
import MQTT
import TestSupport
import Testing

/// What a fleet learns of a vehicle's presence, and that what is last known comes before what was.
@Suite(.serialized) struct AgentPresenceTests {
  private func settings(_ port: Int, _ more: [String: String] = [:]) -> [String: String] {
    [
      "mqtt.broker": "127.0.0.1:\(port)", "mqtt.keepalive": "5", "mqtt.backoff_base": "0.1",
      "mqtt.backoff_limit": "0.5", "input.mode": "simulation",
    ].merging(more) { $1 }
  }

  /// A session that sees everything below a vehicle, with the sender's retain flags.
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

  /// What the broker keeps of the vehicle's status for whoever comes now.
  private func keptStatus(_ broker: BrokerFixture) async throws -> Message? {
    let (session, recorder) = try await watch(broker, "late")
    try await eventually { recorder.messages.contains { $0.topic.hasSuffix("/status") } }
    session.stop()
    return recorder.wire.first { $0.kind == "status" }
  }

  @Test(.timeLimit(.minutes(6))) func theLastKnownLocationComesFirstAndTheHistoryInOrder() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(settings(link.port, ["input.speed": "20"]))
    func locations() -> [MQTTMessage] { recorder.messages.filter { $0.topic.hasSuffix("/location") } }
    try await eventually { locations().count > 5 }
    link.setOpen(false)
    // Some hundred fixes gather behind the closed link.
    try await Task.sleep(for: .seconds(8))
    let before = recorder.messages.count
    link.setOpen(true)
    try await eventually { locations().count > 150 }
    agent.child.terminate()
    try await eventually { recorder.wire.last { $0.kind == "status" }?.state == "offline" }
    watcher.stop()
    let numbers = recorder.wire.filter { $0.kind == "location" }.compactMap(\.seq)
    #expect(HistoryOrder(numbers).isSound, "\(numbers)")
    // Of all that came after the cut, the last known location was the first, apart from the will and the status.
    let after = recorder.wire.dropFirst(before).filter { $0.kind != "status" && $0.kind != "heading" }
      .filter { $0.kind != "attitude" }
    let first = try #require(after.first)
    #expect(first.kind == "location")
    let overtaken = after.filter { $0.kind == "location" }.compactMap(\.seq).filter { $0 < first.seq ?? 0 }
    #expect(overtaken.count > 20, "\(overtaken.count)")
    // What the broker keeps never goes back, and only what overtook was kept.
    let kept = zip(recorder.messages, recorder.wire).filter { $0.0.retain && $0.1.kind == "location" }
      .compactMap(\.1.seq)
    #expect(zip(kept, kept.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(kept.last == numbers.max())
  }

  @Test(.timeLimit(.minutes(6))) func aVehicleThatConnectsInBurstsSaysWhenItIsHeardAgain() async throws {
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
    // The last word says all that `status` says, and when the next burst is.
    #expect(asleep.payload["version"] is String && asleep.payload["storage"] is [String: Any])
    let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let told = try #require((asleep.payload["time"] as? String).map { try format.parse($0) })
    let next = try #require((asleep.payload["nextContact"] as? String).map { try format.parse($0) })
    #expect(next > told && next <= told.addingTimeInterval(5))
    #expect(try await keptStatus(broker)?.state == "asleep")
    // Locations are made all the time and wait for the bursts.
    #expect(recorder.wire.contains { $0.kind == "location" })
    // A stop while asleep leaves no ghost: the link is opened once more for the last word.
    agent.child.terminate()
    try await eventually { states().last == "offline" }
    #expect(recorder.wire.last { $0.kind == "status" }?.payload["will"] == nil)
    #expect(try await keptStatus(broker)?.state == "offline")
    #expect(!states().dropLast().contains("offline"), "no will was spoken: \(states())")
    let numbers = recorder.wire.filter { $0.kind == "status" }.compactMap(\.seq)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    watcher.stop()
  }

  /// Each session's will carries that session's start, which its `online` says too.
  @Test(.timeLimit(.minutes(6))) func theWillOfAnOldSessionIsToldFromThatOfANewOne() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let (watcher, recorder) = try await watch(broker)
    let agent = try AgentProcess(settings(link.port))
    func statuses() -> [Message] { recorder.wire.filter { $0.kind == "status" } }
    // What was made before there was a session comes first, and says when the agent began: the session's
    // own word is the second.
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

  /// A parked van keeps its modem asleep, and a longer keepalive is agreed with the broker.
  @Test(.timeLimit(.minutes(6))) func aLongRestChangesTheLink() async throws {
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

  @Test(.timeLimit(.minutes(6))) func theNextBrokerOfTheListIsTakenAndThePreferredOneAgain() async throws {
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

/// The order in which a topic's numbers arrive: what is newest may overtake, the rest comes in order. Where one came twice,
/// the first time counts.
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
  /// All messages as JSON, in order of arrival.
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
