internal import Platform
internal import Spatial

/// The attempts to capture from the buffer.
struct BufferAttempts {
  /// The phase in which no whole block arrived within the time limit, so that its samples are fetched one by
  /// one; nil if there is none.
  var sparse: DemandSchedule.Phase?
  /// True if the buffer is empty because the sensor reports only changes.
  var isQuiet = false
  /// True if a sensor that delivers at its rate has become silent.
  var hasStalled = false
  /// The reason why sensors with a buffer are polled; nil if they are not.
  private(set) var failure: IIOError?
  /// The time of the next attempt after a failure; nil without a failure.
  private(set) var retryAt: Timestamp?
  private var backoff = Backoff(floor: 1, base: 5, limit: 300)
  private var examinations = 0
  private var examineAt = MonotonicTime.start

  /// True if the next capture uses the buffer.
  var isDue: Bool { retryAt.map { $0 <= .now } ?? true }

  mutating func fail(_ error: IIOError) {
    failure = error
    retryAt = Timestamp.now.advanced(bySeconds: backoff.next())
  }

  /// Returns whether the readings of a silent sensor must be compared now. Comparisons interrupt the capture, so
  /// their interval grows from the time limit to a minute.
  mutating func startExamination(timeout: Double) -> Bool {
    guard examineAt.hasPassed else { return false }
    examinations = min(examinations + 1, 16)
    examineAt = .after(min(timeout * Double(1 << examinations), max(timeout, 60)))
    return true
  }

  /// Records that the buffer has delivered samples.
  mutating func succeed() {
    (isQuiet, hasStalled, examinations, examineAt) = (false, false, 0, .start)
    guard failure != nil else { return }
    (failure, retryAt) = (nil, nil)
    backoff.reset()
  }
}
