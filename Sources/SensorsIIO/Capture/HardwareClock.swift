internal import Platform
package import Spatial

/// A conversion of the time stamps of one device to this machine's boot clock.
///
/// The interval between two samples is exactly that of the hardware: only a constant offset is added. For
/// local samples stamped with `CLOCK_BOOTTIME` the offset is zero. For a remote machine the offset is
/// estimated for all of its devices together (`RemoteClock`), so that simultaneous samples remain
/// simultaneous. While the offset is corrected, intervals change by at most 5 %.
///
/// A local device accepts the setting of a clock and may still stamp with its own: the kernel's drivers of HID
/// sensor hubs pass the hub's stamps on unchanged (`accel_3d_proc_event`), and `st_lsm6dsx` counts with the
/// chip's oscillator. The stamps are therefore compared with the arrival of the samples. If they contradict the
/// clock that was set, the device's own clock is followed.
package struct HardwareClock: Sendable {
  /// The clock of this machine that a device was set to use.
  package enum Setting: Hashable, Sendable {
    case boottime
    /// `CLOCK_MONOTONIC`, which stops while the machine is suspended.
    case monotonic
  }

  /// The clock to follow if the stamps are not those of a clock of this machine.
  private let own: RemoteClock
  /// The comparison with the clock that was set; nil if the stamps are those of another clock.
  private var comparison: ClockComparison?
  /// Nil before the first block.
  private var conversion: StampConversion?
  /// The conversion of the stamps before the device restarted its clock during the last block.
  private var conversionBeforeReset: StampConversion?
  /// The stamp of the last block's last sample.
  private var newest: Int64 = 0

  /// Creates a clock for stamps of a local device that was set to use a clock of this machine.
  ///
  /// - Parameters:
  ///   - own: the clock to follow if the device uses another one. The sensors of a hub or chip share it.
  ///   - latency: the maximum delay of samples in s.
  package init(setTo setting: Setting, otherwise own: RemoteClock, latency: Double) {
    self.own = own
    comparison = ClockComparison(setting: setting, latency: latency)
  }

  /// Creates a clock for stamps of another machine.
  package init(following remote: RemoteClock) { own = remote }

  /// Nanoseconds to add to the newest stamp; nil before the first block.
  package var offset: Int64? { conversion?.offset(at: newest) }

  /// Records the arrival of a block. Call it before the block's stamps are converted.
  ///
  /// - Parameters:
  ///   - newest: the stamp of the block's last sample, ns.
  ///   - arrival: the time of arrival.
  ///   - period: ns between samples.
  ///   - suspended: the total time in ns for which this machine has been suspended, for a local device.
  package mutating func observe(newest: Int64, arrival: Timestamp, period: Int64, suspended: Int64 = 0) {
    let isReset = conversion != nil && newest < self.newest
    let previous = offset
    self.newest = newest
    var delay = arrival.nanoseconds &- newest
    if var comparison {
      let isOwn = comparison.contradicts(
        newest: newest, arrival: arrival, period: period, suspended: suspended)
      if isOwn { own.isForeign = true }
      guard own.isForeign else {
        conversion = StampConversion(offset: comparison.offset)
        self.comparison = comparison
        return
      }
      // Another sensor of the same hub or chip may have revealed its clock.
      self.comparison = nil
      delay = min(delay, comparison.leastDelay ?? delay)
    }
    let following = own.observe(
      newest: newest, delay: delay, arrival: arrival, previous: previous, isReset: isReset,
      suspended: suspended)
    conversionBeforeReset = isReset ? conversion : nil
    conversion = following
  }

  /// Converts a stamp (ns) to this machine's boot clock; before the first block, the stamp is returned
  /// unchanged.
  package func timestamp(_ stamp: Int64) -> Timestamp {
    let conversion = stamp > newest ? conversionBeforeReset ?? conversion : conversion
    return Timestamp(nanoseconds: stamp &+ (conversion?.offset(at: stamp) ?? 0))
  }
}

/// The offset from the stamps of a clock to this machine's boot clock: a continuous, piecewise linear function
/// of the stamp.
struct StampConversion: Sendable {
  private struct Segment {
    var first: Int64
    /// The offset in ns at `first`, and its change per ns.
    var offset: Int64
    var slope = 0.0

    func offset(at stamp: Int64) -> Int64 {
      slope == 0 ? offset : offset &+ Int64(Double(stamp &- first) * slope)
    }
  }

  private var current: Segment
  /// Earlier segments, ascending: devices of one clock deliver simultaneous samples at different times.
  private var earlier: [Segment] = []

  /// Creates a conversion with a constant offset.
  init(offset: Int64) { current = Segment(first: .min, offset: offset) }

  /// Nanoseconds of offset per nanosecond.
  var slope: Double { current.slope }

  func offset(at stamp: Int64) -> Int64 {
    if stamp >= current.first || earlier.isEmpty { return current.offset(at: stamp) }
    return (earlier.last { stamp >= $0.first } ?? earlier[0]).offset(at: stamp)
  }

  /// Changes the slope, and optionally the offset, for stamps from `stamp`.
  mutating func change(from stamp: Int64, slope: Double, offset: Int64? = nil) {
    guard slope != self.slope || offset != nil else { return }
    let new = Segment(first: stamp, offset: offset ?? self.offset(at: stamp), slope: slope)
    // Slopes that change slightly in rapid succession do not need a segment each.
    if offset == nil, slope != 0, self.slope != 0, stamp &- current.first < Self.shortest { return }
    if earlier.count >= Self.limit { earlier.removeFirst() }
    earlier.append(current)
    current = new
  }

  /// The minimum length of a segment in ns, and the maximum number of earlier segments.
  private static let shortest: Int64 = 250_000_000
  private static let limit = 16
}

/// A comparison of a local device's stamps with the clock of this machine that it was set to use.
private struct ClockComparison {
  private let setting: HardwareClock.Setting
  /// The maximum age in ns of the newest sample when it is read on an idle machine. A sensor that reports only
  /// changes may report one just after a read, and reads are up to 1.5 times the latency apart.
  private let usualAge: Int64
  private var suspended: Int64?
  private var isFirst = true
  /// The least age in ns of the blocks in the present window, and their number.
  private var least: Int64 = .max
  private var count = 0
  private var windowStart: Timestamp?
  /// The least age in ns of all blocks.
  private var floor: Int64 = .max
  /// The least age in ns in the last complete window; nil before its end.
  private var leastOfWindow: Int64?

  /// Stamps are taken before the arrival. Stamps that are later by more ns are those of another clock.
  private static let maximumLead: Int64 = 50_000_000
  /// The additional age in ns that the first block may have on a busy machine.
  private static let firstAllowance: Int64 = 2_000_000_000
  /// The additional age in ns that at least one block of a window does not exceed.
  private static let allowance: Int64 = 250_000_000
  /// The duration of a window in ns.
  private static let window: Int64 = 20_000_000_000
  /// The number of blocks in a window from which its least age is comparable with those of other windows.
  private static let comparable = 8

  init(setting: HardwareClock.Setting, latency: Double) {
    self.setting = setting
    usualAge = Int64(2 * min(max(latency, 0), 3600) * 1e9)
  }

  /// Nanoseconds to add to a stamp of the clock that was set.
  var offset: Int64 { setting == .monotonic ? suspended ?? 0 : 0 }

  /// The least delay in ns of the blocks in the last complete window; nil before its end.
  var leastDelay: Int64? { leastOfWindow.map { $0 &+ offset } }

  /// Returns whether a block shows that its stamps are those of another clock.
  mutating func contradicts(newest: Int64, arrival: Timestamp, period: Int64, suspended total: Int64) -> Bool
  {
    // Two clocks cannot be read simultaneously, so the difference varies slightly. Only a suspend changes it
    // by more than 1 ms. A block that waited for the end of a suspend shows nothing.
    let hasSlept = suspended.map { abs(total &- $0) > 1_000_000 } ?? false
    if hasSlept || suspended == nil { suspended = total }
    let age = arrival.nanoseconds &- newest &- offset
    leastOfWindow = nil
    guard age >= -Self.maximumLead else { return true }
    guard !hasSlept else {
      (isFirst, least, count, windowStart) = (false, .max, 0, nil)
      return false
    }
    if isFirst, age > usualAge + Self.firstAllowance { return true }
    isFirst = false
    least = min(least, age)
    floor = min(floor, age)
    count += 1
    guard let windowStart else {
      windowStart = arrival
      return false
    }
    guard arrival.nanoseconds - windowStart.nanoseconds >= Self.window else { return false }
    defer { (self.windowStart, least, count) = (arrival, .max, 0) }
    leastOfWindow = least
    // A clock with another rate shows in the increase of the least age. The age of the blocks of a hardware FIFO
    // that is read by the clock varies by the latency.
    let limit = count < Self.comparable ? usualAge : min(usualAge, min(floor, usualAge) + usualAge / 2)
    return least > limit + Self.allowance + period
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

/// The offset of another machine's, a sensor hub's or a chip's clock, estimated from all blocks of all its
/// devices.
///
/// The offset is the minimum of arrival time here minus stamp there, because a sample cannot arrive before it
/// was measured, and the least delayed one is the most accurate. The oscillators of two machines drift by tens
/// of microseconds per second, an untrimmed oscillator of a chip by up to some per cent. If the estimate of the
/// last seconds differs by more than `tolerance`, the offset follows it gradually, and the correction is counted.
/// Separate estimates for each device would shift simultaneous samples by the difference of their delays.
package final class RemoteClock: Sendable {
  /// The error of the offset in ns above which it is corrected.
  package static let tolerance: Int64 = 20_000_000
  /// The remaining error in ns at which a correction ends.
  private static let settled: Int64 = 2_000_000
  /// The minimum duration in ns, and number of blocks, over which the minimum delay is determined.
  private static let window: Int64 = 5_000_000_000
  private static let windowCount = 4
  /// The maximum change of the offset per elapsed time.
  package static let maximumSlope = 0.05
  /// The time in ns in which a small error decreases by a factor of e.
  private static let timeConstant = 4e9
  /// The largest error in ns that is corrected gradually. A larger one is corrected immediately: otherwise the
  /// samples would be late, or lie in the future, for minutes.
  private static let largestGradual: Int64 = 1_500_000_000
  /// A threshold in ns. If the first block of a capture deviates from the offset by more, the remote clock
  /// was set or the machine restarted, and the offset is replaced. Within a capture, such a delay is a stall.
  package static let jump: Int64 = 10_000_000_000

  private struct State {
    var conversion: StampConversion?
    /// The newest stamp of all devices in ns, and the last arrival.
    var newest: Int64 = 0
    var arrival = Timestamp(nanoseconds: 0)
    var corrections = 0
    /// The least delay in ns in the present and the previous window; nil before the end of a window.
    var least: Int64 = .max
    var previousLeast: Int64?
    var count = 0
    var windowStart = Timestamp(nanoseconds: 0)
    var suspended: Int64 = 0
    var isForeign = false

    mutating func restart(offset: Int64, newest: Int64, delay: Int64, arrival: Timestamp) -> StampConversion {
      let conversion = StampConversion(offset: offset)
      (self.conversion, self.newest, self.arrival) = (conversion, newest, arrival)
      (least, previousLeast, count, windowStart) = (delay, nil, 1, arrival)
      return conversion
    }

    /// Records a delay, and returns the estimate of the offset. Before the end of the first window it does not
    /// exceed `offset`.
    mutating func estimate(recording delay: Int64, arrival: Timestamp, offset: Int64) -> Int64 {
      if count >= RemoteClock.windowCount,
        arrival.nanoseconds &- windowStart.nanoseconds >= RemoteClock.window
      {
        (previousLeast, least, count, windowStart) = (least, .max, 0, arrival)
      }
      least = min(least, delay)
      count += 1
      return min(least, previousLeast ?? offset)
    }
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

  /// Records a block, and returns the conversion to use.
  ///
  /// - Parameters:
  ///   - newest: the stamp of the block's last sample, ns.
  ///   - delay: arrival here minus the newest stamp, ns.
  ///   - previous: the offset in ns of the device's last block; nil for the first block of a capture.
  ///   - isReset: true if the stamp is before that of the device's last block.
  ///   - suspended: the total time in ns for which this machine has been suspended. A hub's clock may stop
  ///     meanwhile, so the offset is replaced afterwards.
  func observe(
    newest: Int64, delay: Int64, arrival: Timestamp, previous: Int64?, isReset: Bool, suspended: Int64
  ) -> StampConversion {
    state.withLock { state in
      let hasSlept = abs(suspended &- state.suspended) > 1_000_000
      if hasSlept { state.suspended = suspended }
      guard var conversion = state.conversion else {
        let isNear = previous.map { (delay &- $0).magnitude <= Self.largestGradual } ?? false
        let offset = isNear ? previous ?? delay : delay
        defer { if isNear { state.previousLeast = delay } }
        return state.restart(offset: offset, newest: newest, delay: delay, arrival: arrival)
      }
      let isIdle = arrival.nanoseconds &- state.arrival.nanoseconds >= Self.window
      state.arrival = arrival
      // The present error, which the last blocks of all devices left.
      let start = state.newest
      let offset = conversion.offset(at: start)
      let error = (delay &- offset).magnitude
      let isReplaced =
        hasSlept || (isReset && error > Self.largestGradual)
        || (previous == nil && error >= (isIdle ? Self.largestGradual : Self.jump))
      if isReplaced {
        state.corrections += 1
        return state.restart(offset: delay, newest: newest, delay: delay, arrival: arrival)
      }
      if previous == nil, isIdle {
        return state.restart(offset: offset, newest: newest, delay: delay, arrival: arrival)
      }
      let estimate = state.estimate(recording: delay, arrival: arrival, offset: offset)
      let deviation = estimate &- offset
      if deviation > Self.largestGradual {
        state.corrections += 1
        return state.restart(offset: estimate, newest: newest, delay: delay, arrival: arrival)
      }
      let isMoving = conversion.slope != 0
      if deviation < -Self.largestGradual {
        state.corrections += 1
        // The stamps advanced by this amount between two samples, which are on either side of its middle.
        let middle = start &+ Int64(deviation.magnitude / 2)
        conversion.change(from: middle, slope: 0, offset: estimate)
      } else if deviation.magnitude <= (isMoving ? Self.settled : Self.tolerance) {
        conversion.change(from: start, slope: 0)
      } else {
        if !isMoving { state.corrections += 1 }
        let slope = Double(deviation) / max(Self.timeConstant, Double(newest &- start))
        conversion.change(from: start, slope: max(-Self.maximumSlope, min(slope, Self.maximumSlope)))
      }
      state.conversion = conversion
      state.newest = max(start, newest)
      return conversion
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
  ///   - device: the driver's name of the device. The devices of one chip, such as "lsm6dsox_accel" and
  ///     "lsm6dsox_gyro", share its clock.
  ///   - setting: the kernel's name of the clock that the device uses; nil for the kernel's default if the
  ///     driver does not report it.
  ///   - isOwn: true for the device's own clock. The sensors of a hub always use the hub's clock.
  package func clock(of device: String?, setTo setting: String?, isOwn: Bool = false) -> RemoteClock {
    let name: String
    if HIDSensor.isName(device) {
      name = "hub"
    } else if isOwn {
      var chip = (device ?? "")[...]
      for suffix in ["_accel", "_gyro"] where chip.hasSuffix(suffix) {
        chip = chip.dropLast(suffix.utf8.count)
      }
      name = "device \(chip)"
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
