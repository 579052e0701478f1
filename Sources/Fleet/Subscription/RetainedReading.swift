/// When everything that a broker keeps below some subscriptions has come: a rule without a clock of its own.
///
/// Right behind the subscriptions, one more filter is asked for, which nothing matches. A broker works in order, so what
/// it keeps is on its way before that answer; brokers of several nodes send some of it a little later, which is what the
/// silence is for. Silence before the answer says nothing: the broker, or the way to it, may just be slow. A broker
/// whose queue for this client overflows throws the answer away as well (seen with mosquitto 2.0.11), so that its
/// absence tells of a loss.
package struct RetainedReading: Hashable, Sendable {
  /// Nanoseconds without a kept message, after the answer, that say that there is no more.
  package let silence: Int64
  /// Nanoseconds without a kept message, before the answer, after which nothing is hoped for.
  package let patience: Int64
  private var isMarked = false
  /// When the last kept message, or the answer, came.
  private var last: Int64

  /// - Parameter time: when the further filter is asked for; monotonic nanoseconds, as all times here.
  package init(silence: Double = 0.4, patience: Double = 30, at time: Int64) {
    self.silence = Int64(silence * 1e9)
    self.patience = Int64(patience * 1e9)
    last = time
  }

  /// The further filter, to be asked for behind these; nil for none.
  package static func mark(behind filters: [String]) -> String? {
    // Whoever may read a topic may on most access lists read below it too; a refusal is an answer as good as any.
    filters.last.map { $0.hasSuffix("#") ? $0.dropLast() + "end" : $0 + "/end" }
  }

  /// A kept message came. Live ones say nothing of those: a large fleet is never silent.
  package mutating func kept(at time: Int64) { last = max(last, time) }

  /// The further filter was answered, granted or not.
  package mutating func marked(at time: Int64) {
    isMarked = true
    last = max(last, time)
  }

  /// Until when the next message is waited for.
  package var deadline: Int64 { last + (isMarked ? silence : patience) }

  package enum Outcome: Hashable, Sendable {
    case goesOn
    case complete
    /// The broker did not say that this was all.
    case unknown
  }

  package func outcome(at time: Int64) -> Outcome {
    time < deadline ? .goesOn : isMarked ? .complete : .unknown
  }
}
