internal import Spatial

/// When a recorded moment comes again.
///
/// A value: the present comes in. The recorder's times are the pace; vehicles' times are moved along the same line, so that
/// a message keeps its delay, seen at the speed of the replay.
struct ReplayClock: Hashable, Sendable {
  /// Recorded seconds for one of now; nil where pace is the broker's.
  let speed: Double?
  /// The first recorded moment, and when it comes again.
  private var origin: UTCTime
  private var start: UTCTime
  private var last: UTCTime
  /// Seconds of the recording that are skipped beyond between two messages.
  private let longestPause: Double

  /// - Parameter extent: the recorder's first and last moment. As fast as the broker takes it, the last is now.
  init(_ extent: ClosedRange<UTCTime>, speed: Double?, longestPause: Double?, start: UTCTime) {
    self.speed = speed
    self.longestPause = longestPause ?? .infinity
    origin = speed == nil ? extent.upperBound : extent.lowerBound
    self.start = start
    last = extent.lowerBound
  }

  /// When a message is due that was received at a moment; never earlier than the one before it.
  mutating func due(_ received: UTCTime) -> UTCTime {
    guard let speed else { return start }
    let pause = received.seconds(since: last)
    // A pause that is cut short moves the whole rest forward; a clock that was set back holds nothing up.
    if pause > longestPause { origin = origin.advanced(bySeconds: pause - longestPause) }
    if pause < 0 { origin = origin.advanced(bySeconds: pause) }
    last = received
    return start.advanced(bySeconds: received.seconds(since: origin) / speed)
  }

  /// A vehicle's time as it is said in the replay.
  func moved(_ time: UTCTime) -> UTCTime {
    start.advanced(bySeconds: time.seconds(since: origin) / (speed ?? 1))
  }
}
