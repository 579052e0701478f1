internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// The machine's clock at a moment.
package struct SystemTime: Hashable, Sendable {
  package var time: UTCTime
  /// True if the kernel reports a synchronized clock (adjtimex(2) without STA_UNSYNC).
  package var isSynchronized: Bool

  package init(time: UTCTime, isSynchronized: Bool) {
    self.time = time
    self.isSynchronized = isSynchronized
  }
}

/// Converts times on the device's time line to civil time, using the best available clock:
///
/// 1. the machine's, while it is synchronized;
/// 2. the receiver's, after a fix;
/// 3. the machine's, after it was set manually;
/// 4. the machine's without synchronization, which may be wrong.
///
/// In a recording the receiver's time is the only one, and is used unchanged.
///
/// A better clock that is ahead is adopted immediately. If it is less than two seconds behind, civil time
/// runs at half speed until it is reached. If it is further behind, it is adopted immediately, too; numbered
/// messages then need a new epoch (`regressions`), so that time never goes back within one.
package struct TimeBase: Sendable {
  /// Nanoseconds to add to a timestamp, valid from `since` if civil time must first wait.
  private var offset: Int64
  /// The previous offset, which is left at half speed.
  private var former: (offset: Int64, since: Timestamp)?
  private let isVirtual: Bool
  /// Offset of the machine's clock; nil in a recording.
  private var system: Int64?
  private var isSystemSynchronized: Bool
  private var isSystemSet = false
  /// Offset of the receiver's clock, from the fix with the smallest delay.
  private var receiver: (offset: Int64, at: Timestamp)?
  /// The clock in use.
  package private(set) var clock: StatusMessage.Clock
  /// Last correction of civil time since the start in s, forward or back; nil if there was none.
  package private(set) var lastStep: Double?
  /// Number of times that civil time went back by more than could be waited for.
  package private(set) var regressions = 0

  /// 2025-01-01: a clock with an earlier time was never set.
  package static let earliestSaneTime = UTCTime(nanoseconds: 1_735_689_600_000_000_000)
  /// Maximum difference in ns for which civil time waits for a better clock.
  private static let longestWait: Int64 = 2_000_000_000
  /// Difference in ns between two readings of a clock from which it counts as set.
  private static let step: Int64 = 1_000_000_000
  /// Maximum assumed drift of the receiver's clock relative to the machine's.
  private static let drift = 1e-4

  /// - Parameters:
  ///   - timestamp: a time on the device's time line.
  ///   - system: civil time at that moment by the machine's clock.
  ///   - isVirtual: true if the time line is a recording's.
  init(timestamp: Timestamp, system: SystemTime, isVirtual: Bool) {
    offset = system.time.nanoseconds &- timestamp.nanoseconds
    self.isVirtual = isVirtual
    isSystemSynchronized = system.isSynchronized && !isVirtual && system.time >= Self.earliestSaneTime
    self.system = isVirtual ? nil : offset
    clock = isSystemSynchronized ? .system : .unsynchronized
  }

  func utc(at timestamp: Timestamp) -> UTCTime {
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(offset(at: timestamp))
    return UTCTime(nanoseconds: overflow ? timestamp.nanoseconds : sum)
  }

  /// Returns the civil time of an inertial sample, which is stamped when it is measured.
  /// - Parameter latency: delay in s of the receiver's positions on the same time line. Their arrival
  ///   determines the receiver's clock.
  func utc(ofSampleAt timestamp: Timestamp, latency: Double) -> UTCTime {
    utc(at: clock == .receiver ? timestamp.advanced(bySeconds: latency) : timestamp)
  }

  private func offset(at timestamp: Timestamp) -> Int64 {
    guard let former else { return offset }
    let passed = max(0, timestamp.nanoseconds &- former.since.nanoseconds)
    return max(offset, former.offset &- passed / 2)
  }

  /// Returns the civil time of a location, which those from `stamped` contain.
  func utc(of location: Location) -> UTCTime { location.time ?? utc(at: location.timestamp) }

  /// Returns the location with its civil time, assigned once at the entry.
  func stamped(_ location: Location) -> Location {
    var location = location
    location.time = utc(of: location)
    return location
  }

  /// Returns the nanoseconds to add to a timestamp; nil while no clock was set.
  func knownOffset(at timestamp: Timestamp) -> Int64? {
    utc(at: timestamp) >= Self.earliestSaneTime ? offset(at: timestamp) : nil
  }

  /// Returns civil time by a synchronized or manually set clock; nil if there is none.
  func trustedTime(at timestamp: Timestamp) -> UTCTime? {
    clock == .unsynchronized ? nil : utc(at: timestamp)
  }

  /// Returns civil time by the machine's clock; nil if it was never set, or in a recording.
  func machineTime(at timestamp: Timestamp) -> UTCTime? {
    guard let system else { return nil }
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(system)
    let time = UTCTime(nanoseconds: sum)
    return overflow || time < Self.earliestSaneTime ? nil : time
  }

  /// Updates the receiver's time.
  /// - Parameter hasFix: true if it belongs to an accepted position. Without one it may come from an unset
  ///   clock in the receiver, and is used only if there is no other.
  mutating func observe(_ time: UTCTime?, at timestamp: Timestamp, hasFix: Bool) {
    guard let time, time >= Self.earliestSaneTime else { return }
    guard hasFix || isVirtual || utc(at: timestamp) < Self.earliestSaneTime else { return }
    let new = time.nanoseconds &- timestamp.nanoseconds
    if isVirtual {
      (offset, clock) = (new, .receiver)
      return
    }
    if let known = receiver, abs(new &- known.offset) <= Self.step {
      // A fix arrives some tenths of a second late and never early, so the smallest delay is the most
      // accurate.
      let slack = Int64(Self.drift * Double(max(0, timestamp.nanoseconds &- known.at.nanoseconds)))
      receiver = (max(new, known.offset &- slack), max(timestamp, known.at))
    } else {
      receiver = (new, timestamp)
    }
    choose(at: timestamp)
  }

  /// Returns a report with its time corrected to the smallest recent delay. This removes additional delay by
  /// a loaded machine or a network; the common delay remains. Unchanged if the receiver reports no time.
  func withoutDelay(_ fix: PositionFix) -> PositionFix {
    guard !isVirtual, let receiver, let time = fix.time else { return fix }
    let delay = receiver.offset &- (time.nanoseconds &- fix.timestamp.nanoseconds)
    guard (1...Self.step).contains(delay) else { return fix }
    var fix = fix
    fix.timestamp = Timestamp(nanoseconds: fix.timestamp.nanoseconds &- delay)
    return fix
  }

  /// Updates the machine's clock.
  mutating func observe(_ now: SystemTime, at timestamp: Timestamp) {
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

/// Opens once per interval, on a grid that does not drift.
struct IntervalGate: Sendable {
  /// Interval in s.
  let interval: Double
  private var next: Timestamp?
  /// Tolerance in s for early samples, so that jitter at the sensor's own rate skips none.
  private var jitter: Double { min(interval / 20, 0.0025) }

  init(interval: Double) {
    self.interval = interval
  }

  /// Returns whether `isOpen` would return true.
  func isDue(at timestamp: Timestamp) -> Bool {
    guard let next else { return true }
    // The times restart if a timestamp is much earlier than the next due time.
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
    // After a silence longer than an interval a new grid starts, which prevents bursts.
    self.next =
      following > timestamp && timestamp >= next.advanced(bySeconds: -interval)
      ? following : timestamp.advanced(bySeconds: interval)
    return true
  }
}
