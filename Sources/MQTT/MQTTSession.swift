public import Platform

/// A persistent broker session. It connects and reconnects, publishes a provider's records and delivers
/// received messages until it is stopped.
///
/// One dedicated thread does all I/O and calls all handlers; other methods enqueue a request and return. The
/// invariants:
///
/// - A record of the provider is handed out once per connection and remains the provider's until the broker
///   has acknowledged it. The library's queue never contains the only copy of a durable message.
/// - Messages are delivered in batches, in order of arrival, and acknowledged to the broker only after the
///   handler returned `.kept`. After a crash in between they are delivered again.
/// - After any failure the library's client is destroyed; the next attempt creates a new one.
/// - Waits between attempts have full jitter, so that a fleet does not reconnect simultaneously.
public final class MQTTSession: Sendable {
  /// A handler's answer to a batch.
  public enum BatchOutcome: Sendable {
    /// The batch is stored; the broker may discard it.
    case kept
    /// The batch could not be stored, with the reason. The connection ends without acknowledgement and is
    /// restored after a wait. A broker with a persistent session then sends the messages again.
    case notKept(String)
    /// The batch is not stored yet. Until `settle(through:)` is called with this number, which must increase
    /// from batch to batch, nothing is acknowledged and nothing else is sent; only the keep-alive continues.
    /// Further batches may arrive meanwhile, within the configuration's `heldPortion`, `heldMessages` and
    /// `heldBytes`.
    case held(UInt64)
  }

  /// Callbacks of the session, always on its own thread. A blocking handler delays the connection; it must
  /// return well within the keep-alive time.
  public struct Handlers: Sendable {
    /// Reports connects and disconnects, once per change.
    public var connectionChanged: @Sendable (MQTTConnectionState) -> Void
    /// Receives a batch of messages, oldest first; never empty.
    public var received: @Sendable ([MQTTMessage]) -> BatchOutcome
    /// Reports the broker's answer to a subscription: the granted QoS, or the reason for a refusal.
    public var subscriptionAnswered: @Sendable (_ filter: String, _ reason: MQTTReasonCode) -> Void
    /// Reports that the broker does not accept messages at present, with its reason, and with nil that it
    /// accepts them again. Records are retried after pauses.
    public var publishingPaused: @Sendable (_ reason: MQTTReasonCode?) -> Void
    /// Receives a warning for the user, as a sentence; the connection continues.
    public var warned: @Sendable (String) -> Void
    /// Returns the messages to publish before the link is closed at the end of a burst, such as the status
    /// `asleep`. The argument is the time in s to the next burst; nil if only `wakeUp` starts one.
    public var farewell: @Sendable (_ secondsToNextBurst: Double?) -> [MQTTMessage]
    /// Returns the will for the next connection; nil uses the configuration's.
    public var will: (@Sendable () -> MQTTMessage?)?

    public init(
      connectionChanged: @escaping @Sendable (MQTTConnectionState) -> Void = { _ in },
      received: @escaping @Sendable ([MQTTMessage]) -> BatchOutcome = { _ in .kept },
      subscriptionAnswered: @escaping @Sendable (String, MQTTReasonCode) -> Void = { _, _ in },
      publishingPaused: @escaping @Sendable (MQTTReasonCode?) -> Void = { _ in },
      warned: @escaping @Sendable (String) -> Void = { _ in },
      farewell: @escaping @Sendable (Double?) -> [MQTTMessage] = { _ in [] },
      will: (@Sendable () -> MQTTMessage?)? = nil
    ) {
      self.connectionChanged = connectionChanged
      self.received = received
      self.subscriptionAnswered = subscriptionAnswered
      self.publishingPaused = publishingPaused
      self.warned = warned
      self.farewell = farewell
      self.will = will
    }
  }

  let mailbox: Mailbox
  private let configuration: MQTTConfiguration
  private let subscriptions: [MQTTSubscription]
  private let provider: (any OutboundProvider)?
  private let handlers: Handlers
  private let thread = Locked<DedicatedThread?>(nil)

  /// - Parameters:
  ///   - subscriptions: subscriptions, requested at every connection.
  ///   - outbound: provider of durable messages; nil for a session that only receives.
  /// - Throws: `OperationError` for an invalid setting or filter. Failures of network and broker are reported
  ///   as `MQTTDisconnection`.
  public init(
    configuration: MQTTConfiguration, subscriptions: [MQTTSubscription] = [],
    outbound: (any OutboundProvider)? = nil, handlers: Handlers
  ) throws(OperationError) {
    try configuration.validate()
    for subscription in subscriptions { try Self.check(subscription.filter) }
    self.configuration = configuration
    self.subscriptions = subscriptions
    self.provider = outbound
    self.handlers = handlers
    mailbox = try Mailbox()
  }

  /// Starts the session's thread and the first attempt. Further calls have no effect.
  /// - Throws: `OperationError` if no thread can be created.
  public func start() throws(OperationError) {
    let (mailbox, configuration, subscriptions) = (mailbox, configuration, subscriptions)
    let (provider, handlers) = (provider, handlers)
    try thread.withLock { (thread) throws(OperationError) in
      guard thread == nil else { return }
      do throws(SystemError) {
        thread = try DedicatedThread.startWatched(
          name: "mqtt", call: { mailbox.wake.signal() },
          {
            heartbeat in
            let loop = SessionLoop(
              configuration: configuration, subscriptions: subscriptions, provider: provider,
              handlers: handlers, mailbox: mailbox, heartbeat: heartbeat)
            loop.run()
            mailbox.finished.signal()
          })
      } catch {
        throw OperationError("MQTT", operation: "start", object: "session thread", cause: error.description)
      }
    }
  }

  /// Sends a message of QoS 0 immediately or drops it, for values without later use. Returns false if it was
  /// dropped for lack of a connection; drops are counted in `statistics`.
  @discardableResult
  public func publishNow(_ message: MQTTMessage) -> Bool { mailbox.publishNow(message) }

  /// Notifies the session that the provider has new records. Between bursts this opens the link.
  public func wakeUp() { mailbox.change { $0.providerHasMore = true } }

  /// Notifies the session that the provider has new records of low urgency. They are sent if a link is open,
  /// but do not open one.
  public func scheduleSend() { mailbox.change { $0.providerMayHaveMore = true } }

  /// Marks all batches up to this number, which were answered with `.held`, as stored.
  public func settle(through number: UInt64) {
    mailbox.change { $0.settled = max($0.settled ?? 0, number) }
  }

  /// Changes the link policy.
  /// - Parameter keepAlive: keep-alive time in s, 5...65,535, of future connections; nil leaves it unchanged.
  public func setLinkPolicy(_ policy: MQTTLinkPolicy, keepAlive: Int? = nil) {
    mailbox.change {
      $0.linkPolicy = policy
      $0.keepAlive = keepAlive.map { min(max($0, 5), 65_535) } ?? $0.keepAlive
    }
  }

  /// Reconnects after pending messages have arrived, for example with a changed keep-alive time. Renewed certificates and secrets are detected without
  /// this call within two keep-alive times.
  public func renewConnection() { mailbox.change { $0.renew = true } }

  /// Changes the configuration. The current connection ends regularly, with `final` as its last messages, and
  /// the next one uses the new settings. Before a change of brokers the session waits as after a lost
  /// connection. The provider's records are not lost.
  /// - Throws: `OperationError` for an invalid setting; then nothing is changed.
  public func reconnect(_ configuration: MQTTConfiguration, final: [MQTTMessage] = []) throws(OperationError)
  {
    try configuration.validate()
    mailbox.change { $0.configuration = (configuration, final) }
  }

  /// Adds a subscription, or replaces the subscription with the same filter.
  /// - Throws: `OperationError` for an invalid filter.
  public func subscribe(_ subscription: MQTTSubscription) throws(OperationError) {
    try Self.check(subscription.filter)
    mailbox.change { $0.subscriptionChanges.append(.subscribe(subscription)) }
  }

  /// Removes a subscription.
  public func unsubscribe(_ filter: String) {
    mailbox.change { $0.subscriptionChanges.append(.unsubscribe(filter)) }
  }

  /// Counts of sent, received and dropped messages since the start.
  public var statistics: MQTTStatistics { mailbox.statistics }

  /// Stops the session and waits for its end. If connected, it accepts no more records, sends `final`, waits
  /// until these and all pending records are acknowledged, and sends DISCONNECT, so that the broker discards
  /// the will. Otherwise it ends immediately. Further calls have no effect.
  /// - Parameters:
  ///   - final: the last messages, such as the status `offline`; at QoS 1, so that their arrival is
  ///     confirmed.
  ///   - drain: time in s after which the session ends regardless.
  ///   - leavesWill: true to end the connection without DISCONNECT, so that the broker publishes the will.
  /// - Returns: true if all pending messages were acknowledged.
  @discardableResult
  public func stop(final: [MQTTMessage] = [], drain: Double = 5, leavesWill: Bool = false) -> Bool {
    guard let thread = thread.withLock({ $0 }) else { return true }
    mailbox.change {
      if $0.stop == nil { $0.stop = StopRequest(final: final, drain: drain, leavesWill: leavesWill) }
    }
    // A name lookup cannot be interrupted. If one is in progress, the thread ends after it, and this call
    // does not wait for that.
    guard mailbox.finished.wait(seconds: drain + 2) else { return false }
    mailbox.finished.signal()
    if mailbox.claimJoin() { thread.join() }
    return mailbox.leftCleanly
  }

  private static func check(_ filter: String) throws(OperationError) {
    guard MQTTTopic.isValidFilter(filter) else {
      throw OperationError(
        "MQTT", operation: "subscribe to", object: "\"\(filter)\"",
        cause: "a filter must not be empty; + must fill a level, # the last level")
    }
  }
}
