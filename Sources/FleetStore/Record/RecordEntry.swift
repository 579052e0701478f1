package import AMQP
package import Fleet
package import MQTT
internal import Platform

/// The source of a recorder's messages, with the lock on its session name, and a description of what the
/// broker stores after the recorder exits.
package struct RecordEntry: Sendable {
  let source: any RecordSource
  /// The session or queue that stores further messages after the recorder exits; nil if there is none.
  private var keeper: BrokerStorage?
  /// The lock on the session name: `slot` for an automatic name, `mark` for one given with `--client-id`.
  private var slot: SessionSlot?
  private var mark: SessionMark?

  private enum BrokerStorage: Sendable {
    case session(name: String, expiry: UInt32, FleetSubscriber)
    case queue(String)
  }

  private struct WeakSubscriber {
    weak var subscriber: FleetSubscriber?
  }

  /// A sentence for the user about what the broker continues to store; nil for nothing.
  var left: String? {
    switch keeper {
    case .session(let name, let expiry, let subscriber):
      guard subscriber.protocolLevel ?? 5 >= 5 else { return Self.left(session: name, seconds: nil) }
      return expiry > 0 ? Self.left(session: name, seconds: expiry) : nil
    case .queue(let name):
      return "the cluster queues further messages in \(name); "
        + "run the same command to resume, or add --forget to delete it"
    case nil: return nil
    }
  }

  /// Returns the sentence about a session.
  ///
  /// - Parameters:
  ///   - name: the session's name.
  ///   - seconds: the session's expiry in s; nil under MQTT 3.1.1, where only the broker knows it.
  static func left(session name: String, seconds: UInt32?) -> String {
    let time =
      seconds.map { "for \($0) s" } ?? "for as long as the broker is configured to (MQTT 3.1.1 has no expiry)"
    return "the broker queues further messages for session \(name) \(time); "
      + "run the same command to resume, or add --forget to delete it"
  }

  private static let otherClient =
    "the broker closes the connection repeatedly: another client may have this name; give each recorder its own "
    + "--client-id"

  static let unusedExpiryNotice =
    "--session-expiry has no effect with MQTT 3.1.1: the broker decides how long it keeps the session without "
    + "a recorder; record --forget deletes it"

  /// The default expiry in s of a session after its recorder exits. It also applies to shared subscriptions:
  /// mosquitto does not redeliver a member's unacknowledged messages to other members (its issue 2662). They
  /// are lost when the member's session ends.
  package static let usualSessionExpiry: UInt32 = 86_400

  /// Creates a source with its own MQTT session or a shared subscription.
  /// - Parameters:
  ///   - waits: true to wait for a broker that is unavailable at the start.
  ///   - report: called with notices about the session.
  ///   - connection: called with changes of the broker connection.
  /// - Throws: `FleetError` if all session names are in use, and for invalid settings.
  package init(
    _ plan: RecordPlan, _ broker: MQTTConfiguration, waits: Bool = false,
    report: @escaping @Sendable (RecordNotice) -> Void,
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) {
    slot = plan.clientID == nil ? try SessionSlot.free(for: plan.identity(broker)) : nil
    mark = plan.clientID.map { SessionMark(of: $0, at: broker.brokerName) }
    var session = SubscriberSession(clientID: plan.clientID ?? slot?.clientID, share: plan.share)
    session.expiry = plan.sessionExpiry ?? Self.usualSessionExpiry
    session.qos = plan.qos
    session.receiveMaximum = UInt16(clamping: max(1, 2 * plan.commitCount))
    session.portion = plan.commitCount
    session.bufferedMessages = plan.bufferedMessages
    // The subscriber need not remove duplicates or restore the order, because the store detects duplicates.
    session.isOnceInOrder = false
    session.endsUnreached = !waits
    let owner = Locked(WeakSubscriber())
    // The notice about an expiry without effect is printed once.
    let hasUnusedExpiry = Locked(plan.sessionExpiry != nil)
    let ends = Locked(SilentCloses())
    let subscriber = try FleetSubscriber(broker: broker, filters: plan.filters, session: session) { change in
      connection(change)
      if case .disconnected(let reason) = change, ends.withLock({ $0.isFrequent(reason, at: .now) }) {
        report(RecordNotice(Self.otherClient))
      }
      guard change == .connected, owner.withLock({ $0.subscriber })?.protocolLevel == 4 else { return }
      let isNews = hasUnusedExpiry.withLock { hasUnusedExpiry in
        defer { hasUnusedExpiry = false }
        return hasUnusedExpiry
      }
      if isNews { report(RecordNotice(Self.unusedExpiryNotice)) }
    }
    owner.withLock { $0.subscriber = subscriber }
    source = subscriber
    if let earlier = mark?.replaceFilters(with: plan.filters) {
      try subscriber.unsubscribe(earlier.former, session: session)
      if !earlier.last.isEmpty {
        report(
          RecordNotice(
            "session \(session.clientID ?? "") had other topics: unsubscribes \(earlier.last.joined(separator: ", "))",
            isRoutine: true))
      }
    }
    guard let name = session.clientID, session.share == nil else { return }
    keeper = .session(name: name, expiry: session.expiry, subscriber)
  }

  /// Creates a source from a queue of a cluster.
  /// - Parameter connection: called with changes of the connection, on the consumer's thread.
  /// - Throws: `FleetError` for invalid settings.
  package init(
    _ queue: AMQPConfiguration, connection: @escaping @Sendable (AMQPConsumerState) -> Void
  ) throws(FleetError) {
    source = try QueueSource(queue, connection: connection)
    keeper = .queue(queue.queue)
  }
}
