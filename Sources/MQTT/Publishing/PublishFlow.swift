internal import Platform

/// Tracks records sent to the broker, the remaining window, and the meaning of answers.
///
/// Pure: the session acts on the returned values.
struct PublishFlow {
  /// The action for an answered or lost record.
  enum Verdict: Equatable {
    /// The broker has stored the record.
    case acknowledged(UInt64)
    /// The broker will never accept the record.
    case rejected(UInt64, MQTTReasonCode)
    /// The broker does not accept the record now; the record is offered again after a pause.
    case postponed(UInt64, MQTTReasonCode)
  }

  private enum Pace: Equatable {
    /// Records are accepted and sent.
    case open
    /// The state after a temporary rejection: nothing new is sent until all answers have arrived, so that
    /// records are offered again in the order of the store.
    case settling
    /// The state during a pause without sending.
    case paused(until: MonotonicTime)
  }

  /// Number of rejections for an unspecified reason after which a record is a dead letter.
  static let attemptsForUnnamedRefusal = 5
  /// A record is rejected after this number of consecutive connections that the broker ended, with a reason
  /// that blames a packet, while only this record was unacknowledged.
  static let attemptsForBlamedPacket = 2
  /// A record is rejected after this number of consecutive connections that the broker ended without a reason
  /// while only this record was unacknowledged.
  static let attemptsForSilentClose = 10

  private let configuredWindow: Int
  private var inFlight: [Int32: UInt64] = [:]
  private var pace: Pace = .open
  private var refusals: [UInt64: Int] = [:]
  private var backoff: Int = 0
  private var window: Int
  private var answersInConnection = 0
  private var fruitlessConnections = 0
  private var suspect: (token: UInt64, ends: Int)?

  init(window: Int) {
    configuredWindow = max(1, window)
    self.window = max(1, window)
  }

  /// True if no record is unacknowledged.
  var isIdle: Bool { inFlight.isEmpty }

  /// Starts a connection. `receiveMaximum` is the broker's limit; nil if it sent none.
  mutating func begin(receiveMaximum: UInt16?) {
    inFlight.removeAll(keepingCapacity: true)
    pace = .open
    answersInConnection = 0
    window = min(configuredWindow, Int(receiveMaximum ?? .max))
    // The last three connections ended before any answer, so one of the sent records may be the cause.
    // Sending one record at a time identifies it.
    if fruitlessConnections >= 3 { window = 1 }
  }

  /// Returns the number of records that may be sent now.
  func room() -> Int { pace == .open ? max(0, window - inFlight.count) : 0 }

  mutating func sent(packet: Int32, token: UInt64) { inFlight[packet] = token }

  /// Processes the answer to a packet; nil for an unknown packet (QoS 0, or already answered).
  mutating func answered(packet: Int32, reason: MQTTReasonCode) -> Verdict? {
    guard let token = inFlight.removeValue(forKey: packet) else { return nil }
    answersInConnection += 1
    fruitlessConnections = 0
    suspect = nil
    switch Self.meaning(of: reason) {
    case .taken:
      refusals[token] = nil
      backoff = 0
      return .acknowledged(token)
    case .never:
      refusals[token] = nil
      return .rejected(token, reason)
    case .notNow:
      pace = .settling
      return .postponed(token, reason)
    case .unnamed:
      let count = (refusals[token] ?? 0) + 1
      guard count < Self.attemptsForUnnamedRefusal else {
        refusals[token] = nil
        return .rejected(token, reason)
      }
      refusals[token] = count
      pace = .settling
      return .postponed(token, reason)
    }
  }

  /// Advances the time. Returns true at the end of a pause, when the provider must offer records again.
  /// - Parameter jitter: random number in 0...1, drawn only if a pause begins.
  mutating func tick(now: MonotonicTime, jitter: @autoclosure () -> Double) -> Bool {
    switch pace {
    case .open:
      return false
    case .settling:
      if inFlight.isEmpty {
        let ceiling = min(60, Double(UInt64(1) << UInt64(min(backoff, 10))))
        backoff += 1
        pace = .paused(until: now.advanced(bySeconds: 0.25 + jitter() * ceiling))
      }
      return false
    case .paused(let end):
      guard now >= end else { return false }
      pace = .open
      return true
    }
  }

  /// The next time at which `tick` must be called; nil if only an answer can change the state.
  var deadline: MonotonicTime? {
    if case .paused(let end) = pace { end } else { nil }
  }

  /// Processes the end of a connection. `blamed` is the broker's reason if it blames a packet; `closedByPeer`
  /// is false for network failures, which prove nothing against a record.
  mutating func ended(blamed: MQTTReasonCode?, closedByPeer: Bool) -> Verdict? {
    defer { inFlight.removeAll(keepingCapacity: true) }
    guard answersInConnection == 0, !inFlight.isEmpty, blamed != nil || closedByPeer else { return nil }
    fruitlessConnections += 1
    guard window == 1, let token = inFlight.values.first else { return nil }
    let ends = (suspect?.token == token ? suspect?.ends ?? 0 : 0) + 1
    suspect = (token, ends)
    let limit = blamed == nil ? Self.attemptsForSilentClose : Self.attemptsForBlamedPacket
    guard ends >= limit else { return nil }
    suspect = nil
    fruitlessConnections = 0
    return .rejected(token, blamed ?? .unspecifiedError)
  }
}

extension PublishFlow {
  enum Meaning: Equatable { case taken, never, notNow, unnamed }

  /// Returns the meaning of a PUBACK's reason for the record (MQTT 5, table 3-4).
  static func meaning(of reason: MQTTReasonCode) -> Meaning {
    switch reason {
    case .notAuthorized, .topicNameInvalid, .payloadFormatInvalid, .packetTooLarge, .qosNotSupported: .never
    case .quotaExceeded, .packetIdentifierInUse, .messageRateTooHigh: .notNow
    default: reason.isError ? .unnamed : .taken
    }
  }

  /// Returns whether a DISCONNECT's reason blames a packet of this client.
  static func blamesPacket(_ reason: MQTTReasonCode) -> Bool {
    switch reason {
    case .malformedPacket, .protocolError, .topicNameInvalid, .topicAliasInvalid, .packetTooLarge,
      .payloadFormatInvalid, .retainNotSupported, .qosNotSupported:
      true
    default: false
    }
  }
}
