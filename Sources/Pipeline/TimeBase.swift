internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// The machine's own clock at a moment.
package struct SystemTime: Hashable, Sendable {
  package var time: UTCTime
  /// Whether the kernel knows that something keeps it right (adjtimex(2) without STA_UNSYNC).
  package var isSynchronized: Bool

  package init(time: UTCTime, isSynchronized: Bool) {
    self.time = time
    self.isSynchronized = isSynchronized
  }
}

/// Civil time for points on the device's time line, by the best clock that there is:
///
/// 1. the machine's, while something keeps it right;
/// 2. the receiver's, once a fix told it;
/// 3. the machine's, since somebody set it;
/// 4. the machine's as it was found, which may say anything.
///
/// In a recording the receiver's time is the only one there is, and is taken as it comes.
///
/// A better clock that is ahead is followed at once. To one that is less than two seconds behind, time runs at half its
/// speed until it is reached. One that is further behind is followed at once, too: whoever numbers messages must begin a new
/// epoch then (`regressions`), so that time never goes back within one.
package struct TimeBase: Sendable {
  /// Nanoseconds to add to a timestamp, from `since` on, where time may have to wait for it.
  private var offset: Int64
  /// The offset before it, that is left at half speed.
  private var former: (offset: Int64, since: Timestamp)?
  private let isVirtual: Bool
  /// By the machine's clock; nil in a recording.
  private var system: Int64?
  private var isSystemSynchronized: Bool
  private var isSystemSet = false
  /// By the receiver's clock, from the fix that came the soonest after its moment.
  private var receiver: (offset: Int64, at: Timestamp)?
  /// The clock that is followed.
  package private(set) var clock: StatusMessage.Clock
  /// Seconds by which civil time was last set since the start, forward or back; nil when it was not.
  package private(set) var lastStep: Double?
  /// How often time went back by more than could be waited for.
  package private(set) var regressions = 0

  /// 2025-01-01: a clock that says earlier was never set.
  package static let earliestSaneTime = UTCTime(nanoseconds: 1_735_689_600_000_000_000)
  /// Nanoseconds: what a better clock may be behind for time to wait for it.
  private static let longestWait: Int64 = 2_000_000_000
  /// Nanoseconds: two looks at one clock that differ by more have seen it being set.
  private static let step: Int64 = 1_000_000_000
  /// How much slower than the machine's a receiver's clock is believed to be at the most.
  private static let drift = 1e-4

  /// - Parameters:
  ///   - timestamp: a point on the device's time line.
  ///   - system: civil time at that point by the machine's clock.
  ///   - isVirtual: whether the time line is a recording's.
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

  /// Civil time of an inertial sample, which is stamped when it is taken.
  /// - Parameter latency: seconds by which the receiver's positions, from whose arrival its clock is known, are late on the same
  ///   line.
  func utc(ofSampleAt timestamp: Timestamp, latency: Double) -> UTCTime {
    utc(at: clock == .receiver ? timestamp.advanced(bySeconds: latency) : timestamp)
  }

  private func offset(at timestamp: Timestamp) -> Int64 {
    guard let former else { return offset }
    let passed = max(0, timestamp.nanoseconds &- former.since.nanoseconds)
    return max(offset, former.offset &- passed / 2)
  }

  /// Civil time of a location; those that came in by `stamped` carry it.
  func utc(of location: Location) -> UTCTime { location.time ?? utc(at: location.timestamp) }

  /// The location with its civil time: where it enters, once and for all.
  func stamped(_ location: Location) -> Location {
    var location = location
    location.time = utc(of: location)
    return location
  }

  /// Nanoseconds to add to a timestamp; nil while no clock was set.
  func knownOffset(at timestamp: Timestamp) -> Int64? {
    utc(at: timestamp) >= Self.earliestSaneTime ? offset(at: timestamp) : nil
  }

  /// Civil time by a clock that somebody keeps right or has set; nil while there is none.
  func trustedTime(at timestamp: Timestamp) -> UTCTime? {
    clock == .unsynchronized ? nil : utc(at: timestamp)
  }

  /// Civil time by the machine's own clock; nil when that was never set, or in a recording.
  func machineTime(at timestamp: Timestamp) -> UTCTime? {
    guard let system else { return nil }
    let (sum, overflow) = timestamp.nanoseconds.addingReportingOverflow(system)
    let time = UTCTime(nanoseconds: sum)
    return overflow || time < Self.earliestSaneTime ? nil : time
  }

  /// Takes the receiver's time.
  /// - Parameter hasFix: whether it comes with a position that is believed; without one it may be that of a clock in the
  ///   receiver that was never set right, and is better than nothing only.
  mutating func observe(_ time: UTCTime?, at timestamp: Timestamp, hasFix: Bool) {
    guard let time, time >= Self.earliestSaneTime else { return }
    guard hasFix || isVirtual || utc(at: timestamp) < Self.earliestSaneTime else { return }
    let new = time.nanoseconds &- timestamp.nanoseconds
    if isVirtual {
      (offset, clock) = (new, .receiver)
      return
    }
    if let known = receiver, abs(new &- known.offset) <= Self.step {
      // A fix comes some tenths of a second after its moment, and never before: the quickest is right.
      let slack = Int64(Self.drift * Double(max(0, timestamp.nanoseconds &- known.at.nanoseconds)))
      receiver = (max(new, known.offset &- slack), max(timestamp, known.at))
    } else {
      receiver = (new, timestamp)
    }
    choose(at: timestamp)
  }

  /// A report as of the moment at which the quickest of late would have come: what a machine under load, or a network, adds to
  /// the way of some is taken off. The rest, which all have in common, stays. Unchanged where the receiver tells no time.
  func withoutDelay(_ fix: PositionFix) -> PositionFix {
    guard !isVirtual, let receiver, let time = fix.time else { return fix }
    let delay = receiver.offset &- (time.nanoseconds &- fix.timestamp.nanoseconds)
    guard (1...Self.step).contains(delay) else { return fix }
    var fix = fix
    fix.timestamp = Timestamp(nanoseconds: fix.timestamp.nanoseconds &- delay)
    return fix
  }

  /// Looks at the machine's clock.
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

/// Opens once in every interval, on a grid that does not drift.
struct IntervalGate: Sendable {
  /// Seconds.
  let interval: Double
  private var next: Timestamp?
  /// Seconds by which a sample may come early, so that jitter at the sensor's own rate leaves none out.
  private var jitter: Double { min(interval / 20, 0.0025) }

  init(interval: Double) {
    self.interval = interval
  }

  /// Returns whether `isOpen` would open.
  func isDue(at timestamp: Timestamp) -> Bool {
    guard let next else { return true }
    // Time that went back starts a new grid.
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
    // After a silence longer than an interval the grid starts anew, so that nothing comes in a burst.
    self.next =
      following > timestamp && timestamp >= next.advanced(bySeconds: -interval)
      ? following : timestamp.advanced(bySeconds: interval)
    return true
  }
}
