/// Which records are under way to the broker, how many more may follow, and what an answer means.
///
/// Pure: the session performs what the returned values say. Time is monotonic, in nanoseconds.
struct PublishFlow {
  /// What to do about an answered or lost record.
  enum Verdict: Equatable {
    /// The broker has it.
    case acknowledged(UInt64)
    /// The broker will never take it.
    case rejected(UInt64, MQTTReasonCode)
    /// The broker does not take it now: it is offered again after a pause.
    case postponed(UInt64, MQTTReasonCode)
  }

  private enum Pace: Equatable {
    /// Records are taken and sent.
    case open
    /// The state while a record was refused for now: nothing new is sent until all answers are in, so that
    /// the order in which records are offered again is the order of the store.
    case settling
    /// The state while the broker is left alone.
    case paused(until: Int64)
  }

  /// A record that the broker refused for an unnamed reason as often as this is a dead letter.
  static let attemptsForUnnamedRefusal = 5
  /// Connections that ended on a lone record, told by the broker that a packet was at fault.
  static let attemptsForBlamedPacket = 2
  /// The same when the broker said nothing.
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

  /// Whether nothing is under way.
  var isIdle: Bool { inFlight.isEmpty }

  var inFlightCount: Int { inFlight.count }

  /// A connection stands. `receiveMaximum` is the broker's limit, nil when it gave none.
  mutating func begin(receiveMaximum: UInt16?) {
    inFlight.removeAll(keepingCapacity: true)
    pace = .open
    answersInConnection = 0
    window = min(configuredWindow, Int(receiveMaximum ?? .max))
    // Something in the window kills the connection each time: send one by one to find out which.
    if fruitlessConnections >= 3 { window = 1 }
  }

  /// How many more records may be sent now.
  func room() -> Int { pace == .open ? max(0, window - inFlight.count) : 0 }

  mutating func sent(packet: Int32, token: UInt64) { inFlight[packet] = token }

  /// The broker answered a packet. nil when the packet is none of ours (QoS 0, or answered before).
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

  /// Moves on with time. Returns true when the pause is over: the provider is to offer again.
  /// - Parameter jitter: 0...1, drawn by the caller.
  mutating func tick(now: Int64, jitter: Double) -> Bool {
    switch pace {
    case .open:
      return false
    case .settling:
      if inFlight.isEmpty {
        let ceiling = min(60, Double(UInt64(1) << UInt64(min(backoff, 10))))
        backoff += 1
        pace = .paused(until: now + Int64((0.25 + jitter * ceiling) * 1e9))
      }
      return false
    case .paused(let end):
      guard now >= end else { return false }
      pace = .open
      return true
    }
  }

  /// When `tick` has something to do; nil when only an answer can change anything.
  var deadline: Int64? {
    if case .paused(let end) = pace { end } else { nil }
  }

  /// The connection ended after `begin`. `blamed` is the broker's reason when it named a packet as the
  /// culprit; `closedByPeer` is false when the network is to blame, which proves nothing against a record.
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

  /// What a PUBACK's reason says about the record (MQTT 5, table 3-4).
  static func meaning(of reason: MQTTReasonCode) -> Meaning {
    switch reason {
    case .notAuthorized, .topicNameInvalid, .payloadFormatInvalid, .packetTooLarge, .qosNotSupported: .never
    case .quotaExceeded, .packetIdentifierInUse, .messageRateTooHigh: .notNow
    default: reason.isError ? .unnamed : .taken
    }
  }

  /// Whether a DISCONNECT's reason names a packet of ours as its cause.
  static func blamesPacket(_ reason: MQTTReasonCode) -> Bool {
    switch reason {
    case .malformedPacket, .protocolError, .topicNameInvalid, .topicAliasInvalid, .packetTooLarge,
      .payloadFormatInvalid, .retainNotSupported, .qosNotSupported:
      true
    default: false
    }
  }
}
