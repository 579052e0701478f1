package import MQTT

/// A sequence of test publications (trials) with the broker's answer to each. A pure value type.
///
/// MQTT 3.1.1 has no error reply for a publication: RabbitMQ closes the connection instead, as do some MQTT 5
/// brokers, depending on their configuration. A disconnection during a trial therefore counts as its
/// rejection, and the next trial uses the next connection.
package struct CheckTrials: Hashable, Sendable {
  package enum Answer: Hashable, Sendable {
    case accepted
    case refused(MQTTReasonCode)
  }

  /// The answer to each trial; nil before the answer.
  package private(set) var answers: [Answer?]
  /// The number of published trials.
  private(set) var begun = 0
  /// The token of the trial in progress; nil if none.
  package private(set) var token: UInt64?
  package var isConnected = false
  /// The number of connections that have ended.
  private var ends = 0

  package init(count: Int) { answers = Array(repeating: nil, count: count) }

  /// True if no trial is in progress.
  package var isAnswered: Bool { token == nil }

  /// True if all trials are finished.
  package var isOver: Bool { token == nil && begun == answers.count }

  package mutating func began(_ token: UInt64) {
    self.token = token
    begun += 1
  }

  /// Records the broker's answer to a publication.
  ///
  /// - Parameter reason: nil for an accepted publication.
  /// - Returns: true if the publication is the trial in progress.
  package mutating func answered(_ token: UInt64, _ reason: MQTTReasonCode?) -> Bool {
    guard token == self.token else { return false }
    self.token = nil
    answers[begun - 1] = if let reason { Answer.refused(reason) } else { Answer.accepted }
    return true
  }

  /// Records the end of the connection.
  /// - Returns: true if the end is the answer to a trial or follows an answer; false if the broker is
  ///   unusable.
  package mutating func ended(_ reason: MQTTDisconnection) -> Bool {
    isConnected = false
    ends += 1
    // Some brokers close the connection after an answer, possibly at each trial.
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
