package import Platform

/// Detects when a broker has sent all its retained messages. It has no clock of its own.
///
/// After all subscriptions, a marker filter is subscribed to, which matches no topic. A broker processes
/// requests in order, so it sends the retained messages before the answer to the marker. A cluster of brokers
/// sends some retained messages a little later; therefore reading also waits for some time without a retained
/// message. Before the answer, such a pause means nothing, because broker or network may be slow. If the
/// broker's queue for this client overflows, it also drops the answer (observed with mosquitto 2.0.11). A
/// missing answer therefore indicates lost messages.
package struct RetainedReading: Hashable, Sendable {
  /// The time in s without a retained message, after the answer to the marker, at which reading is complete.
  package let silence: Double
  /// The time in s without a retained message, before the answer to the marker, at which reading is given
  /// up.
  package let timeout: Double
  private var isMarked = false
  /// The time of the last retained message, or of the answer to the marker.
  private var last: MonotonicTime

  /// Creates a detector.
  ///
  /// - Parameters:
  ///   - silence: the time in s without a retained message, after the answer, at which reading is complete.
  ///   - timeout: the time in s without a retained message, before the answer, at which reading is given up.
  ///   - time: the time of the marker subscription.
  package init(silence: Double = 0.4, timeout: Double = 30, at time: MonotonicTime) {
    self.silence = silence
    self.timeout = timeout
    last = time
  }

  /// Returns the marker filter to subscribe to after other filters; nil if there are no other filters.
  package static func mark(behind filters: [String]) -> String? {
    // Most access lists permit topics below a permitted one. If the broker rejects the marker, the rejection
    // is the answer.
    filters.last.map { $0.hasSuffix("#") ? $0.dropLast() + "end" : $0 + "/end" }
  }

  /// Records the arrival of a retained message. Live messages must not be recorded: a large fleet sends them
  /// without pause.
  package mutating func kept(at time: MonotonicTime) { last = max(last, time) }

  /// Records that the broker has granted or rejected the marker subscription.
  package mutating func marked(at time: MonotonicTime) {
    isMarked = true
    last = max(last, time)
  }

  /// The time at which reading is complete if no further message arrives; nil before the answer to the marker.
  package var completion: MonotonicTime? { isMarked ? deadline : nil }

  /// The time until which to wait for the next retained message.
  package var deadline: MonotonicTime { last.advanced(bySeconds: isMarked ? silence : timeout) }

  package enum Outcome: Hashable, Sendable {
    case pending
    case complete
    /// Reading was given up: the broker has not answered, so messages can be missing.
    case unknown
  }

  package func outcome(at time: MonotonicTime) -> Outcome {
    time < deadline ? .pending : isMarked ? .complete : .unknown
  }
}
