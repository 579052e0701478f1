public import Spatial

/// When something happened at this end: by the calendar, to compare with what vehicles say, and on this machine's own
/// time line, which never steps and so measures ages.
public struct Moment: Hashable, Sendable {
  public var time: UTCTime
  public var timestamp: Timestamp

  public init(time: UTCTime, timestamp: Timestamp) {
    self.time = time
    self.timestamp = timestamp
  }

  /// Seconds from `earlier` to this.
  package func seconds(since earlier: Moment) -> Double { timestamp.seconds(since: earlier.timestamp) }
}
