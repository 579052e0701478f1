/// A detector for the end of a broker's retained messages; it has no clock of its own.
///
/// After the subscriptions, a marker filter is subscribed to that matches nothing. A broker works in order,
/// so its retained messages are sent before the answer to the marker. Brokers of several nodes send some of
/// them a little later, hence the additional silence. Silence before the answer has no meaning: broker or
/// network may be slow. A broker whose queue for this client overflows also drops the answer (observed with
/// mosquitto 2.0.11), so a missing answer indicates a loss.
package struct RetainedReading: Hashable, Sendable {
  /// The nanoseconds without a retained message after the answer at which reading is complete.
  package let silence: Int64
  /// The nanoseconds without a retained message before the answer at which reading is abandoned.
  package let timeout: Int64
  private var isMarked = false
  /// The time of the last retained message or of the answer.
  private var last: Int64

  /// Creates a detector.
  ///
  /// - Parameter time: the time of the marker subscription; monotonic nanoseconds, as all times here.
  package init(silence: Double = 0.4, timeout: Double = 30, at time: Int64) {
    self.silence = Int64(silence * 1e9)
    self.timeout = Int64(timeout * 1e9)
    last = time
  }

  /// Returns the marker filter for these filters; nil if there are none.
  package static func mark(behind filters: [String]) -> String? {
    // Most access lists allow topics below a readable one; a rejection is also a valid answer.
    filters.last.map { $0.hasSuffix("#") ? $0.dropLast() + "end" : $0 + "/end" }
  }

  /// Records a retained message. Live ones are ignored, because a large fleet is never silent.
  package mutating func kept(at time: Int64) { last = max(last, time) }

  /// Records the answer to the marker subscription, granted or not.
  package mutating func marked(at time: Int64) {
    isMarked = true
    last = max(last, time)
  }

  /// The time until which to wait for the next message.
  package var deadline: Int64 { last + (isMarked ? silence : timeout) }

  package enum Outcome: Hashable, Sendable {
    case pending
    case complete
    /// The broker did not confirm that the messages are complete.
    case unknown
  }

  package func outcome(at time: Int64) -> Outcome {
    time < deadline ? .pending : isMarked ? .complete : .unknown
  }
}
