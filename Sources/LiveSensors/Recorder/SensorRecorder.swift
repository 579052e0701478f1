public import Motion
public import Platform
internal import Sensors
public import Spatial

/// Stores accelerometer history on disk in a ring of bounded size and reads it by civil time, across
/// restarts.
///
/// Invariants: the file never exceeds its limit. A segment is written once, as a whole, with a checksum. A
/// crash or a loss of power costs at most the segment in progress (10 s at 50 Hz) and those not yet
/// synchronized; everything else remains readable. New segments replace the oldest. On a full disk the ring
/// shrinks instead of stopping. The format is described at `RecordedSegment`.
public struct SensorRecorder: ~Copyable, Sendable {
  public struct Settings: Hashable, Sendable {
    /// Maximum size of the file in bytes; at least one segment. 50 Hz require 35 MB a day.
    public var sizeLimit = 100_000_000
    /// Interval in s between recorded samples, 50 Hz as in CMSensorRecorder; nil records every sample.
    public var interval: Double? = 0.02
    /// Interval in s between synchronizations of the file, the maximum loss at a power failure. Shorter
    /// intervals wear flash memory faster.
    public var synchronizationInterval = 60.0

    public init() {}
  }

  /// Capacity of the ring in segments, from the size limit or the available disk space.
  public private(set) var segmentLimit: Int
  /// True if the disk had less space than the limit allows.
  public private(set) var isShortOfSpace = false
  /// Number of torn or damaged slots found when the file was opened.
  public let damagedSegments: Int

  private let file: RandomAccessFile
  private let settings: Settings
  private var index: SegmentIndex
  private var boot: BootIdentity?
  private var utcOffset: Int64?
  private var pending: [AccelerometerData] = []
  private var recordsUntil: Timestamp?
  private var lastSynchronization: Timestamp?

  /// Opens a history for reading, also while another process writes it.
  public init(reading path: String) throws(SystemError) {
    // All parts are created before any is stored, because a struct that owns a file cannot be partly
    // initialized.
    let file = try RandomAccessFile(path: path, access: .readOnly)
    let index = try SegmentIndex(scanning: file)
    self.init(file: file, index: index, boot: nil, settings: Settings(), segmentLimit: index.slotCount)
  }

  /// Opens a history for writing, or creates it.
  /// - Parameter boot: identity of this boot of the machine.
  /// - Throws: `SystemError`; `EWOULDBLOCK` if another process writes to the file.
  public init(path: String, boot: BootIdentity, settings: Settings = Settings()) throws(SystemError) {
    let file = try RandomAccessFile(path: path, access: .readWrite)
    let limit = max(1, settings.sizeLimit / RecordedSegment.slotSize)
    var index = try SegmentIndex(scanning: file)
    if index.slotCount > limit {
      // The file was written with a larger limit. Its slots beyond the new limit are removed, whatever their
      // age.
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

  /// Limits recording to a duration from a point in time. The corresponding call of Core Motion is
  /// `CMSensorRecorder.recordAccelerometer(forDuration:)`. A later end replaces an earlier one; an earlier
  /// end is ignored. Without a call, all samples are recorded.
  public mutating func recordAccelerometer(forDuration seconds: Double, from start: Timestamp) {
    let end = start.advanced(bySeconds: seconds)
    recordsUntil = recordsUntil.map { max($0, end) } ?? end
  }

  /// Records samples. Samples that are not finite, not later than the last, or closer than the interval are
  /// skipped.
  /// - Parameter utcOffset: nanoseconds to add to a timestamp for UTC; nil if unknown.
  /// - Throws: `SystemError` if the disk fails. A full disk shrinks the ring; it is an error only if there is
  ///   no space for a single segment.
  public mutating func record(_ block: [AccelerometerData], utcOffset: Int64?) throws(SystemError) {
    if utcOffset != self.utcOffset {
      // A segment stores one UTC offset. Changes below 50 ms count as drift; a larger change of the clock
      // starts a new segment.
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
        // A sample may be early by a tenth of the interval. If such samples were skipped, a sensor with
        // exactly this interval would be recorded at half its rate.
        guard step > 0, step >= (settings.interval ?? 0) * 0.9 else { continue }
        if step > RecordedSegment.longestInterval { try flush() }
      }
      pending.append(sample)
      if pending.count == RecordedSegment.capacity { try flush() }
    }
  }

  /// Writes samples that wait for a full segment. Call it before exit; each call uses a slot of the ring.
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

  /// Synchronizes the file, so that everything recorded so far survives a loss of power.
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
      // No space to grow: the ring is limited to its present size. An incomplete slot at the end is removed.
      try file.truncate(to: Int64(slot * RecordedSegment.slotSize))
      segmentLimit = slot
      isShortOfSpace = true
      let oldest = index.nextSlot(limit: slot)
      try file.write(bytes, at: Int64(oldest * RecordedSegment.slotSize))
      index.record(segment, in: oldest)
    }
  }

  /// Returns the samples from `start` to `end`, and the gaps between them.
  ///
  /// Samples recorded before the clock was set are dated by the offset of a later time in the same boot. A
  /// boot during which the clock was never set cannot be dated; its segments are omitted and counted in
  /// `undatedSegments`.
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
      // A writer may have replaced the segment since it was indexed.
      guard let segment = RecordedSegment(slot: bytes), segment.sequence == entry.sequence else { continue }
      for sample in segment.dated(by: offset, from: start, to: end) { history.append(sample) }
    }
    return history
  }

  /// Returns the first samples from `start` to `end` in civil time, including those not yet written. Repeated
  /// calls read a span of any length with bounded memory.
  /// - Parameter limit: maximum number of samples.
  /// - Returns: the samples, and the time of the first one beyond the limit; nil if there are no more.
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
      // If a clock was set back, the civil times of segments overlap. Reading may stop only if the remaining
      // segments start later.
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

  /// Civil time of the oldest and the newest dated sample; nil if there are none.
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
  /// Returns the segment's samples within a span of civil time.
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

/// A stored sample. The corresponding type of Core Motion is `CMRecordedAccelerometerData`.
public struct RecordedAccelerometerData: Hashable, Sendable {
  /// Number that increases from segment to segment.
  public var identifier: UInt64
  /// Boot in which the sample was recorded.
  public var boot: BootIdentity
  /// Civil time of the sample.
  public var time: UTCTime
  /// Time of the sample on the device's clock, which counts from that boot.
  public var timestamp: Timestamp
  /// Acceleration in g, device frame.
  public var acceleration: Vector3
}

/// Recorded samples of a time span, and the gaps between them.
public struct RecordedHistory: Hashable, Sendable {
  /// A period without samples between two samples.
  public struct Gap: Hashable, Sendable {
    public var start: UTCTime
    public var end: UTCTime
    /// True if the machine was restarted within the gap.
    public var isRestart: Bool
  }

  /// Samples in order of recording.
  public private(set) var samples: [RecordedAccelerometerData] = []
  /// Gaps in order of recording. Gaps before the first or after the last sample are not included: compare the
  /// times of these samples with the requested span.
  public private(set) var gaps: [Gap] = []
  /// Number of segments of boots during which the clock was never set.
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
