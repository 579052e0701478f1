public import Spatial

/// One sample read back, as `CMRecordedAccelerometerData`.
public struct RecordedAccelerometerData: Hashable, Sendable {
  /// Grows from segment to segment of the recording.
  public var identifier: UInt64
  /// The run of the machine in which it was taken.
  public var boot: BootIdentity
  /// Civil time.
  public var time: UTCTime
  /// On that run's own time line.
  public var timestamp: Timestamp
  /// g, device frame.
  public var acceleration: Vector3
}

/// What was recorded in a span of time, and what was not.
public struct RecordedHistory: Hashable, Sendable {
  /// A time without samples between two samples.
  public struct Gap: Hashable, Sendable {
    public var start: UTCTime
    public var end: UTCTime
    /// Whether the machine was started anew in between.
    public var isRestart: Bool
  }

  /// In the order in which they were taken.
  public private(set) var samples: [RecordedAccelerometerData] = []
  /// In the same order. Whether there is one before the first sample or after the last, the caller sees by their times.
  public private(set) var gaps: [Gap] = []
  /// Segments of runs in which no clock was ever set.
  public internal(set) var undatedSegments = 0

  mutating func append(_ sample: RecordedAccelerometerData) {
    if let last = samples.last {
      let isRestart = last.boot != sample.boot
      if isRestart || sample.timestamp.seconds(since: last.timestamp) > RecordedSegment.longestInterval {
        gaps.append(Gap(start: last.time, end: sample.time, isRestart: isRestart))
      }
    }
    samples.append(sample)
  }
}
