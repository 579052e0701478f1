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
    /// The state after a pause: one record is sent. Its acceptance opens the window.
    case probing
  }

  /// An unanswered record.
  private struct Sent {
    var token: UInt64
    /// Position in the order of sending.
    var number: UInt64
    var time: MonotonicTime
  }

  /// Number of rejections for an unspecified reason after which a record is a dead letter.
  static let attemptsForUnnamedRefusal = 5
  /// A record becomes suspect after this number of consecutive connections that the broker ended while the
  /// record was unacknowledged.
  static let endsForSuspicion = 3
  /// A suspect record is rejected after this number of connections that the broker ended, with a reason that
  /// blames a packet, while only this record was unacknowledged.
  static let attemptsForBlamedPacket = 2
  /// A suspect record is rejected after this number of connections that the broker ended without a reason,
  /// soon after the record, while only this record was unacknowledged.
  static let attemptsForSilentClose = 10
  /// Maximum time in s from a record to a close without a reason that counts against the record. After a
  /// radio outage, the broker resets a connection that it has already closed for lack of a ping. That reset
  /// arrives later.
  static let promptClose = 20.0

  private let configuredWindow: Int
  private var inFlight: [Int32: Sent] = [:]
  private var sentCount: UInt64 = 0
  private var pace: Pace = .open
  private var refusals: [UInt64: Int] = [:]
  private var backoff: Int = 0
  private var window: Int
  /// For each record that was unacknowledged when the broker last ended a connection, the number of
  /// consecutive such ends.
  private var unansweredEnds: [UInt64: Int] = [:]
  /// Number of answers for which records are still sent one at a time; 0 if the window is open.
  private var answersInIsolation = 0
  /// For each suspect record, the number of connections that ended while only it was unacknowledged.
  private var endsAlone: [UInt64: Int] = [:]
  /// Maximum number of these records; more than are suspect at a time.
  private static let suspectCapacity = 32
  /// Reason of the last temporary rejection; nil if the broker accepted a record since.
  private(set) var pauseReason: MQTTReasonCode?

  init(window: Int) {
    configuredWindow = max(1, window)
    self.window = max(1, window)
  }

  /// True if no record is unacknowledged.
  var isIdle: Bool { inFlight.isEmpty }

  /// True during a pause after a temporary rejection.
  var isPaused: Bool { deadline != nil }

  /// True while records are sent one at a time to find the one that makes the broker end the connection.
  var isIsolating: Bool { answersInIsolation > 0 }

  /// Position in the order of sending of the oldest unanswered record; nil if all are answered.
  var oldest: UInt64? { inFlight.values.lazy.map(\.number).min() }

  /// Starts a connection. `receiveMaximum` is the broker's limit; nil if it sent none.
  mutating func begin(receiveMaximum: UInt16?) {
    inFlight.removeAll(keepingCapacity: true)
    pace = pauseReason == nil ? .open : .probing
    window = min(configuredWindow, Int(receiveMaximum ?? .max))
    answersInIsolation = 0
    // One of the records that were unacknowledged at the last ends may have caused them. Sending one record at
    // a time identifies it. The limit reopens the window if the suspect records are no longer in the store.
    if hasSuspects { answersInIsolation = 2 * configuredWindow }
  }

  /// Notes that the provider has no more records. If all records were answered, none of them is suspect.
  mutating func providerIsEmpty() {
    guard isIdle, pace == .open else { return }
    unansweredEnds = [:]
    answersInIsolation = 0
  }

  private var hasSuspects: Bool { unansweredEnds.values.contains { $0 >= Self.endsForSuspicion } }

  /// Returns the number of records that may be sent now.
  func room() -> Int {
    switch pace {
    case .open: max(0, (isIsolating ? 1 : window) - inFlight.count)
    case .probing: max(0, 1 - inFlight.count)
    case .settling, .paused: 0
    }
  }

  /// Number of last messages of a connection that may be unanswered simultaneously. They are sent even during
  /// a pause, because the connection ends after them.
  var roomForFinal: Int { max(0, window - inFlight.count) }

  mutating func sent(packet: Int32, token: UInt64, at now: MonotonicTime) {
    sentCount += 1
    inFlight[packet] = Sent(token: token, number: sentCount, time: now)
  }

  /// Processes the answer to a packet; nil for an unknown packet (QoS 0, or already answered).
  mutating func answered(packet: Int32, reason: MQTTReasonCode) -> Verdict? {
    guard let token = inFlight.removeValue(forKey: packet)?.token else { return nil }
    clearSuspicion(of: token)
    switch Self.meaning(of: reason) {
    case .taken:
      refusals[token] = nil
      backoff = 0
      endPause()
      return .acknowledged(token)
    case .never:
      refusals[token] = nil
      endPause()
      return .rejected(token, reason)
    case .notNow:
      pauseReason = reason
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

  /// Opens the window after an answer that is not a temporary rejection. While `settling`, that answer belongs
  /// to a record sent before the rejection.
  private mutating func endPause() {
    guard pace == .probing || pace == .open else { return }
    pace = .open
    pauseReason = nil
  }

  /// Notes that a record was answered, so that it did not end the connection.
  private mutating func clearSuspicion(of token: UInt64) {
    if !endsAlone.isEmpty { endsAlone[token] = nil }
    if !unansweredEnds.isEmpty { unansweredEnds[token] = nil }
    guard isIsolating else { return }
    answersInIsolation -= 1
    if answersInIsolation == 0 { unansweredEnds = [:] }
    if !hasSuspects { answersInIsolation = 0 }
  }

  /// Advances the time. Returns true at the end of a pause, when the provider must offer records again.
  /// - Parameter jitter: random number in 0...1, drawn only if a pause begins.
  mutating func tick(now: MonotonicTime, jitter: @autoclosure () -> Double) -> Bool {
    switch pace {
    case .open, .probing:
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
      pace = .probing
      return true
    }
  }

  /// The next time at which `tick` must be called; nil if only an answer can change the state.
  var deadline: MonotonicTime? {
    if case .paused(let end) = pace { end } else { nil }
  }

  /// Processes the end of a connection.
  /// - Parameters:
  ///   - blamed: the broker's reason if it blames a packet.
  ///   - closedByPeer: false for network failures, which prove nothing against a record.
  ///   - isAlone: false if something other than a record may be the cause, such as a subscription request.
  mutating func ended(
    blamed: MQTTReasonCode?, closedByPeer: Bool, isAlone: Bool = true, at now: MonotonicTime
  )
    -> Verdict?
  {
    defer { inFlight.removeAll(keepingCapacity: true) }
    guard !inFlight.isEmpty, blamed != nil || closedByPeer else { return nil }
    unansweredEnds = Dictionary(
      inFlight.values.map { ($0.token, (unansweredEnds[$0.token] ?? 0) + 1) }, uniquingKeysWith: max)
    guard isIsolating, isAlone, inFlight.count == 1, let last = inFlight.values.first else { return nil }
    guard blamed != nil || now.seconds(since: last.time) <= Self.promptClose else { return nil }
    let ends = (endsAlone[last.token] ?? 0) + 1
    if endsAlone.count >= Self.suspectCapacity { endsAlone = [:] }
    endsAlone[last.token] = ends
    let limit = blamed == nil ? Self.attemptsForSilentClose : Self.attemptsForBlamedPacket
    guard ends >= limit else { return nil }
    endsAlone[last.token] = nil
    unansweredEnds = [:]
    return .rejected(last.token, blamed ?? .unspecifiedError)
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
