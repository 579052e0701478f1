import Foundation
import Glibc
import MQTT
import Platform
import TestSupport
import Testing

/// Delivery while the broker or the client is killed.
@Suite(.serialized) struct BrokerDeliveryTests {
  /// The listener subscribes with QoS 0: the broker writes to the listener before it acknowledges the sender's publish. Acknowledged
  /// messages have therefore been forwarded, even if the broker is killed immediately afterwards.
  @Test(.timeLimit(.minutes(6)))
  func recordsArriveInOrderAcrossBrokerRestarts() async throws {
    let broker = try BrokerFixture()
    let link = try LinkProxy(to: broker.port)
    let recorder = SessionRecorder()
    let listener = try MQTTSession(
      configuration: configuration(broker, "listener"),
      subscriptions: [MQTTSubscription("records/#", qos: .atMostOnce)], handlers: recorder.handlers)
    try listener.start()
    try await eventually { recorder.answerCount == 1 }
    let log = broker.directory.file("accepted.log")
    let agent = try ChildProcess(
      BuiltProduct.path("DeliveryChild"),
      ["agent", broker.directory.file("outbox.sqlite"), "\(link.port)", "vehicle", log, "500"])
    for round in 1...6 {
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...300)))
      broker.kill()
      link.setOpen(false)
      try broker.start()
      try await eventually { recorder.answerCount == round + 1 }
      link.setOpen(true)
    }
    try broker.directory.write("accepted.log.end", "")
    #expect(agent.waitForExit() == 0)
    let accepted = try lines(log).map { Accepted($0) }
    try await eventually { Set(recorder.payloads).isSuperset(of: accepted.map(\.identity)) }
    let arrived = firstArrivals(recorder.payloads)
    for lane in Set(accepted.map(\.lane)) {
      let expected = accepted.filter { $0.lane == lane }.map(\.identity)
      #expect(expected.count > 20)
      #expect(isInOrder(arrived, expected, lane: lane), "lane \(lane)")
    }
    #expect(Set(arrived) == Set(accepted.map(\.identity)))
    listener.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func killedListenerReceivesTheBatchAgain() async throws {
    let broker = try BrokerFixture()
    let log = broker.directory.file("kept.log")
    let listener = { (killAfter: Int) in
      try ChildProcess(
        BuiltProduct.path("DeliveryChild"), ["listen", "\(broker.port)", "collector", log, "\(killAfter)"])
    }
    let first = try listener(300)
    try await broker.waitForLog("collector 1 records/#")
    let store = MemoryOutbox()
    let sender = try MQTTSession(
      configuration: configuration(broker, "sender"), outbound: store, handlers: MQTTSession.Handlers())
    try sender.start()
    for index in 0..<2000 {
      store.append(MQTTMessage(topic: "records/x", text: "\(index)", qos: .atLeastOnce))
    }
    sender.wakeUp()
    #expect(first.waitForExit() == -SIGKILL)
    let keptByFirst = try lines(log)
    #expect(keptByFirst.count >= 300 && keptByFirst.count < 2000)
    let second = try listener(1_000_000)
    try await eventually { try Set(lines(log)).count == 2000 }
    // No message is missing, and the order is unchanged; repetitions are permitted.
    let kept = try lines(log)
    #expect(firstArrivals(kept) == (0..<2000).map(String.init))
    second.kill()
    #expect(sender.stop())
  }

  @Test(.timeLimit(.minutes(6)))
  func rejectedBatchIsRedelivered() async throws {
    let broker = try BrokerFixture()
    let refused = Locked(false)
    let messages = Locked([String]())
    var settings = configuration(broker, "collector")
    settings.cleanStart = false
    settings.sessionExpiryInterval = 60
    let subscribed = Locked(false)
    let listener = try MQTTSession(
      configuration: settings, subscriptions: [MQTTSubscription("a")],
      handlers: MQTTSession.Handlers(
        received: { batch in
          if refused.withLock({ refused in
            defer { refused = true }
            return !refused
          }) {
            return .notKept("the disk is full")
          }
          messages.withLock { $0 += batch.map { String(decoding: $0.payload, as: UTF8.self) } }
          return .kept
        }, subscriptionAnswered: { _, _ in subscribed.withLock { $0 = true } }))
    try listener.start()
    try await eventually { subscribed.withLock { $0 } }
    let store = MemoryOutbox()
    for index in 0..<10 { store.append(MQTTMessage(topic: "a", text: "\(index)", qos: .atLeastOnce)) }
    let sender = try MQTTSession(
      configuration: configuration(broker, "sender"), outbound: store, handlers: MQTTSession.Handlers())
    try sender.start()
    try await eventually { Set(messages.withLock { $0 }).count == 10 }
    #expect(firstArrivals(messages.withLock { $0 }) == (0..<10).map(String.init))
    #expect(listener.statistics.connections == 2)
    listener.stop()
    sender.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func killPublishesTheWillAndStopTheFinalMessage() async throws {
    let broker = try BrokerFixture()
    let recorder = SessionRecorder()
    let watcher = try MQTTSession(
      configuration: configuration(broker, "watcher"), subscriptions: [MQTTSubscription("status/#")],
      handlers: recorder.handlers)
    try watcher.start()
    try await eventually { recorder.answers["status/#"] != nil }
    let child = try ChildProcess(
      BuiltProduct.path("DeliveryChild"),
      [
        "agent", broker.directory.file("outbox.sqlite"), "\(broker.port)", "vehicle",
        broker.directory.file("log"), "1000",
      ])
    try await broker.waitForLog("as vehicle")
    child.kill()
    try await eventually { recorder.messages.contains { $0.topic == "status/vehicle" } }
    var settings = configuration(broker, "polite")
    settings.will = MQTTMessage(topic: "status/polite", text: "will", qos: .atLeastOnce, retain: true)
    let session = try MQTTSession(configuration: settings, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    #expect(
      session.stop(final: [
        MQTTMessage(topic: "status/polite", text: "offline", qos: .atLeastOnce, retain: true)
      ]))
    try await eventually { recorder.messages.contains { $0.topic == "status/polite" } }
    try await Task.sleep(for: .milliseconds(100))
    #expect(
      recorder.messages.filter { $0.topic == "status/polite" }.map(\.payload) == [Array("offline".utf8)])
    watcher.stop()
  }
}

/// Parsed line of the child's log: a record that it accepted.
struct Accepted {
  let lane: String
  let identity: String
  /// False if the record was held in memory only, because the disk was full.
  let isDurable: Bool

  init(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 1)
    let name = parts.first ?? ""
    lane = String(name.prefix { $0 != "?" })
    isDurable = !name.hasSuffix("?")
    identity = String(parts.last ?? "")
  }
}

func lines(_ path: String) throws -> [String] {
  guard let data = FileManager.default.contents(atPath: path) else { return [] }
  var lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
  // A killed process may have left an incomplete last line.
  lines.removeLast()
  return lines.map(String.init)
}

/// Returns whether the records of a lane arrived in the order in which they were accepted. In lane `last`, the newest value may arrive
/// before its history.
func isInOrder(_ arrived: [String], _ accepted: [String], lane: String) -> Bool {
  let places = Dictionary(uniqueKeysWithValues: accepted.enumerated().map { ($1, $0) })
  let order = arrived.compactMap { places[$0] }
  return lane == "last" ? HistoryOrder(order).isSound : order == Array(accepted.indices)
}

/// Removes duplicates; the first occurrence remains.
func firstArrivals(_ values: [String]) -> [String] {
  var seen: Set<String> = []
  return values.filter { seen.insert($0).inserted }
}
