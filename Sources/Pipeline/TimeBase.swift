internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// A reading of the machine's civil clock.
package struct SystemTime: Hashable, Sendable {
  package var time: UTCTime
  /// True if the kernel reports a synchronized clock (adjtimex(2) without STA_UNSYNC).
  package var isSynchronized: Bool

  package init(time: UTCTime, isSynchronized: Bool) {
    self.time = time
    self.isSynchronized = isSynchronized
  }
}

/// Converts timestamps of the device's monotonic clock to civil time, by the best available civil clock:
///
/// 1. the machine's clock, while it is synchronized;
/// 2. the receiver's clock, after a fix;
/// 3. the machine's clock, after it was set manually;
/// 4. the machine's clock, although it is not synchronized and may be wrong.
///
/// In the replay of a recording, only the receiver's time is used, unchanged.
///
/// A better clock that is ahead is adopted immediately. If it is behind by at most two seconds, civil time
/// runs at half speed until it agrees with that clock. If it is further behind, it is adopted immediately,
/// and `regressions` increases. Numbered messages then need a new epoch, so that time never decreases within
/// an epoch.
package struct TimeBase: Sendable {
  /// Nanoseconds to add to a timestamp for civil time. While civil time runs at half speed, the sum with this
  /// offset is the time to be reached.
  private var offset: Int64
  /// The previous offset, and the time since which civil time runs at half speed; nil at normal speed.
  private var former: (offset: Int64, since: Timestamp)?
  private let isVirtual: Bool
  /// Nanoseconds to add to a timestamp for the machine's civil time; nil in a replay.
  private var system: Int64?
  private var isSystemSynchronized: Bool
  private var isSystemSet = false
  /// Nanoseconds to add to a timestamp for the receiver's civil time, by the fix with the smallest delay; nil
  /// before the first fix.
  private var receiver: (offset: Int64, at: Timestamp)?
  /// The civil clock in use.
  package private(set) var clock: StatusMessage.Clock
  /// Last correction of civil time since the start in s, positive if forward; nil if there was none.
  package private(set) var lastStep: Double?
  /// Number of times that civil time jumped back, because the better clock was more than two seconds behind.
  package private(set) var regressions = 0

  /// 2025-01-01. A clock with an earlier time has never been set.
  package static let earliestSaneTime = UTCTime(nanoseconds: 1_735_689_600_000_000_000)
  /// Maximum difference in ns by which a better clock may be behind so that civil time runs at half speed
  /// instead of jumping.
  private static let longestWait: Int64 = 2_000_000_000
  /// Change in ns between two readings of a clock's offset above which the clock is considered to have been
  /// set.
  private static let step: Int64 = 1_000_000_000
  /// Maximum assumed drift of the receiver's clock relative to the machine's, in seconds per second.
  private static let drift = 1e-4

  /// - Parameters:
  ///   - timestamp: current timestamp of the device's monotonic clock.
  ///   - system: the machine's civil clock at `timestamp`.
  ///   - isVirtual: true in the replay of a recording.
  package init(timestamp: Timestamp, system: SystemTime, isVirtual: Bool) {
    offset = system.time.nanoseconds &- timestamp.nanoseconds
    self.isVirtual = isVirtual
    isSystemSynchronized = system.isSynchronized && !isVirtual && system.time >= Self.earliestSaneTime
    self.system = isVirtual ? nil : offset
    clock = isSystemSynchronized ? .system : .unsynchronized
  }

  package func utc(at timestamp: Timestamp) -> UTCTime {
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(offset(at: timestamp))
    return UTCTime(nanoseconds: overflow ? timestamp.nanoseconds : sum)
  }

  /// Returns the civil time of an inertial sample, whose timestamp is that of the measurement.
  /// - Parameter latency: delay in s between the receiver's measurements and their timestamps. The receiver's
  ///   clock has the same delay, which is corrected here.
  func utc(ofSampleAt timestamp: Timestamp, latency: Double) -> UTCTime {
    utc(at: clock == .receiver ? timestamp.advanced(bySeconds: latency) : timestamp)
  }

  private func offset(at timestamp: Timestamp) -> Int64 {
    guard let former else { return offset }
    let passed = max(0, timestamp.nanoseconds &- former.since.nanoseconds)
    return max(offset, former.offset &- passed / 2)
  }

  /// Returns the civil time of a location: the time assigned by `stamped`, or else that of its timestamp.
  func utc(of location: Location) -> UTCTime { location.time ?? utc(at: location.timestamp) }

  /// Returns the location with its civil time, which is assigned once, when the location enters the pipeline.
  func stamped(_ location: Location) -> Location {
    var location = location
    location.time = utc(of: location)
    return location
  }

  /// Returns the nanoseconds to add to a timestamp for civil time; nil if no clock was set yet.
  package func knownOffset(at timestamp: Timestamp) -> Int64? {
    utc(at: timestamp) >= Self.earliestSaneTime ? offset(at: timestamp) : nil
  }

  /// Returns civil time by a synchronized or manually set clock; nil if there is none.
  func trustedTime(at timestamp: Timestamp) -> UTCTime? {
    clock == .unsynchronized ? nil : utc(at: timestamp)
  }

  /// Returns civil time by the machine's clock; nil if it was never set, or in a recording.
  package func machineTime(at timestamp: Timestamp) -> UTCTime? {
    guard let system else { return nil }
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(system)
    let time = UTCTime(nanoseconds: sum)
    return overflow || time < Self.earliestSaneTime ? nil : time
  }

  /// Updates the receiver's clock.
  /// - Parameters:
  ///   - time: civil time by the receiver; nil if it reports none.
  ///   - timestamp: timestamp of the receiver's report.
  ///   - hasFix: true if the time belongs to an accepted position. Without a position, the receiver's clock
  ///     may not be set, and its time is only used if there is no other clock.
  package mutating func observe(_ time: UTCTime?, at timestamp: Timestamp, hasFix: Bool) {
    guard let time, time >= Self.earliestSaneTime else { return }
    guard hasFix || isVirtual || utc(at: timestamp) < Self.earliestSaneTime else { return }
    let new = time.nanoseconds &- timestamp.nanoseconds
    if isVirtual {
      (offset, clock) = (new, .receiver)
      return
    }
    if let known = receiver, abs(new &- known.offset) <= Self.step {
      // A fix arrives some tenths of a second after its time, and never before. The fix with the smallest
      // delay therefore determines the clock most accurately.
      let slack = Int64(Self.drift * Double(max(0, timestamp.nanoseconds &- known.at.nanoseconds)))
      receiver = (max(new, known.offset &- slack), max(timestamp, known.at))
    } else {
      receiver = (new, timestamp)
    }
    choose(at: timestamp)
  }

  /// Returns a report whose timestamp is corrected to the smallest recent delay. This removes additional
  /// delay by a busy machine or a network, but not the delay common to all reports. A report without a time
  /// is unchanged.
  func withoutDelay(_ fix: PositionFix) -> PositionFix {
    guard !isVirtual, let receiver, let time = fix.time else { return fix }
    let delay = receiver.offset &- (time.nanoseconds &- fix.timestamp.nanoseconds)
    guard (1...Self.step).contains(delay) else { return fix }
    var fix = fix
    fix.timestamp = Timestamp(nanoseconds: fix.timestamp.nanoseconds &- delay)
    return fix
  }

  /// Updates the machine's clock.
  package mutating func observe(_ now: SystemTime, at timestamp: Timestamp) {
    guard !isVirtual, let before = system else { return }
    let new = now.time.nanoseconds &- timestamp.nanoseconds
    let isSane = now.time >= Self.earliestSaneTime
    if abs(new &- before) > Self.step { isSystemSet = isSane }
    system = new
    isSystemSynchronized = now.isSynchronized && isSane
    choose(at: timestamp)
  }

  private mutating func choose(at timestamp: Timestamp) {
    guard let system else { return }
    if isSystemSynchronized {
      follow(.system, system, at: timestamp)
    } else if let receiver {
      follow(.receiver, receiver.offset, at: timestamp)
    } else {
      follow(isSystemSet ? .system : .unsynchronized, system, at: timestamp)
    }
  }

  private mutating func follow(_ clock: StatusMessage.Clock, _ new: Int64, at timestamp: Timestamp) {
    self.clock = clock
    guard new != offset else { return }
    let present = offset(at: timestamp)
    if abs(new &- present) > Self.step { lastStep = Double(new &- present) * 1e-9 }
    former = nil
    if new < present {
      if present &- new > Self.longestWait {
        regressions += 1
      } else {
        former = (present, timestamp)
      }
    }
    offset = new
  }
}

/// Opens at most once per interval, on a fixed time grid, so that the average rate does not drift.
struct IntervalGate: Sendable {
  /// Interval in s.
  let interval: Double
  private var next: Timestamp?
  /// Tolerance in s for early samples. Without it, jitter would skip samples whose rate equals that of the
  /// gate.
  private var jitter: Double { min(interval / 20, 0.0025) }

  init(interval: Double) {
    self.interval = interval
  }

  /// Returns whether `isOpen` would return true.
  func isDue(at timestamp: Timestamp) -> Bool {
    guard let next else { return true }
    // If a timestamp is much earlier than the next due time, the clock was set back, and the gate opens.
    return timestamp >= next.advanced(bySeconds: -jitter)
      || timestamp < next.advanced(bySeconds: -2 * interval)
  }

  mutating func isOpen(at timestamp: Timestamp) -> Bool {
    guard isDue(at: timestamp) else { return false }
    guard let next else {
      self.next = timestamp.advanced(bySeconds: interval)
      return true
    }
    let following = next.advanced(bySeconds: interval)
    // After a pause of more than an interval, a new time grid starts. The gate would otherwise open for
    // several samples in succession.
    self.next =
      following > timestamp && timestamp >= next.advanced(bySeconds: -interval)
      ? following : timestamp.advanced(bySeconds: interval)
    return true
  }
}
