internal import Platform

/// A standing relation with a broker: connects, reconnects, sends what a provider has, hands over what
/// arrives, until it is stopped.
///
/// One thread of its own does all of it, handlers included; every other call only leaves word there and
/// returns. The invariants:
///
/// - A record of the provider is handed out once per connection and stays the provider's until the broker
///   acknowledged it. Nothing durable ever rests in the library's queue.
/// - Messages are handed over in batches, in order of arrival, and acknowledged to the broker only after the
///   handler returned `.kept`: a crash in between brings them again.
/// - After any failure the library's client is destroyed; the next attempt begins with a new one.
/// - Waits between attempts have full jitter, so that a fleet does not return in step.
public final class MQTTSession: Sendable {
  /// Whether a batch is safe where the handler put it.
  public enum BatchOutcome: Sendable {
    /// It is safe: the broker may forget it.
    case kept
    /// It is not, and why. The connection ends without acknowledging, and is made again after a wait; a
    /// broker that keeps a session for this client sends the messages again.
    case notKept(String)
    /// Not decided yet. Until `settle(through:)` names this number, which has to be above that of the batch before,
    /// nothing is acknowledged and nothing else is sent, but the connection is kept alive; further batches may come
    /// meanwhile, within the configuration's `heldPortion`, `heldMessages` and `heldBytes`.
    case held(UInt64)
  }

  /// What the session calls, always on its own thread. A handler that blocks holds up the connection; it
  /// must be back well within the keep-alive time.
  public struct Handlers: Sendable {
    /// Connected and disconnected, once per change.
    public var connectionChanged: @Sendable (MQTTConnectionState) -> Void
    /// What arrived, oldest first; never empty.
    public var received: @Sendable ([MQTTMessage]) -> BatchOutcome
    /// The broker's answer to a subscription: what it granted, or why it refused.
    public var subscriptionAnswered: @Sendable (_ filter: String, _ reason: MQTTReasonCode) -> Void
    /// Something that a person should know, in a sentence; the connection goes on.
    public var warned: @Sendable (String) -> Void
    /// What is published before the link is closed at the end of a burst, as in `asleep`. It is told the seconds to the
    /// next burst; nil when only `wakeUp` begins one.
    public var farewell: @Sendable (_ secondsToNextBurst: Double?) -> [MQTTMessage]
    /// The will for the connection that is about to be made; nil takes the configuration's.
    public var will: (@Sendable () -> MQTTMessage?)?

    public init(
      connectionChanged: @escaping @Sendable (MQTTConnectionState) -> Void = { _ in },
      received: @escaping @Sendable ([MQTTMessage]) -> BatchOutcome = { _ in .kept },
      subscriptionAnswered: @escaping @Sendable (String, MQTTReasonCode) -> Void = { _, _ in },
      warned: @escaping @Sendable (String) -> Void = { _ in },
      farewell: @escaping @Sendable (Double?) -> [MQTTMessage] = { _ in [] },
      will: (@Sendable () -> MQTTMessage?)? = nil
    ) {
      self.connectionChanged = connectionChanged
      self.received = received
      self.subscriptionAnswered = subscriptionAnswered
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
  ///   - subscriptions: asked for at every connection.
  ///   - outbound: where durable messages come from; nil for a session that only listens.
  /// - Throws: `MQTTError` when a setting or a filter is outside its bounds.
  public init(
    configuration: MQTTConfiguration, subscriptions: [MQTTSubscription] = [],
    outbound: (any OutboundProvider)? = nil, handlers: Handlers
  ) throws(MQTTError) {
    try configuration.validate()
    for subscription in subscriptions { try Self.check(subscription.filter) }
    self.configuration = configuration
    self.subscriptions = subscriptions
    self.provider = outbound
    self.handlers = handlers
    mailbox = try Mailbox()
  }

  /// Starts the session's thread; the first attempt begins at once. A second call does nothing.
  /// - Throws: `MQTTError` when the machine has no room for another thread.
  public func start() throws(MQTTError) {
    let (mailbox, configuration, subscriptions) = (mailbox, configuration, subscriptions)
    let (provider, handlers) = (provider, handlers)
    try thread.withLock { (thread) throws(MQTTError) in
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
        throw MQTTError(operation: "start", object: "session thread", cause: error.description)
      }
    }
  }

  /// Sends a message of QoS 0 now or never: for values that are worthless when late. Returns false when it
  /// was dropped at once, because there is no connection; the drops are counted in `statistics`.
  @discardableResult
  public func publishNow(_ message: MQTTMessage) -> Bool { mailbox.publishNow(message) }

  /// The provider has records again. Between bursts this opens the link.
  public func wakeUp() { mailbox.change { $0.providerHasMore = true } }

  /// The provider has records again that can wait: a link that is open carries them, one that is closed stays closed.
  public func scheduleSend() { mailbox.change { $0.providerMayHaveMore = true } }

  /// All batches that were answered with `.held` up to this number are safe.
  public func settle(through number: UInt64) {
    mailbox.change { $0.settled = max($0.settled ?? 0, number) }
  }

  /// Changes when the session keeps a connection.
  /// - Parameter keepAlive: seconds, 5...65,535, for connections made from now on; nil leaves it as it is.
  public func setLinkPolicy(_ policy: MQTTLinkPolicy, keepAlive: Int? = nil) {
    mailbox.change {
      $0.linkPolicy = policy
      $0.keepAlive = keepAlive.map { min(max($0, 5), 65_535) } ?? $0.keepAlive
    }
  }

  /// Makes the connection anew, after what is under way has arrived. Renewed files of certificates and
  /// secrets are noticed without this, within two keep-alive times; this is for those in a hurry.
  public func renewConnection() { mailbox.change { $0.renew = true } }

  /// Changes the configuration: the present connection ends in good order, with `final` as its last messages, and the next one
  /// uses the new settings. Before a change of brokers the session waits as after a lost connection. The provider's records are not lost.
  /// - Throws: `MQTTError` when a setting is outside its bounds; nothing has changed then.
  public func reconnect(_ configuration: MQTTConfiguration, final: [MQTTMessage] = []) throws(MQTTError) {
    try configuration.validate()
    mailbox.change { $0.configuration = (configuration, final) }
  }

  /// Adds a subscription, or replaces that of the same filter.
  /// - Throws: `MQTTError` when the filter breaks the rules.
  public func subscribe(_ subscription: MQTTSubscription) throws(MQTTError) {
    try Self.check(subscription.filter)
    mailbox.change { $0.subscriptionChanges.append(.subscribe(subscription)) }
  }

  /// Ends a subscription.
  public func unsubscribe(_ filter: String) {
    mailbox.change { $0.subscriptionChanges.append(.unsubscribe(filter)) }
  }

  /// What was sent, received and dropped since the start.
  public var statistics: MQTTStatistics { mailbox.statistics }

  /// Ends the session and waits for it. When connected: takes no more records, sends `final`, waits until
  /// these and all records under way are acknowledged, and leaves with a DISCONNECT, so that the broker
  /// discards the will. When not connected: ends at once. Further calls do nothing.
  /// - Parameters:
  ///   - final: the last messages, as in `offline`; at QoS 1, so that they are known to have arrived.
  ///   - drain: seconds after which the session ends regardless.
  /// - Returns: whether everything under way was acknowledged.
  @discardableResult
  public func stop(final: [MQTTMessage] = [], drain: Double = 5) -> Bool {
    guard let thread = thread.withLock({ $0 }) else { return true }
    mailbox.change {
      if $0.stop == nil { $0.stop = StopRequest(final: final, drain: drain) }
    }
    // A name lookup cannot be interrupted. It ends by itself, and the thread with it; it is not waited for.
    guard mailbox.finished.wait(seconds: drain + 2) else { return false }
    mailbox.finished.signal()
    if mailbox.claimJoin() { thread.join() }
    return mailbox.leftCleanly
  }

  private static func check(_ filter: String) throws(MQTTError) {
    guard MQTTTopic.isValidFilter(filter) else {
      throw MQTTError(
        operation: "subscribe to", object: "\"\(filter)\"",
        cause: "a filter's + fills a whole level, its # the last one, and it is not empty")
    }
  }
}
