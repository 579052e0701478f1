import Fleet
import MQTT
import Platform
import TestSupport
import Testing

/// `FleetSubscriber` as a sequence of batches, with a real mosquitto.
@Suite struct FleetSubscriberTests {
  private func subscriber(
    _ broker: BrokerFixture, _ change: (inout SubscriberSession) -> Void = { _ in }, version311: Bool = false,
    connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
  ) throws -> FleetSubscriber {
    var options = MQTTConfiguration.consumer(of: BrokerAddress(host: "127.0.0.1", port: broker.port))
    if version311 { options.protocolVersion = .v311 }
    var session = SubscriberSession(clientID: "backend")
    change(&session)
    return try FleetSubscriber(
      broker: options, filters: ["odograph/v1/#"], session: session, connection: connection)
  }

  /// Reads batches until `count` messages have arrived; acknowledges them by default.
  private func take(
    _ count: Int, from fleet: FleetSubscriber, acknowledging: Bool = true
  ) async throws -> [MQTTMessage] {
    var messages: [MQTTMessage] = []
    for try await batch in fleet {
      messages += batch.messages
      if acknowledging { batch.acknowledge() }
      if messages.count >= count { break }
    }
    return messages
  }

  @Test(.timeLimit(.minutes(6)), arguments: [false, true])
  func unacknowledgedMessagesAreRedelivered(version311: Bool) async throws {
    let broker = try BrokerFixture()
    let load = FleetLoad(vehicles: 3)
    // The session is created before the first message is published.
    let first = try subscriber(broker, version311: version311)
    async let received = take(30, from: first, acknowledging: false)
    try await broker.waitForLog("Sending SUBACK to backend")
    try load.start(configuration(broker, "load"))
    load.publish(30)
    #expect(try await received.count == 30)
    await first.leave(drain: 0)

    let second = try subscriber(broker, version311: version311)
    #expect(try await take(30, from: second).count == 30)
    #expect(await second.leave())

    load.publish(3)
    let third = try subscriber(broker, version311: version311)
    let last = try await take(3, from: third).map { String(decoding: $0.payload.suffix(30), as: UTF8.self) }
    #expect(last.count == 3, "\(last)")
    #expect(await third.leave())
  }

  /// While the consumer is slow, the connection stays open, and at most `receiveMaximum` messages are accepted.
  @Test(.timeLimit(.minutes(6))) func slowConsumerLimitsTheBroker() async throws {
    let broker = try BrokerFixture()
    let fleet = try subscriber(broker) { $0.receiveMaximum = 100 }
    let load = FleetLoad(vehicles: 1)
    var iterator = fleet.makeAsyncIterator()
    async let starting: Void = { try await broker.waitForLog("Sending SUBACK to backend") }()
    try load.start(configuration(broker, "load"))
    try fleet.start()
    try await starting
    load.publish(1000)
    let first = try #require(try await iterator.next())
    var messages = first.messages
    try await eventually { load.isSettled }
    // At most `receiveMaximum` messages are in flight while the first batch is unacknowledged.
    #expect(messages.count <= 100)
    first.acknowledge()
    while messages.count < 1000 {
      let batch = try #require(try await iterator.next())
      messages += batch.messages
      batch.acknowledge()
    }
    #expect(messages.count == 1000)
    let numbers = messages.map { String(decoding: $0.payload, as: UTF8.self) }
    #expect(Set(numbers).count == 1000)
    #expect(await fleet.leave())
    try await broker.waitForLog("Client backend disconnected")
    #expect(broker.logCount("New client connected") == 2)
  }

  /// The broker closes a silent connection after 1.5 keepalive intervals. Pings continue while a batch is held.
  @Test(.timeLimit(.minutes(6))) func heldBatchDoesNotStopPings() async throws {
    let broker = try BrokerFixture()
    let pings = Locked(0)
    var settings = configuration(broker, "held")
    settings.keepAlive = 5
    settings.cleanStart = false
    settings.sessionExpiryInterval = 60
    let batches = Locked<[MQTTMessage]>([])
    let session = try MQTTSession(
      configuration: settings, subscriptions: [MQTTSubscription("a")],
      handlers: .init(
        received: { batch in
          batches.withLock { $0 += batch }
          return .held(1)
        }, subscriptionAnswered: { _, _ in pings.withLock { $0 += 1 } }))
    try session.start()
    try await eventually { pings.withLock { $0 } == 1 }
    try await publish(broker, "a", "x")
    try await eventually { batches.withLock { $0.count } == 1 }
    // Six pings at a third of the keepalive exceed the broker's timeout.
    try await broker.waitForLog("Received PINGREQ from held", times: 6)
    #expect(broker.logCount("Received PUBACK from held") == 0)
    #expect(broker.logCount("held has exceeded timeout") == 0)
    session.settle(through: 1)
    try await broker.waitForLog("Received PUBACK from held")
    #expect(session.stop())
    #expect(batches.withLock { $0.count } == 1)
  }

  @Test(.timeLimit(.minutes(6))) func duplicatesAreOmitted() async throws {
    let broker = try BrokerFixture()
    let fleet = try subscriber(broker)
    async let received = take(3, from: fleet)
    try await broker.waitForLog("Sending SUBACK to backend")
    let topic = "odograph/v1/demo/van/motion"
    for seq in [1, 2, 1, 2, 3] { try await publish(broker, topic, #"{"epoch":"e","seq":\#(seq)}"#) }
    #expect(
      try await received.map { String(decoding: $0.payload, as: UTF8.self) }
        == (1...3).map { #"{"epoch":"e","seq":\#($0)}"# })
    #expect(await fleet.leave())
  }

  @Test(.timeLimit(.minutes(6))) func unreachableBrokerIsAnError() async throws {
    let port: Int = try FreePort.next()
    let options = MQTTConfiguration.consumer(of: BrokerAddress(host: "127.0.0.1", port: port))
    let fleet = try FleetSubscriber(broker: options, filters: ["#"], session: SubscriberSession())
    await #expect { for try await _ in fleet {} } throws: { ($0 as? FleetError)?.kind == .unavailable }
    await fleet.leave(drain: 0)
  }

  @Test func groupNamesAreValidated() throws {
    let options = MQTTConfiguration.consumer(of: .local)
    for name in ["", "a/b", "a+", "#"] {
      #expect(throws: FleetError.self) {
        try FleetSubscriber(broker: options, filters: ["#"], session: SubscriberSession(share: name))
      }
    }
  }
}
