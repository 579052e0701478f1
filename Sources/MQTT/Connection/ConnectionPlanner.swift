internal import Platform

/// Decides which broker is tried next, with which protocol version and address family, and after which wait.
/// Pure: random numbers come from the caller.
///
/// Brokers are tried in order of preference, one round without waiting. After a round in which none accepted
/// the client, there is a wait with full jitter. A broker that does not support MQTT 5 refuses, closes the
/// connection or does not answer, as RabbitMQ 3.10 and amqtt do. It is immediately tried with 3.1.1. After a
/// refusal, 3.1.1 remains in use until an attempt with it fails. Without an answer the link may only have been
/// slow, so the next connection begins with MQTT 5 again, until that happened three times in a row. A host
/// whose IPv6 address does not answer is tried with IPv4.
struct ConnectionPlanner {
  struct Attempt: Equatable {
    var broker: Int
    var version311: Bool
    var onlyIPv4: Bool
    /// Wait before the attempt in s.
    var wait: Double
    /// True if the wait for an answer is short, because it is unknown whether this broker answers in this
    /// protocol version.
    var isTrial = false
  }

  /// The end of an attempt or of the resulting connection.
  struct Ending {
    var cause: MQTTDisconnection.Cause
    var phase: MQTTDisconnection.Phase
    /// True if the failed socket used IPv6.
    var wasIPv6 = false
    /// Duration of the established connection in s.
    var held: Double = 0
  }

  /// Interval in s between checks of a clock that is not set yet.
  static let clockInterval = 5.0

  /// Duration in s after which a connection counts as stable.
  static let stableAfter = 30.0

  private let brokerCount: Int
  private let protocolVersion: MQTTConfiguration.ProtocolVersion
  private let limit: Double
  private var backoff: Backoff
  private var usesVersion311: [Bool]
  /// For each broker, true if it was tried with MQTT 5.
  private var asked: [Bool]
  /// For each broker, the number of connections in a row that were possible with 3.1.1 only.
  private var onlyVersion311: [Int]
  /// The number from which a broker counts as one of 3.1.1; a refusal of MQTT 5 counts as many.
  private static let certain = 3
  private var broker = 0
  private var onlyIPv4 = false
  /// The next wait in s; nil if a round is over, so that `next` must choose a random wait.
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
    onlyVersion311 = Array(repeating: 0, count: max(1, brokerCount))
    usesVersion311 = Array(repeating: protocolVersion == .v311, count: max(1, brokerCount))
  }

  /// Restarts with another configuration.
  /// - Parameters:
  ///   - waits: true to wait before the first attempt, as after a lost connection.
  ///   - isStable: true if the previous connection lasted long enough to reset the backoff.
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

  /// Returns the next attempt, with a random wait after a round.
  mutating func next(using generator: inout some RandomNumberGenerator) -> Attempt {
    var seconds = wait ?? backoff.next(using: &generator)
    // The wait is long, because a retry does not correct wrong credentials, and many brokers ban clients that
    // retry.
    if wait == nil && refusedForGood { seconds = Double.random(in: limit / 2...limit, using: &generator) }
    wait = 0
    let isTrial = protocolVersion == .automatic && !usesVersion311[broker] && !asked[broker]
    return Attempt(
      broker: broker, version311: usesVersion311[broker], onlyIPv4: onlyIPv4, wait: seconds, isTrial: isTrial)
  }

  /// The next attempt. Its wait is infinity if `next` would choose a random wait.
  var peek: Attempt {
    Attempt(
      broker: broker, version311: usesVersion311[broker], onlyIPv4: onlyIPv4, wait: wait ?? .infinity)
  }

  /// Updates the plan after the end of an attempt or connection.
  mutating func ended(_ ending: Ending) {
    if ending.phase >= .connect, !usesVersion311[broker] { asked[broker] = true }
    if ending.cause == .clockNotSet {
      wait = Self.clockInterval
      return
    }
    if ending.phase == .established {
      if ending.held >= Self.stableAfter, !Self.isUnanswered(ending.cause) { backoff.reset() }
      if protocolVersion == .automatic { judgeVersion() }
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
      broker = (broker + 1) % brokerCount
    case .unanswered: broker = (broker + 1) % brokerCount
    case .disconnectedByServer(.sessionTakenOver):
      // Two clients of the same name disconnect each other forever, so pauses must be long.
      refusedForGood = true
      broker = 0
    default: broker = 0
    }
  }

  /// Returns whether the same broker is tried immediately with another protocol version or address family.
  private mutating func changesManner(_ ending: Ending) -> Bool {
    switch (ending.phase, ending.cause) {
    case (.tcp, _) where ending.wasIPv6 && !onlyIPv4:
      onlyIPv4 = true
      return true
    case (.connect, .refused(.unsupportedProtocolVersion, _)), (.connect, .protocolViolation):
      onlyVersion311[broker] = Self.certain
      return changesVersion(at: broker)
    // Some old brokers answer a CONNECT of MQTT 5 by closing the connection, or do not answer it.
    case (.connect, .closedByPeer), (.connect, .timedOut): return changesVersion(at: broker)
    default: return false
    }
  }

  /// Returns to MQTT 5 after a connection with 3.1.1, unless the broker certainly supports no other.
  private mutating func judgeVersion() {
    onlyVersion311[broker] = usesVersion311[broker] ? onlyVersion311[broker] + 1 : 0
    usesVersion311[broker] = onlyVersion311[broker] >= Self.certain
  }

  private mutating func changesVersion(at broker: Int) -> Bool {
    guard protocolVersion == .automatic else { return false }
    usesVersion311[broker].toggle()
    return usesVersion311[broker]
  }

  /// Returns whether the broker did not answer requests. Such a connection is useless, however long it lasts.
  private static func isUnanswered(_ cause: MQTTDisconnection.Cause) -> Bool {
    if case .unanswered = cause { true } else { false }
  }

  /// Returns whether a refusal can be ended only by an operator. A missing file is not included, because the
  /// connection should resume as soon as it exists.
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
