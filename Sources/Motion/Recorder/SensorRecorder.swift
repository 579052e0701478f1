public import Platform
internal import Sensors
public import Spatial

/// Keeps accelerometer history on disk in a ring of bounded size and reads it back by civil time, across restarts.
///
/// Invariants: the file never exceeds its limit. A segment is written once, whole, with a checksum, so a crash or a loss of
/// power costs at most the segment under way (10 s at 50 Hz) and those not yet synchronized; everything else stays
/// readable. The oldest segment makes room for the newest. A disk that fills up shortens the ring instead of stopping it.
/// The format is described at `RecordedSegment`.
public struct SensorRecorder: ~Copyable, Sendable {
  public struct Settings: Hashable, Sendable {
    /// Bytes that the file may take; at least one segment. 50 Hz take 35 MB a day.
    public var sizeLimit = 100_000_000
    /// Seconds between recorded samples, as CMSensorRecorder's 50 Hz; nil records every one.
    public var interval: Double? = 0.02
    /// Seconds of recording after which the file is synchronized: what a loss of power may cost. Flash wears with each.
    public var synchronizationInterval = 60.0

    public init() {}
  }

  /// How many segments fit, at the limit or at what the disk had room for.
  public private(set) var segmentLimit: Int
  /// Whether the disk had less room than the limit allows.
  public private(set) var isShortOfSpace = false
  /// Slots found torn or damaged when the file was opened.
  public let damagedSegments: Int

  private let file: RandomAccessFile
  private let settings: Settings
  private var index: SegmentIndex
  private var boot: BootIdentity?
  private var utcOffset: Int64?
  private var pending: [AccelerometerData] = []
  private var recordsUntil: Timestamp?
  private var lastSynchronization: Timestamp?

  /// Opens a history to read it, also while the agent writes it.
  public init(reading path: String) throws(SystemError) {
    // Each part is made before any is stored: a struct that owns a file cannot be half made.
    let file = try RandomAccessFile(path: path, access: .readOnly)
    let index = try SegmentIndex(scanning: file)
    self.init(file: file, index: index, boot: nil, settings: Settings(), segmentLimit: index.slotCount)
  }

  /// Opens a history to add to it, or makes one.
  /// - Parameter boot: of this run of the machine.
  /// - Throws: `SystemError`; `EWOULDBLOCK` when another process writes to it.
  public init(path: String, boot: BootIdentity, settings: Settings = Settings()) throws(SystemError) {
    let file = try RandomAccessFile(path: path, access: .readWrite)
    let limit = max(1, settings.sizeLimit / RecordedSegment.slotSize)
    var index = try SegmentIndex(scanning: file)
    if index.slotCount > limit {
      // A smaller limit than last time. Slots beyond it are given up; their place tells nothing of their age.
      try file.truncate(to: Int64(limit * RecordedSegment.slotSize))
      index.forget(slotsFrom: limit)
    }
    self.init(file: file, index: index, boot: boot, settings: settings, segmentLimit: limit)
  }

  private init(
    file: consuming RandomAccessFile, index: SegmentIndex, boot: BootIdentity?, settings: Settings,
    segmentLimit: Int
  ) {
    self.file = file
    self.settings = settings
    self.index = index
    self.boot = boot
    self.segmentLimit = segmentLimit
    damagedSegments = index.damaged
  }

  /// Records for a while from a point in time on, as `CMSensorRecorder.recordAccelerometer(forDuration:)`; a later end
  /// replaces an earlier one, an earlier one is ignored. Without a call everything is recorded.
  public mutating func recordAccelerometer(forDuration seconds: Double, from start: Timestamp) {
    let end = start.advanced(bySeconds: seconds)
    recordsUntil = recordsUntil.map { max($0, end) } ?? end
  }

  /// Takes samples in. Those that are not finite, not later than the last, or sooner than the interval are left out.
  /// - Parameter utcOffset: nanoseconds to add to a timestamp for UTC, as it is known now; nil when it is not.
  /// - Throws: `SystemError` for a disk that fails. One that is merely full shortens the ring; only when it has no room for
  ///   a single segment is that an error.
  public mutating func record(_ block: [AccelerometerData], utcOffset: Int64?) throws(SystemError) {
    if utcOffset != self.utcOffset {
      // A step of the clock by more than what drifts within a segment starts a new one.
      if let old = self.utcOffset, let utcOffset, abs(old &- utcOffset) < 50_000_000 {
      } else {
        try flush()
      }
      self.utcOffset = utcOffset
    }
    for sample in block where sample.acceleration.isFinite {
      if let recordsUntil, sample.timestamp > recordsUntil { continue }
      if let last = pending.last?.timestamp {
        let step = sample.timestamp.seconds(since: last)
        // A tenth of the interval is jitter: leaving out such a sample would halve the rate.
        guard step > 0, step >= (settings.interval ?? 0) * 0.9 else { continue }
        if step > RecordedSegment.longestInterval { try flush() }
      }
      pending.append(sample)
      if pending.count == RecordedSegment.capacity { try flush() }
    }
  }

  /// Writes what waits for a full segment. Call it before the end; each call costs a slot of the ring.
  public mutating func flush() throws(SystemError) {
    guard let boot, let last = pending.last?.timestamp else { return }
    let segment = RecordedSegment(
      sequence: index.nextSequence, boot: boot, utcOffset: utcOffset, samples: pending)
    pending.removeAll(keepingCapacity: true)
    try write(segment)
    let since = lastSynchronization.map { last.seconds(since: $0) } ?? .infinity
    if since >= settings.synchronizationInterval {
      try file.synchronize()
      lastSynchronization = last
    }
  }

  /// Makes everything recorded so far survive a loss of power.
  public mutating func synchronize() throws(SystemError) {
    try flush()
    try file.synchronize()
  }

  private mutating func write(_ segment: RecordedSegment) throws(SystemError) {
    let bytes = segment.encoded()
    let slot = index.nextSlot(limit: segmentLimit)
    do {
      try file.write(bytes, at: Int64(slot * RecordedSegment.slotSize))
      index.record(segment, in: slot)
    } catch let error {
      guard error.isShortOfSpace, slot == index.slotCount, slot > 0 else { throw error }
      // No room to grow: from now on the ring is what there is. The torn piece at the end is cut off.
      try file.truncate(to: Int64(slot * RecordedSegment.slotSize))
      segmentLimit = slot
      isShortOfSpace = true
      let oldest = index.nextSlot(limit: slot)
      try file.write(bytes, at: Int64(oldest * RecordedSegment.slotSize))
      index.record(segment, in: oldest)
    }
  }

  /// The samples taken from `start` to `end`, and the gaps between them.
  ///
  /// What was recorded before a machine's clock was set is dated by the offset that became known later in the same run; a
  /// run in which no clock was ever set cannot be dated and is left out, counted in `undatedSegments`.
  public func accelerometerData(from start: UTCTime, to end: UTCTime) throws(SystemError) -> RecordedHistory {
    var history = RecordedHistory()
    for entry in index.entries.sorted(by: { $0.sequence < $1.sequence }) {
      guard let offset = index.offsets[entry.boot] else {
        history.undatedSegments += 1
        continue
      }
      guard entry.first.nanoseconds &+ offset <= end.nanoseconds,
        entry.last.nanoseconds &+ offset >= start.nanoseconds
      else { continue }
      let bytes = try file.read(
        count: RecordedSegment.slotSize, at: Int64(entry.slot * RecordedSegment.slotSize))
      // A writer may have replaced it since it was indexed.
      guard let segment = RecordedSegment(slot: bytes), segment.sequence == entry.sequence else { continue }
      for sample in segment.dated(by: offset, from: start, to: end) { history.append(sample) }
    }
    return history
  }

  /// The first samples taken from `start` to `end`, by civil time, those among them that wait for a full segment. A span of any
  /// length is read with bounded memory, call by call.
  /// - Parameter limit: how many at most.
  /// - Returns: the samples, and the time of the first one that there was no room for; nil when these were all.
  public func accelerometerData(
    from start: UTCTime, to end: UTCTime, limit: Int
  ) throws(SystemError) -> (samples: [RecordedAccelerometerData], next: UTCTime?) {
    var wanted: [(first: Int64, entry: SegmentIndex.Entry, offset: Int64)] = []
    for entry in index.entries {
      guard let offset = index.offsets[entry.boot] else { continue }
      let first = entry.first.nanoseconds &+ offset
      guard first <= end.nanoseconds, entry.last.nanoseconds &+ offset >= start.nanoseconds else { continue }
      wanted.append((first, entry, offset))
    }
    var found: [RecordedAccelerometerData] = []
    if let boot, let utcOffset {
      let waiting = RecordedSegment(
        sequence: index.nextSequence, boot: boot, utcOffset: utcOffset, samples: pending)
      found = waiting.dated(by: utcOffset, from: start, to: end)
    }
    for (first, entry, offset) in wanted.sorted(by: { $0.first < $1.first }) {
      // Where a clock was set back, segments overlap: one is enough only when the rest begins later.
      if found.count > limit, let last = found.map(\.time).sorted().dropFirst(limit).first,
        first > last.nanoseconds
      {
        break
      }
      let bytes = try file.read(
        count: RecordedSegment.slotSize, at: Int64(entry.slot * RecordedSegment.slotSize))
      guard let segment = RecordedSegment(slot: bytes), segment.sequence == entry.sequence else { continue }
      found += segment.dated(by: offset, from: start, to: end)
    }
    found.sort { ($0.time, $0.identifier) < ($1.time, $1.identifier) }
    return (Array(found.prefix(limit)), found.dropFirst(limit).first?.time)
  }

  /// From when to when there is something, by civil time; nil when nothing can be dated.
  public var recordedSpan: (start: UTCTime, end: UTCTime)? {
    var first = Int64.max
    var last = Int64.min
    for entry in index.entries {
      guard let offset = index.offsets[entry.boot] else { continue }
      first = min(first, entry.first.nanoseconds &+ offset)
      last = max(last, entry.last.nanoseconds &+ offset)
    }
    if let utcOffset, let oldest = pending.first?.timestamp, let newest = pending.last?.timestamp {
      first = min(first, oldest.nanoseconds &+ utcOffset)
      last = max(last, newest.nanoseconds &+ utcOffset)
    }
    return first <= last ? (UTCTime(nanoseconds: first), UTCTime(nanoseconds: last)) : nil
  }
}

extension RecordedSegment {
  /// Its samples of a span of civil time.
  fileprivate func dated(
    by offset: Int64, from start: UTCTime, to end: UTCTime
  ) -> [RecordedAccelerometerData] {
    samples.compactMap { sample in
      let time = UTCTime(nanoseconds: sample.timestamp.nanoseconds &+ offset)
      guard time >= start, time <= end else { return nil }
      return RecordedAccelerometerData(
        identifier: sequence, boot: boot, time: time, timestamp: sample.timestamp,
        acceleration: sample.acceleration)
    }
  }
}

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
