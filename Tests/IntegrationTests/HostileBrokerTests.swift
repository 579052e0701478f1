import MQTT
import Platform
import TestSupport
import Testing

/// Brokers that refuse connections, stop answering or violate the protocol: the session reports the fault once, and reconnects when the
/// broker works again.
@Suite(.serialized) struct HostileBrokerTests {
  /// Each CONNACK reason code (MQTT 5, table 3-1).
  static let refusals: [UInt8] = [
    0x80, 0x81, 0x82, 0x83, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B,
    0x9C,
    0x9D, 0x9F,
  ]

  @Test(.timeLimit(.minutes(6)), arguments: refusals)
  func refusalIsReportedOnceAndRetried(reason: UInt8) async throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      if number < 3 { return connection.sendConnectAnswer(reason) }
      connection.sendConnectAnswer(0)
      connection.waitForEnd()
    }
    let states = try await statesUntilConnected(broker)
    #expect(states.count == 2, "\(states)")
    guard case .disconnected(let end, let retry)? = states.first else {
      Issue.record("\(states)")
      return
    }
    #expect(end.cause == .refused(MQTTReasonCode(rawValue: reason), nil))
    #expect(retry != nil)
  }

  @Test(.timeLimit(.minutes(6)), arguments: [UInt8(1), 2, 3, 4, 5])
  func refusalsOfMQTT311AreMapped(code: UInt8) async throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      if number < 2 { return connection.sendConnectAnswer(code, properties: nil) }
      connection.sendConnectAnswer(0, properties: nil)
      connection.waitForEnd()
    }
    var settings = fakeConfiguration(broker)
    settings.protocolVersion = .v311
    let states = try await statesUntilConnected(broker, settings)
    guard case .disconnected(let end, _)? = states.first, case .refused(let reason, _) = end.cause else {
      Issue.record("\(states)")
      return
    }
    #expect([1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87][code] == reason.rawValue)
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      [0x20, 3, 0, 0x84, 0] as [UInt8],  // MQTT 5 broker that rejects version 5
      [0x20, 2, 0, 1],  // MQTT 3.1.1 broker
    ])
  func fallsBackTo311IfMQTT5IsRefused(answer: [UInt8]) async throws {
    let broker = try FakeBroker { connection, _ in
      guard let packet = connection.read() else { return }
      if packet.protocolLevel == 5 { return connection.send(answer) }
      connection.sendConnectAnswer(0, properties: nil)
      connection.waitForEnd()
    }
    let states = try await statesUntilConnected(broker)
    guard case .connected(let properties)? = states.last else {
      Issue.record("\(states)")
      return
    }
    #expect(properties.protocolLevel == 4)
  }

  @Test(.timeLimit(.minutes(6)))
  func fallsBackTo311IfTheBrokerCloses() async throws {
    let broker = try FakeBroker { connection, _ in
      guard let packet = connection.read(), packet.protocolLevel == 4 else { return }
      connection.sendConnectAnswer(0, properties: nil)
      connection.waitForEnd()
    }
    let states = try await statesUntilConnected(broker)
    guard case .connected(let properties)? = states.last else {
      Issue.record("\(states)")
      return
    }
    #expect(properties.protocolLevel == 4)
  }

  /// Behaviour of the amqtt broker.
  @Test(.timeLimit(.minutes(6)), arguments: [true, false])
  func fallsBackTo311IfTheBrokerIsSilent(isProbe: Bool) async throws {
    let broker = try FakeBroker { connection, _ in
      guard let packet = connection.read() else { return }
      if packet.protocolLevel == 4 { connection.sendConnectAnswer(0, properties: nil) }
      connection.waitForEnd()
    }
    var settings = fakeConfiguration(broker)
    settings.connectTimeout = 20
    if isProbe {
      let probed = settings
      let findings = try await Task.detached { try BrokerProbe.run(probed) }.value
      guard case .accepting(let properties)? = findings.first else {
        Issue.record("\(findings)")
        return
      }
      #expect(properties.protocolLevel == 4)
      return
    }
    let states = try await statesUntilConnected(broker, settings)
    guard case .connected(let properties)? = states.last, case .disconnected(let end, _)? = states.first
    else {
      Issue.record("\(states)")
      return
    }
    #expect(properties.protocolLevel == 4)
    #expect(end.cause == .timedOut(seconds: 5))
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      [], [0x20], [0x20, 3, 0], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 5, 0, 1, 0x61, 0, 0],
      [0x00, 0x00],
      [0x20, 0xFF, 0xFF, 0xFF, 0x7F], [0x20, 6, 0, 0, 3, 0x21, 0, 0],
      [0x48, 0x54, 0x54, 0x50, 0x2F, 0x31, 0x2E, 0x31, 0x20, 0x34, 0x30, 0x30, 0x0D, 0x0A],
    ] as [[UInt8]])
  func reconnectsAfterMalformedAnswers(answer: [UInt8]) async throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      if number < 2 { return connection.send(answer) }
      connection.sendConnectAnswer(0)
      connection.waitForEnd()
    }
    var settings = fakeConfiguration(broker)
    settings.protocolVersion = .v5
    let states = try await statesUntilConnected(broker, settings)
    #expect(states.count >= 2, "\(states)")
  }

  @Test(.timeLimit(.minutes(6)))
  func silentServerTimesOut() async throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      if number > 0 { connection.sendConnectAnswer(0) }
      connection.waitForEnd()
    }
    var settings = fakeConfiguration(broker)
    settings.connectTimeout = 1
    let states = try await statesUntilConnected(broker, settings)
    guard case .disconnected(let end, _)? = states.first else {
      Issue.record("\(states)")
      return
    }
    #expect(end.cause == .timedOut(seconds: 1))
    #expect(end.phase == .connect)
  }

  @Test(.timeLimit(.minutes(6)))
  func stopCancelsAPendingConnection() async throws {
    let broker = try FakeBroker { connection, _ in connection.waitForEnd() }
    let session = try MQTTSession(configuration: fakeConfiguration(broker), handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { broker.connectionCount == 1 }
    session.stop(drain: 30)
    #expect(session.statistics.connections == 0)
  }

  @Test(.timeLimit(.minutes(6)))
  func receiveMaximumOfOneIsRespected() async throws {
    let most = Locked((now: 0, most: 0))
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0, properties: [0x21, 0, 1])
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        // A client that ignores the limit would have sent the next publish by now.
        #expect(!connection.hasMore(milliseconds: 20))
        most.withLock { $0.now += 1 }
        connection.acknowledge(packet)
      }
    }
    let store = MemoryOutbox()
    for index in 0..<20 { store.append(MQTTMessage(topic: "t", text: "\(index)", qos: .atLeastOnce)) }
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    #expect(most.withLock { $0.now } == 20)
    #expect(session.stop())
  }

  @Test(.timeLimit(.minutes(6)))
  func oversizedMessagesBecomeDeadLetters() async throws {
    let seen = Locked([String]())
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0, properties: [0x27, 0, 0, 0, 40])
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        #expect(packet.body.count + 2 <= 40)
        seen.withLock { $0.append(packet.payload()) }
        connection.acknowledge(packet)
      }
    }
    let store = MemoryOutbox()
    // Fixed header, topic, packet identifier and property length add 8 bytes: a payload of 32 bytes fills a packet of 40 bytes.
    let sizes = [5, 31, 32, 33, 34, 100, 6]
    for size in sizes {
      store.append(MQTTMessage(topic: "t", text: String(repeating: "x", count: size), qos: .atLeastOnce))
    }
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    #expect(seen.withLock { $0.map(\.count) } == [5, 31, 32, 6])
    #expect(store.rejected.map(\.reason) == [.packetTooLarge, .packetTooLarge, .packetTooLarge])
    #expect(session.stop())
  }

  /// Each PUBACK reason code (MQTT 5, table 3-4): accepted, dead letter, or retried.
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      (0x00, true), (0x10, true), (0x87, false), (0x90, false), (0x99, false), (0x95, false), (0x97, true),
      (0x91, true), (0x80, true), (0x83, true),
    ] as [(UInt8, Bool)])
  func eachAcknowledgementReasonIsHonoured(reason: UInt8, isTaken: Bool) async throws {
    let answers = Locked(0)
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        let count = answers.withLock { count in
          defer { if packet.topic == "odd" { count += 1 } }
          return count
        }
        connection.acknowledge(packet, reason: packet.topic == "odd" && count == 0 ? reason : 0)
      }
    }
    let store = MemoryOutbox()
    for topic in ["a", "odd", "b"] { store.append(MQTTMessage(topic: topic, text: "x", qos: .atLeastOnce)) }
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    #expect(store.rejected.map(\.reason.rawValue) == (isTaken ? [] : [reason]))
    #expect(session.stop())
  }

  /// Each DISCONNECT reason code that a server may send (MQTT 5, table 3-13).
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98,
      0x99,
      0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2,
    ] as [UInt8])
  func eachDisconnectReasonIsReported(reason: UInt8) async throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      if number == 0 { connection.send([0xE0, 2, reason, 0]) }
      while let packet = connection.read() {
        if packet.type == 3 { connection.acknowledge(packet) }
      }
    }
    let store = MemoryOutbox()
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: recorder.handlers)
    try session.start()
    try await eventually { session.statistics.connections == 2 }
    store.append(MQTTMessage(topic: "t", text: "x", qos: .atLeastOnce))
    session.wakeUp()
    try await eventually { store.isEmpty }
    let causes = recorder.states.compactMap { state -> MQTTDisconnection.Cause? in
      if case .disconnected(let end, _) = state { end.cause } else { nil }
    }
    #expect(causes == [.disconnectedByServer(MQTTReasonCode(rawValue: reason))])
    #expect(session.stop())
  }

  @Test(.timeLimit(.minutes(6)))
  func recordThatCausesADisconnectBecomesADeadLetter() async throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        if packet.payload() == "poison" { return connection.send([0xE0, 2, 0x99, 0]) }
        connection.acknowledge(packet)
      }
    }
    let store = MemoryOutbox()
    for text in ["poison", "b", "c", "poison", "d"] {
      store.append(MQTTMessage(topic: "t", text: text, qos: .atLeastOnce))
    }
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    #expect(store.rejected.map(\.token) == [1, 4])
    #expect(session.stop())
  }

  /// Each connection begins with a record that the broker acknowledges. The harmful record is found by three connections, and
  /// rejected after ten closes without a reason, or two with a reason.
  @Test(.timeLimit(.minutes(6)), arguments: [(nil, 13), (0x95, 5)] as [(UInt8?, Int)])
  func harmfulRecordBehindAcknowledgedOnesBecomesADeadLetter(reason: UInt8?, connections: Int) async throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        if packet.payload() == "poison" {
          if let reason { connection.send([0xE0, 2, reason, 0]) }
          return
        }
        connection.acknowledge(packet)
      }
    }
    let store = MemoryOutbox(greeting: MQTTMessage(topic: "t", text: "status", qos: .atLeastOnce))
    for text in ["status", "poison", "b", "c"] {
      store.append(MQTTMessage(topic: "t", text: text, qos: .atLeastOnce))
    }
    let session = try MQTTSession(
      configuration: fakeConfiguration(broker), outbound: store, handlers: MQTTSession.Handlers())
    try session.start()
    try await eventually { store.isEmpty }
    #expect(store.rejected.map(\.token) == [2])
    #expect(store.rejected.first?.reason == reason.map(MQTTReasonCode.init(rawValue:)) ?? .unspecifiedError)
    #expect(broker.connectionCount == connections + 1)
    #expect(session.stop())
  }

  /// A broker that answers CONNECT, and neither PUBLISH (3) nor SUBSCRIBE (8).
  @Test(.timeLimit(.minutes(6)), arguments: [UInt8(3), 8])
  func brokerWithoutAcknowledgementsIsReplaced(ignored: UInt8) async throws {
    let script: @Sendable (FakeBrokerConnection, UInt8?) -> Void = { connection, ignored in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        switch packet.type {
        case ignored: break
        case 3: connection.acknowledge(packet)
        case 8: connection.send([0x90, 4] + packet.body.prefix(2) + [0, 1])
        case 10: connection.send([0xB0, 4] + packet.body.prefix(2) + [0, 0])
        default: break
        }
      }
    }
    let silent = try FakeBroker { connection, _ in script(connection, ignored) }
    let other = try FakeBroker { connection, _ in script(connection, nil) }
    var settings = fakeConfiguration(silent)
    settings.brokers.append(MQTTConfiguration.Broker(host: "127.0.0.1", port: other.port))
    settings.answerTimeout = 1
    // A burst does not last longer either.
    settings.linkPolicy = .bursts(linger: 3600)
    let store = MemoryOutbox()
    store.append(MQTTMessage(topic: "t", text: "x", qos: .atLeastOnce))
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: settings, subscriptions: [MQTTSubscription("command")], outbound: store,
      handlers: recorder.handlers)
    try session.start()
    try await eventually { store.isEmpty && recorder.answers["command"] == .grantedQoS1 }
    let connected = recorder.states.compactMap { state -> Int? in
      if case .connected(let properties) = state { properties.broker.port } else { nil }
    }
    let causes = recorder.states.compactMap { state -> MQTTDisconnection.Cause? in
      if case .disconnected(let end, _) = state { end.cause } else { nil }
    }
    #expect(connected == [silent.port, other.port])
    #expect(causes == [.unanswered(seconds: 1)])
    #expect(session.stop())
  }

  /// After a refusal for a quota, one record is sent at a time, the burst ends, and the state is reported once.
  @Test(.timeLimit(.minutes(6)))
  func exceededQuotaEndsTheBurst() async throws {
    let (isFull, counts) = (Locked(true), Locked<[Int: Int]>([:]))
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0)
      while let packet = connection.read() {
        guard packet.type == 3 else { continue }
        counts.withLock { $0[number, default: 0] += 1 }
        connection.acknowledge(packet, reason: isFull.withLock { $0 } ? 0x97 : 0)
      }
    }
    var settings = fakeConfiguration(broker)
    // Shorter than the first pause.
    settings.linkPolicy = .bursts(linger: 0.1)
    let store = MemoryOutbox()
    for index in 0..<50 { store.append(MQTTMessage(topic: "t", text: "\(index)", qos: .atLeastOnce)) }
    let pauses = Locked<[MQTTReasonCode?]>([])
    let recorder = SessionRecorder()
    var handlers = recorder.handlers
    handlers.publishingPaused = { reason in pauses.withLock { $0.append(reason) } }
    let session = try MQTTSession(configuration: settings, outbound: store, handlers: handlers)
    try session.start()
    try await eventually { recorder.states.count == 2 }
    session.wakeUp()
    try await eventually { recorder.states.count == 4 }
    #expect(!store.isEmpty)
    isFull.withLock { $0 = false }
    session.wakeUp()
    try await eventually { recorder.states.count == 6 }
    #expect(store.isEmpty && store.rejected.isEmpty)
    let numbers = counts.withLock { $0 }
    #expect(numbers[0] ?? 0 >= 50 && numbers[2] == 50, "\(numbers)")
    // The broker may refuse further single records if the link ends late.
    #expect((1...5).contains(numbers[1] ?? 0), "\(numbers)")
    #expect(pauses.withLock { $0 } == [.quotaExceeded, nil])
    #expect(session.stop())
  }

  private func statesUntilConnected(
    _ broker: FakeBroker, _ settings: MQTTConfiguration? = nil
  ) async throws -> [MQTTConnectionState] {
    let recorder = SessionRecorder()
    let session = try MQTTSession(
      configuration: settings ?? fakeConfiguration(broker), handlers: recorder.handlers)
    try session.start()
    // The statistics change before the state is reported.
    try await eventually {
      recorder.states.contains { if case .connected = $0 { true } else { false } }
    }
    let states = recorder.states
    session.stop()
    return states
  }
}

func fakeConfiguration(_ broker: FakeBroker) -> MQTTConfiguration {
  var configuration = MQTTConfiguration(
    brokers: [MQTTConfiguration.Broker(host: "127.0.0.1", port: broker.port)], clientID: "vehicle")
  configuration.backoffBase = 0.02
  configuration.backoffLimit = 0.1
  configuration.connectTimeout = 5
  return configuration
}
