internal import MQTT

/// Publications that are tried one after the other, and what the broker answers to each. Pure.
///
/// Under MQTT 3.1.1 a broker has no words for a refusal: RabbitMQ ends the connection at it. So does one of MQTT 5 that is
/// told to. An end while a trial is under way is that trial's refusal, and the next one is tried on the next connection.
struct CheckTrials: Hashable, Sendable {
  enum Answer: Hashable, Sendable {
    case accepted
    case refused(MQTTReasonCode)
  }

  /// Of each trial; nil where there is none.
  private(set) var answers: [Answer?]
  /// Trials that were published.
  private(set) var begun = 0
  /// The one that is under way.
  private(set) var token: UInt64?
  var isConnected = false
  /// Connections that have ended.
  private var ends = 0

  init(count: Int) { answers = Array(repeating: nil, count: count) }

  /// Whether none is under way.
  var isAnswered: Bool { token == nil }

  /// Whether there is none left.
  var isOver: Bool { token == nil && begun == answers.count }

  mutating func began(_ token: UInt64) {
    self.token = token
    begun += 1
  }

  /// - Parameter reason: nil for a publication that was taken.
  /// - Returns: whether it is the answer to the trial that is under way.
  mutating func answered(_ token: UInt64, _ reason: MQTTReasonCode?) -> Bool {
    guard token == self.token else { return false }
    self.token = nil
    answers[begun - 1] = if let reason { Answer.refused(reason) } else { Answer.accepted }
    return true
  }

  /// The connection has ended.
  /// - Returns: whether that is an answer, or follows one; else the broker cannot be used.
  mutating func ended(_ reason: MQTTDisconnection) -> Bool {
    isConnected = false
    ends += 1
    // Some end it behind an answer: each trial may.
    guard begun > 0, ends <= answers.count, reason.phase == .established else { return false }
    switch reason.cause {
    case .closedByPeer:
      if let token { _ = answered(token, .notAuthorized) }
      return true
    case .disconnectedByServer(let code):
      if let token { _ = answered(token, code) }
      return true
    default: return false
    }
  }
}
