import MQTT
import Platform
import TestSupport
import Testing

/// Records the calls of a session's handlers.
final class SessionRecorder: Sendable {
  struct Contents {
    var states: [MQTTConnectionState] = []
    var messages: [MQTTMessage] = []
    var answers: [String: MQTTReasonCode] = [:]
    var answerCount = 0
  }

  private let contents = Locked(Contents())

  var states: [MQTTConnectionState] { contents.withLock { $0.states } }
  var messages: [MQTTMessage] { contents.withLock { $0.messages } }
  var answers: [String: MQTTReasonCode] { contents.withLock { $0.answers } }

  /// Number of SUBACK results received.
  var answerCount: Int { contents.withLock { $0.answerCount } }
  var payloads: [String] { messages.map { String(decoding: $0.payload, as: UTF8.self) } }

  var handlers: MQTTSession.Handlers {
    MQTTSession.Handlers(
      connectionChanged: { state in self.contents.withLock { $0.states.append(state) } },
      received: { batch in
        self.contents.withLock { $0.messages += batch }
        return .kept
      },
      subscriptionAnswered: { filter, reason in
        self.contents.withLock {
          $0.answers[filter] = reason
          $0.answerCount += 1
        }
      })
  }
}

@Suite struct BrokerSessionTests {
  @Test(.timeLimit(.minutes(6)))
  func messagesArriveInOrder() async throws {
    let broker = try BrokerFixture()
    let recorder = SessionRecorder()
    let listener = try MQTTSession(
      configuration: configuration(broker, "listener"), subscriptions: [MQTTSubscription("a/#")],
      handlers: recorder.handlers)
    try listener.start()
    try await eventually { recorder.answers["a/#"] != nil }
    let store = MemoryOutbox()
    let sender = try MQTTSession(
      configuration: configuration(broker, "sender"), outbound: store, handlers: MQTTSession.Handlers())
    try sender.start()
    for index in 0..<1000 {
      store.append(MQTTMessage(topic: "a/\(index % 7)", text: "message \(index)", qos: .atLeastOnce))
      sender.wakeUp()
    }
    try await eventually { recorder.messages.count == 1000 && store.isEmpty }
    #expect(
      recorder.messages.map { String(decoding: $0.payload, as: UTF8.self) }
        == (0..<1000).map { "message \($0)" })
    #expect(sender.stop(final: [MQTTMessage(topic: "a/end", text: "bye", qos: .atLeastOnce, retain: true)]))
    try await eventually { recorder.messages.last?.topic == "a/end" }
    #expect(listener.stop())
  }
}

func configuration(_ broker: BrokerFixture, _ clientID: String) -> MQTTConfiguration {
  var configuration = MQTTConfiguration(
    brokers: [MQTTConfiguration.Broker(host: "127.0.0.1", port: broker.port)], clientID: clientID)
  configuration.backoffBase = 0.05
  configuration.backoffLimit = 0.5
  return configuration
}
