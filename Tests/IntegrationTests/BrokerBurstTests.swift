import Glibc
import MQTT
import Platform
import TestSupport
import Testing

/// Link policy `bursts`: the connection is open during bursts only.
@Suite(.serialized) struct BrokerBurstTests {
  @Test(.timeLimit(.minutes(6)))
  func linkOpensForEachBurst() async throws {
    let broker = try BrokerFixture()
    let watcher = SessionRecorder()
    let listener = try MQTTSession(
      configuration: configuration(broker, "listener"), subscriptions: [MQTTSubscription("#")],
      handlers: watcher.handlers)
    try listener.start()
    try await eventually { watcher.answerCount == 1 }
    var settings = configuration(broker, "sleeper")
    settings.linkPolicy = .bursts(linger: 0.2)
    settings.will = MQTTMessage(topic: "status", text: "offline", qos: .atLeastOnce)
    let store = MemoryOutbox()
    let recorder = SessionRecorder()
    var handlers = recorder.handlers
    handlers.farewell = { _ in [MQTTMessage(topic: "status", text: "asleep", qos: .atLeastOnce, retain: true)]
    }
    let session = try MQTTSession(configuration: settings, outbound: store, handlers: handlers)
    try session.start()
    for burst in 1...3 {
      for index in 0..<50 {
        store.append(MQTTMessage(topic: "data", text: "\(burst) \(index)", qos: .atLeastOnce))
      }
      if burst > 1 { session.wakeUp() }
      try await eventually { recorder.states.count == 2 * burst }
      #expect(store.isEmpty)
    }
    #expect(session.statistics.connections == 3)
    let asleep = recorder.states.compactMap { state -> MQTTDisconnection.Cause? in
      if case .disconnected(let end, nil) = state { end.cause } else { nil }
    }
    #expect(asleep == [.asleep, .asleep, .asleep])
    try await eventually { watcher.messages.count == 153 }
    // The will is never published; each burst ends with the farewell message.
    #expect(
      watcher.messages.filter { $0.topic == "status" }.map(\.payload)
        == Array(repeating: Array("asleep".utf8), count: 3))
    #expect(watcher.messages.last?.topic == "status")
    session.setLinkPolicy(.standing)
    try await eventually { session.statistics.connections == 4 }
    try await Task.sleep(for: .milliseconds(400))
    #expect(session.statistics.connections == 4 && recorder.states.count == 7)
    session.stop()
    listener.stop()
  }

  /// No `wakeUp()` call; one deferrable message is queued and live values are published every 5 ms.
  @Test(.timeLimit(.minutes(6)))
  func linkOpensAtTheIntervalAndClosesDespiteLiveValues() async throws {
    let broker = try BrokerFixture()
    var settings = configuration(broker, "sleeper")
    settings.linkPolicy = .bursts(linger: 0.1, interval: 1)
    let store = MemoryOutbox()
    let recorder = SessionRecorder()
    var handlers = recorder.handlers
    let contacts = Locked<[Double?]>([])
    handlers.farewell = { seconds in
      contacts.withLock { $0.append(seconds) }
      return []
    }
    let session = try MQTTSession(configuration: settings, outbound: store, handlers: handlers)
    try session.start()
    let live = Locked(true)
    let talker = try DedicatedThread.start(name: "live") {
      while live.withLock({ $0 }) {
        session.publishNow(MQTTMessage(topic: "live", text: "x"))
        usleep(5000)
      }
    }
    try await eventually { recorder.states.count >= 2 }
    store.append(MQTTMessage(topic: "data", text: "can wait", qos: .atLeastOnce))
    session.scheduleSend()
    try await eventually { recorder.states.count >= 6 && store.isEmpty }
    live.withLock { $0 = false }
    talker.join()
    session.stop()
    #expect(session.statistics.droppedNow > 0 && session.statistics.sentNow > 0)
    #expect(contacts.withLock { $0 }.allSatisfy { ($0.map { (0...1).contains($0) }) == true })
  }

  @Test(.timeLimit(.minutes(6)))
  func queuedCommandsArriveInTheNextBurst() async throws {
    let broker = try BrokerFixture()
    var settings = configuration(broker, "sleeper")
    settings.linkPolicy = .bursts(linger: 0.3)
    settings.cleanStart = false
    settings.sessionExpiryInterval = 3600
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: settings, subscriptions: [MQTTSubscription("command/#")], handlers: recorder.handlers)
    try session.start()
    try await eventually { recorder.states.count == 2 }
    let sender = try MQTTSession(
      configuration: configuration(broker, "sender"), handlers: MQTTSession.Handlers())
    try sender.start()
    try await eventually { sender.statistics.connections == 1 }
    #expect(sender.stop(final: [MQTTMessage(topic: "command/locate", text: "now", qos: .atLeastOnce)]))
    session.wakeUp()
    try await eventually { recorder.payloads == ["now"] }
    session.stop()
  }
}
