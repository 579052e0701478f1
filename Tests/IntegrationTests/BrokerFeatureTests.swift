import Glibc
import MQTT
import Platform
import TestSupport
import Testing

/// MQTT features of a session with a real broker.
@Suite(.serialized) struct BrokerFeatureTests {
  let broker: BrokerFixture

  init() throws { broker = try BrokerFixture() }

  @Test(.timeLimit(.minutes(6)))
  func propertiesAndRetainArriveUnchanged() async throws {
    let sent = MQTTMessage(
      topic: "a/b", payload: [0, 1, 255], qos: .atLeastOnce, retain: true,
      properties: MQTTMessageProperties(
        contentType: "application/json", messageExpiryInterval: 1000, responseTopic: "answer/here",
        correlationData: [9, 0, 7],
        userProperties: [
          .init(key: "k", value: "1"), .init(key: "k", value: "2"), .init(key: "ü", value: "ß"),
        ]))
    let sender = try await connect("sender")
    #expect(sender.session.stop(final: [sent]))
    let listener = try await connect("listener", [MQTTSubscription("a/#")])
    try await eventually { listener.recorder.messages.count == 1 }
    var received = try #require(listener.recorder.messages.first)
    let left = try #require(received.properties.messageExpiryInterval)
    #expect((900...1000).contains(left))
    received.properties.messageExpiryInterval = 1000
    #expect(received == sent)
    listener.session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func sessionWorksWithMQTT311() async throws {
    var settings = configuration(broker, "old")
    settings.protocolVersion = .v311
    settings.will = MQTTMessage(topic: "status", text: "gone", qos: .atLeastOnce)
    let store = MemoryOutbox()
    store.append(
      MQTTMessage(
        topic: "a", text: "x", qos: .atLeastOnce, properties: MQTTMessageProperties(contentType: "text/plain")
      ))
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: settings, subscriptions: [MQTTSubscription("a")], outbound: store,
      handlers: recorder.handlers)
    try session.start()
    try await eventually { store.isEmpty && recorder.payloads == ["x"] }
    guard case .connected(let properties)? = recorder.states.first else {
      Issue.record("\(recorder.states)")
      return
    }
    #expect(properties.protocolLevel == 4)
    #expect(session.stop())
  }

  @Test(.timeLimit(.minutes(6)))
  func sharedSubscriptionLosesNothingWhenAMemberLeaves() async throws {
    let members = [
      try await connect("one", [MQTTSubscription("$share/group/work/#")]),
      try await connect("two", [MQTTSubscription("$share/group/work/#")]),
    ]
    let store = MemoryOutbox()
    let sender = try MQTTSession(
      configuration: configuration(broker, "sender"), outbound: store, handlers: MQTTSession.Handlers())
    try sender.start()
    for index in 0..<500 { store.append(MQTTMessage(topic: "work/x", text: "\(index)", qos: .atLeastOnce)) }
    sender.wakeUp()
    try await eventually { store.isEmpty }
    try await eventually { members.reduce(0) { $0 + $1.recorder.messages.count } == 500 }
    #expect(members.allSatisfy { !$0.recorder.messages.isEmpty })
    #expect(members[0].session.stop())
    for index in 500..<1000 {
      store.append(MQTTMessage(topic: "work/x", text: "\(index)", qos: .atLeastOnce))
    }
    sender.wakeUp()
    try await eventually { members.reduce(0) { $0 + $1.recorder.messages.count } == 1000 }
    #expect(Set(members.flatMap(\.recorder.payloads)).count == 1000)
    members[1].session.stop()
    sender.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func refusedSubscriptionIsReported() async throws {
    let strict = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 8 else { continue }
        let isForbidden = String(decoding: packet.body, as: UTF8.self).contains("forbidden")
        connection.send([0x90, 4, packet.body[0], packet.body[1], 0, isForbidden ? 0x87 : 0x01])
      }
    }
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: fakeConfiguration(strict),
      subscriptions: [MQTTSubscription("allowed/x"), MQTTSubscription("forbidden/x")],
      handlers: recorder.handlers)
    try session.start()
    try await eventually { recorder.answerCount == 2 }
    #expect(recorder.answers["allowed/x"] == .grantedQoS1)
    #expect(recorder.answers["forbidden/x"] == .notAuthorized)
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func subscriptionsChangeWhileConnectedAndSurviveAReconnect() async throws {
    let listener = try await connect("listener", [MQTTSubscription("first")])
    try listener.session.subscribe(MQTTSubscription("second"))
    try await eventually { listener.recorder.answers["second"] != nil }
    listener.session.unsubscribe("first")
    broker.kill()
    try broker.start()
    try await eventually { listener.recorder.answerCount == 3 }
    let sender = try await connect("sender")
    sender.session.publishNow(MQTTMessage(topic: "first", text: "1"))
    sender.session.publishNow(MQTTMessage(topic: "second", text: "2"))
    try await eventually { !listener.recorder.messages.isEmpty }
    #expect(listener.recorder.payloads == ["2"])
    listener.session.stop()
    sender.session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func unsentLiveMessagesAreDroppedAndCounted() async throws {
    let session = try MQTTSession(
      configuration: configuration(broker, "now"), handlers: MQTTSession.Handlers())
    #expect(!session.publishNow(MQTTMessage(topic: "heading", text: "1")))
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    #expect(session.publishNow(MQTTMessage(topic: "heading", text: "2")))
    try await eventually { session.statistics.sentNow == 1 }
    #expect(session.statistics.droppedNow == 1)
    // The frozen broker reads nothing: the socket buffer fills up, and further messages are dropped instead of queued.
    broker.freeze()
    let large = [UInt8](repeating: 0, count: 100_000)
    for _ in 0..<1000 { session.publishNow(MQTTMessage(topic: "heading", payload: large)) }
    try await eventually { session.statistics.droppedNow > 500 }
    broker.thaw()
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func keepAliveDetectsAFrozenBroker() async throws {
    var settings = configuration(broker, "patient")
    settings.keepAlive = 5
    let recorder = SessionRecorder()
    let session = try MQTTSession(configuration: settings, handlers: recorder.handlers)
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    broker.freeze()
    try await eventually { recorder.states.count > 1 }
    broker.thaw()
    guard case .disconnected(let end, _)? = recorder.states.dropFirst().first else {
      Issue.record("\(recorder.states)")
      return
    }
    #expect(end.cause == .keepAliveExpired)
    try await eventually { session.statistics.connections == 2 }
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func idleConnectionOutlastsItsKeepAlive() async throws {
    var settings = configuration(broker, "idle")
    settings.keepAlive = 5
    let recorder = SessionRecorder()
    let session = try MQTTSession(configuration: settings, handlers: recorder.handlers)
    try session.start()
    try await broker.waitForLog("Received PINGREQ from idle", times: 2)
    #expect(recorder.states.count == 1)
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func brokersAreTriedInOrder() async throws {
    var settings = configuration(broker, "chooser")
    settings.brokers.insert(MQTTConfiguration.Broker(host: "127.0.0.1", port: try FreePort.next()), at: 0)
    let recorder = SessionRecorder()
    let session = try MQTTSession(configuration: settings, handlers: recorder.handlers)
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    guard case .disconnected(let end, let retry)? = recorder.states.first else {
      Issue.record("\(recorder.states)")
      return
    }
    #expect(end.broker == settings.brokers[0])
    #expect(end.cause == .unreachable("Connection refused"))
    #expect(retry == 0)
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func connectsToTheSecondAddressOfAName() async throws {
    var settings = configuration(broker, "dual")
    // Resolves to ::1 and 127.0.0.1 on most machines; the broker listens on 127.0.0.1 only.
    settings.brokers = [MQTTConfiguration.Broker(host: "localhost", port: broker.port)]
    let session = try MQTTSession(configuration: settings, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    session.stop()
  }

  @Test(.timeLimit(.minutes(6)))
  func probeReportsTheStateOfEachBroker() async throws {
    let passwords = broker.directory.file("passwords")
    let made = try ChildProcess("mosquitto_passwd", ["-b", "-c", passwords, "vehicle", "secret"])
    #expect(made.waitForExit() == 0)
    let guarded = try BrokerFixture(["allow_anonymous false", "password_file \(passwords)"])
    let silent = try FakeBroker { connection, _ in connection.waitForEnd() }
    var settings = MQTTConfiguration(
      brokers: [
        MQTTConfiguration.Broker(host: "127.0.0.1", port: broker.port),
        MQTTConfiguration.Broker(host: "127.0.0.1", port: guarded.port),
        MQTTConfiguration.Broker(host: "127.0.0.1", port: try FreePort.next()),
        MQTTConfiguration.Broker(host: "127.0.0.1", port: silent.port),
        MQTTConfiguration.Broker(host: "no-such-host.invalid", port: 1883),
      ], clientID: "vehicle")
    settings.userName = "vehicle"
    settings.password = .value("wrong")
    let probe = settings
    let findings = try await Task.detached { try BrokerProbe.run(probe, timeout: 1) }.value
    guard findings.count == 5, case .accepting = findings[0], case .refused(let refusal) = findings[1],
      case .unreachable(let closed) = findings[2], case .unreachable(let mute) = findings[3],
      case .unreachable(let unknown) = findings[4]
    else {
      Issue.record("\(findings)")
      return
    }
    #expect(
      refusal.cause == .refused(.notAuthorized, nil) || refusal.cause == .refused(.badUserNameOrPassword, nil)
    )
    #expect(refusal.remedy != nil)
    #expect(closed.cause == .unreachable("Connection refused"))
    #expect(mute.cause == .timedOut(seconds: 1))
    #expect(unknown.phase == .lookup)
    let file = try broker.directory.write("secret", "secret\n")
    settings.password = .file(file)
    let accepted = settings
    let again = try await Task.detached { try BrokerProbe.run(accepted, timeout: 1) }.value
    guard case .accepting = again[1] else {
      Issue.record("\(again)")
      return
    }
  }

  private func connect(
    _ client: String, _ subscriptions: [MQTTSubscription] = []
  ) async throws -> (session: MQTTSession, recorder: SessionRecorder) {
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: configuration(broker, client), subscriptions: subscriptions, handlers: recorder.handlers)
    try session.start()
    try await eventually {
      session.statistics.connections == 1 && recorder.answerCount == subscriptions.count
    }
    return (session, recorder)
  }
}
