internal import Platform

/// Decides which broker is tried next, how, and after which wait. Pure: the randomness comes from outside.
///
/// The brokers are tried in order of preference, one round without waiting; after a round in which none
/// accepted comes a wait with full jitter. A broker that does not know MQTT 5, and says so, closes or does not answer (RabbitMQ 3.10
/// and amqtt do), is tried with 3.1.1 at once, and keeps that until that fails too. A host whose IPv6 address does not answer is tried with IPv4.
struct ConnectionPlanner {
  struct Attempt: Equatable {
    var broker: Int
    var version311: Bool
    var onlyIPv4: Bool
    /// Seconds to wait before it.
    var wait: Double
    /// Whether to wait for an answer only briefly: nobody knows yet whether this broker answers in this version.
    var isTrial = false
  }

  /// How an attempt, or the connection that came of it, ended.
  struct Ending {
    var cause: MQTTDisconnection.Cause
    var phase: MQTTDisconnection.Phase
    /// Whether the socket that failed was an IPv6 one.
    var wasIPv6 = false
    /// Seconds that the connection was established.
    var held: Double = 0
  }

  /// Seconds between looks at a clock that is not set yet.
  static let clockInterval = 5.0

  /// Seconds after which a connection has proved that the trouble is over.
  static let stableAfter = 30.0

  private let brokerCount: Int
  private let protocolVersion: MQTTConfiguration.ProtocolVersion
  private let limit: Double
  private var backoff: Backoff
  private var speaks311: [Bool]
  /// Brokers that were asked in version 5.
  private var asked: [Bool]
  private var broker = 0
  private var onlyIPv4 = false
  /// nil: the wait has still to be drawn, because a round is over.
  private var wait: Double? = 0
  private var refusedForGood = false

  init(
    brokerCount: Int, protocolVersion: MQTTConfiguration.ProtocolVersion, backoffBase: Double,
    backoffLimit: Double
  ) {
    self.brokerCount = max(1, brokerCount)
    self.protocolVersion = protocolVersion
    limit = backoffLimit
    backoff = Backoff(floor: min(0.1, backoffBase), base: backoffBase, limit: backoffLimit)
    asked = Array(repeating: false, count: max(1, brokerCount))
    speaks311 = Array(repeating: protocolVersion == .v311, count: max(1, brokerCount))
  }

  /// Starts over with another configuration.
  /// - Parameters:
  ///   - waits: wait before the first attempt, as after a lost connection.
  ///   - isStable: whether the connection so far lasted long enough to forget earlier waits.
  mutating func restart(with configuration: MQTTConfiguration, waits: Bool, isStable: Bool) {
    var backoff = backoff
    self = ConnectionPlanner(
      brokerCount: configuration.brokers.count, protocolVersion: configuration.protocolVersion,
      backoffBase: configuration.backoffBase, backoffLimit: configuration.backoffLimit)
    (backoff.floor, backoff.base, backoff.limit) = (self.backoff.floor, self.backoff.base, self.backoff.limit)
    if isStable { backoff.reset() }
    self.backoff = backoff
    if waits { wait = nil }
  }

  /// The next attempt.
  mutating func next(using generator: inout some RandomNumberGenerator) -> Attempt {
    var seconds = wait ?? backoff.next(using: &generator)
    // Wrong credentials do not come right by asking often, and many brokers ban who tries.
    if wait == nil && refusedForGood { seconds = Double.random(in: limit / 2...limit, using: &generator) }
    wait = 0
    let isTrial = protocolVersion == .automatic && !speaks311[broker] && !asked[broker]
    return Attempt(
      broker: broker, version311: speaks311[broker], onlyIPv4: onlyIPv4, wait: seconds, isTrial: isTrial)
  }

  /// The next attempt as far as it is certain: a wait that is still to be drawn shows as infinity.
  var peek: Attempt {
    Attempt(
      broker: broker, version311: speaks311[broker], onlyIPv4: onlyIPv4, wait: wait ?? .infinity)
  }

  /// Learns from an ending.
  mutating func ended(_ ending: Ending) {
    if ending.phase >= .connect, !speaks311[broker] { asked[broker] = true }
    if ending.cause == .clockNotSet {
      wait = Self.clockInterval
      return
    }
    if ending.phase == .established {
      if ending.held >= Self.stableAfter { backoff.reset() }
      startRound(after: ending.cause)
      return
    }
    if changesManner(ending) { return }
    onlyIPv4 = false
    if Self.isForGood(ending.cause) { refusedForGood = true }
    broker += 1
    if broker == brokerCount {
      broker = 0
      wait = nil
    }
  }

  private mutating func startRound(after cause: MQTTDisconnection.Cause) {
    onlyIPv4 = false
    refusedForGood = false
    wait = nil
    switch cause {
    case .disconnectedByServer(.useAnotherServer), .disconnectedByServer(.serverMoved),
      .disconnectedByServer(.serverShuttingDown), .disconnectedByServer(.serverBusy):
      broker = brokerCount > 1 ? (broker + 1) % brokerCount : 0
    case .disconnectedByServer(.sessionTakenOver):
      // Two clients of one name throw each other out for ever: leave long pauses.
      refusedForGood = true
      broker = 0
    default: broker = 0
    }
  }

  /// Whether the same broker is to be tried at once in another manner.
  private mutating func changesManner(_ ending: Ending) -> Bool {
    switch (ending.phase, ending.cause) {
    case (.tcp, _) where ending.wasIPv6 && !onlyIPv4:
      onlyIPv4 = true
      return true
    // Some brokers of old close without a word, or say none.
    case (.connect, .refused(.unsupportedProtocolVersion, _)), (.connect, .protocolViolation),
      (.connect, .closedByPeer), (.connect, .timedOut):
      return changesVersion(at: broker)
    default: return false
    }
  }

  private mutating func changesVersion(at broker: Int) -> Bool {
    guard protocolVersion == .automatic else { return false }
    speaks311[broker].toggle()
    return speaks311[broker]
  }

  /// Refusals that only a person can end. A file that is missing is none of them: whoever puts it there need not wait.
  static func isForGood(_ cause: MQTTDisconnection.Cause) -> Bool {
    switch cause {
    case .refused(let code, _):
      [
        .clientIdentifierNotValid, .badUserNameOrPassword, .notAuthorized, .banned, .badAuthenticationMethod,
      ].contains(code)
    case .unsuitable: true
    default: false
    }
  }
}
