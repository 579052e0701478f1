internal import Platform
package import Spatial

/// A conversion of the time stamps of one device to this machine's boot clock.
///
/// The interval between two samples is exactly that of the hardware: only a constant offset is added. For
/// local samples stamped with `CLOCK_BOOTTIME` the offset is zero. For a remote machine the offset is
/// estimated for all of its devices together (`RemoteClock`), so that simultaneous samples remain
/// simultaneous.
///
/// A local device accepts the setting of a clock and may still stamp with its own: the kernel's drivers of HID
/// sensor hubs pass the hub's stamps on unchanged (`accel_3d_proc_event`). The stamps are therefore compared
/// with the arrival of the samples. If they contradict the clock that was set, the device's own clock is
/// followed.
package struct HardwareClock: Sendable {
  /// The clock of this machine that a device was set to use.
  package enum Setting: Hashable, Sendable {
    case boottime
    /// `CLOCK_MONOTONIC`, which stops while the machine is suspended.
    case monotonic
  }

  /// Nanoseconds to add to a stamp; nil before the first block.
  package private(set) var offset: Int64?
  /// The clock to follow if the stamps are not those of a clock of this machine.
  private let own: RemoteClock
  /// The comparison with the clock that was set; nil if the stamps are those of another clock.
  private var comparison: ClockComparison?

  /// Creates a clock for stamps of a local device that was set to use a clock of this machine.
  ///
  /// - Parameters:
  ///   - own: the clock to follow if the device uses another one. The sensors of a hub share it.
  ///   - latency: the maximum delay of samples in s.
  package init(setTo setting: Setting, otherwise own: RemoteClock, latency: Double) {
    self.own = own
    comparison = ClockComparison(setting: setting, latency: latency)
  }

  /// Creates a clock for stamps of another machine.
  package init(following remote: RemoteClock) { own = remote }

  /// Records the arrival of a block. Call it before the block's stamps are converted.
  ///
  /// - Parameters:
  ///   - newest: the stamp of the block's last sample, ns.
  ///   - arrival: the time of arrival.
  ///   - period: ns between samples. A backward correction of up to `largestGradual` is made in steps of half a
  ///     period, so that time does not run backwards. A larger one, after the other clock was set forward, is
  ///     made immediately: otherwise the samples would lie in the future for minutes to hours.
  ///   - suspended: the total time in ns for which this machine has been suspended, for a local device.
  package mutating func observe(newest: Int64, arrival: Timestamp, period: Int64, suspended: Int64 = 0) {
    if var comparison {
      let isOwn = comparison.contradicts(
        newest: newest, arrival: arrival, period: period, suspended: suspended)
      if isOwn { own.isForeign = true }
      guard own.isForeign else {
        offset = comparison.offset
        self.comparison = comparison
        return
      }
      // Another sensor of the same hub may have revealed the hub's clock.
      (self.comparison, offset) = (nil, nil)
    }
    let target = own.observe(
      delay: arrival.nanoseconds &- newest, arrival: arrival, isNew: offset == nil, suspended: suspended)
    offset =
      offset.map {
        $0 &- target > Self.largestGradual ? target : max(target, $0 &- max(1, period / 2))
      } ?? target
  }

  /// The largest backward correction in ns that is made gradually. With blocks of half a second at 100 Hz it takes
  /// 100 s.
  private static let largestGradual: Int64 = 1_000_000_000

  /// Converts a stamp (ns) to this machine's boot clock; before the first block, the stamp is returned
  /// unchanged.
  package func timestamp(_ stamp: Int64) -> Timestamp {
    Timestamp(nanoseconds: stamp &+ (offset ?? 0))
  }
}

/// A comparison of a local device's stamps with the clock of this machine that it was set to use.
private struct ClockComparison {
  private let setting: HardwareClock.Setting
  /// The maximum age in ns of the newest sample when it is read on an idle machine. A sensor that reports only
  /// changes may report one just after a read, and reads are up to 1.5 times the latency apart.
  private let usualAge: Int64
  private var suspended: Int64?
  private var isFirst = true
  /// The least age in ns of the blocks in the present window.
  private var least: Int64 = .max
  private var windowStart: Timestamp?

  /// Stamps are taken before the arrival. Stamps that are later by more ns are those of another clock.
  private static let maximumLead: Int64 = 50_000_000
  /// The additional age in ns that the first block may have on a busy machine.
  private static let firstAllowance: Int64 = 2_000_000_000
  /// The additional age in ns that at least one block of a window does not exceed.
  private static let allowance: Int64 = 250_000_000

  init(setting: HardwareClock.Setting, latency: Double) {
    self.setting = setting
    usualAge = Int64(2 * min(max(latency, 0), 3600) * 1e9)
  }

  /// Nanoseconds to add to a stamp of the clock that was set.
  var offset: Int64 { setting == .monotonic ? suspended ?? 0 : 0 }

  /// Returns whether a block shows that its stamps are those of another clock.
  mutating func contradicts(newest: Int64, arrival: Timestamp, period: Int64, suspended total: Int64) -> Bool
  {
    // Two clocks cannot be read simultaneously, so the difference varies slightly. Only a suspend changes it
    // by more than 1 ms. A block that waited for the end of a suspend shows nothing.
    let hasSlept = suspended.map { abs(total &- $0) > 1_000_000 } ?? false
    if hasSlept || suspended == nil { suspended = total }
    let age = arrival.nanoseconds &- newest &- offset
    guard age >= -Self.maximumLead else { return true }
    guard !hasSlept else {
      (isFirst, least, windowStart) = (false, .max, nil)
      return false
    }
    if isFirst, age > usualAge + Self.firstAllowance { return true }
    isFirst = false
    least = min(least, age)
    guard let windowStart else {
      windowStart = arrival
      return false
    }
    guard arrival.nanoseconds - windowStart.nanoseconds >= RemoteClock.window else { return false }
    defer { (self.windowStart, least) = (arrival, .max) }
    return least > usualAge + Self.allowance + period
  }
}

/// A clock for samples without time stamps: equidistant at the nominal period, synchronized with the arrival
/// of blocks.
package struct PacedClock: Hashable, Sendable {
  /// The nominal interval between samples in ns.
  package var period: Int64
  private var last: Int64?

  package init(period: Int64) { self.period = max(1, period) }

  /// Returns the times of a block's samples, ascending; the last is at or before `arrival`.
  package mutating func timestamps(count: Int, arrival: Timestamp) -> [Timestamp] {
    guard count > 0 else { return [] }
    let arrival = arrival.nanoseconds
    var newest = arrival
    if let last {
      let expected = last + Int64(count) * period
      let error = arrival - expected
      // Scheduling can only delay a block, so the clock follows later arrivals slowly, unless the error shows
      // that samples were lost.
      if abs(error) <= max(Int64(count) * period, 100_000_000) {
        newest = min(arrival, expected + error / 10)
      }
    }
    let floor = last ?? (newest - Int64(count) * period)
    let step = max(1, min(period, (newest - floor) / Int64(count)))
    newest = max(newest, floor + Int64(count) * step)
    last = newest
    return (0..<count).map { Timestamp(nanoseconds: newest - Int64(count - 1 - $0) * step) }
  }
}

/// The offset of another machine's or a sensor hub's clock, estimated from all blocks of all its devices.
///
/// The offset is the minimum of arrival time here minus stamp there, because a sample cannot arrive before it
/// was measured, and the least delayed one is the most accurate. The oscillators of the two machines drift
/// (tens of microseconds per second). If the estimate of the last window differs by more than `tolerance`,
/// the offset is corrected and counted. Separate estimates for each device would shift simultaneous samples
/// by the difference of their delays.
package final class RemoteClock: Sendable {
  /// The error of the offset in ns above which it is corrected.
  package static let tolerance: Int64 = 20_000_000
  /// The duration in ns of a window over which the minimum delay is determined.
  package static let window: Int64 = 60_000_000_000
  /// A threshold in ns. If the first block of a capture deviates from the offset by more, the remote clock
  /// was set or the machine restarted, and the offset is replaced. Within a capture, such a delay is a stall.
  package static let jump: Int64 = 10_000_000_000

  private struct State {
    var offset: Int64?
    var corrections = 0
    var least: Int64 = .max
    var windowStart: Timestamp?
    var suspended: Int64 = 0
    var isForeign = false
  }
  private let state = Locked(State())

  package init() {}

  /// The number of corrections of the offset.
  package var corrections: Int { state.withLock(\.corrections) }

  /// True if a local device that was set to use a clock of this machine uses this one.
  package var isForeign: Bool {
    get { state.withLock(\.isForeign) }
    set { state.withLock { $0.isForeign = newValue } }
  }

  /// Records a block's delay, and returns the offset to use.
  ///
  /// - Parameters:
  ///   - delay: arrival here minus the newest stamp, ns.
  ///   - arrival: the time of arrival.
  ///   - isNew: true for the first block of a capture.
  ///   - suspended: the total time in ns for which this machine has been suspended. A hub's clock may stop
  ///     meanwhile, so the offset is replaced afterwards.
  func observe(delay: Int64, arrival: Timestamp, isNew: Bool, suspended: Int64 = 0) -> Int64 {
    state.withLock { state in
      let hasSlept = abs(suspended &- state.suspended) > 1_000_000
      if hasSlept { state.suspended = suspended }
      guard let offset = state.offset, !hasSlept, !isNew || (delay &- offset).magnitude < Self.jump else {
        if state.offset != nil { state.corrections += 1 }
        (state.offset, state.least, state.windowStart) = (delay, delay, arrival)
        return delay
      }
      state.least = min(state.least, delay)
      let isOver = state.windowStart.map { arrival.nanoseconds - $0.nanoseconds >= Self.window } ?? true
      if state.least < offset &- Self.tolerance || (isOver && state.least > offset &+ Self.tolerance) {
        state.offset = state.least
        state.corrections += 1
      }
      if isOver { (state.least, state.windowStart) = (delay, arrival) }
      return state.offset ?? delay
    }
  }
}

/// The clocks that stamp the samples of one context's devices.
package final class RemoteClocks: Sendable {
  private let clocks = Locked<[String: RemoteClock]>([:])

  package init() {}

  /// Returns the clock of a device.
  ///
  /// - Parameters:
  ///   - device: the driver's name of the device.
  ///   - setting: the kernel's name of the clock that the device uses; nil for the kernel's default if the
  ///     driver does not report it.
  ///   - isOwn: true for the device's own clock. The sensors of a hub always use the hub's clock.
  package func clock(of device: String?, setTo setting: String?, isOwn: Bool = false) -> RemoteClock {
    let name: String
    if HIDSensor.isName(device) {
      name = "hub"
    } else if isOwn {
      name = "device \(device ?? "")"
    } else {
      name = setting ?? "realtime"
    }
    return clocks.withLock { clocks in
      if let clock = clocks[name] { return clock }
      let clock = RemoteClock()
      clocks[name] = clock
      return clock
    }
  }
}

/// Sensors of a HID sensor hub, which the kernel's drivers name (drivers/iio/*/hid-sensor-*.c).
enum HIDSensor {
  private static let names: Set<String> = [
    "accel_3d", "gravity", "gyro_3d", "magn_3d", "press", "temperature",
  ]

  static func isName(_ name: String?) -> Bool { name.map(names.contains) ?? false }
}
