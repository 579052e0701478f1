internal import Platform
package import Spatial

/// A conversion of the time stamps of one device to this machine's boot clock.
///
/// The interval between two samples is exactly that of the hardware: only a constant offset is added. For
/// local samples stamped with `CLOCK_BOOTTIME` the offset is zero. For a remote machine the offset is
/// estimated for all of its devices together (`RemoteClock`), so that simultaneous samples remain
/// simultaneous.
package struct HardwareClock: Sendable {
  /// Nanoseconds to add to a stamp; nil before the first block.
  package private(set) var offset: Int64?
  private let remote: RemoteClock?

  /// Creates a clock for stamps of a local clock that is `offset` ns behind `CLOCK_BOOTTIME`.
  package init(fixedOffset offset: Int64) {
    self.offset = offset
    remote = nil
  }

  /// Creates a clock for stamps of another machine.
  package init(following remote: RemoteClock) { self.remote = remote }

  /// Records the arrival of a block. Call it before the block's stamps are converted.
  ///
  /// - Parameters:
  ///   - newest: the stamp of the block's last sample, ns.
  ///   - arrival: the time of arrival.
  ///   - period: ns between samples. A backward correction of up to `largestGradual` is made in steps of half a
  ///     period, so that time does not run backwards. A larger one, after the other clock was set forward, is
  ///     made immediately: otherwise the samples would lie in the future for minutes to hours.
  package mutating func observe(newest: Int64, arrival: Timestamp, period: Int64) {
    guard let remote else { return }
    let target = remote.observe(delay: arrival.nanoseconds &- newest, arrival: arrival, isNew: offset == nil)
    offset =
      offset.map {
        $0 &- target > Self.largestGradual ? target : max(target, $0 - max(1, period / 2))
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

/// The offset of another machine's clock, estimated from all blocks of all its devices.
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
  }
  private let state = Locked(State())

  package init() {}

  /// The number of corrections of the offset.
  package var corrections: Int { state.withLock(\.corrections) }

  /// Records a block's delay, and returns the offset to use.
  ///
  /// - Parameters:
  ///   - delay: arrival here minus the newest stamp, ns.
  ///   - arrival: the time of arrival.
  ///   - isNew: true for the first block of a capture.
  func observe(delay: Int64, arrival: Timestamp, isNew: Bool) -> Int64 {
    state.withLock { state in
      guard let offset = state.offset, !isNew || abs(delay &- offset) < Self.jump else {
        if state.offset != nil { state.corrections += 1 }
        (state.offset, state.least, state.windowStart) = (delay, delay, arrival)
        return delay
      }
      state.least = min(state.least, delay)
      let isOver = state.windowStart.map { arrival.nanoseconds - $0.nanoseconds >= Self.window } ?? true
      if state.least < offset - Self.tolerance || (isOver && state.least > offset + Self.tolerance) {
        state.offset = state.least
        state.corrections += 1
      }
      if isOver { (state.least, state.windowStart) = (delay, arrival) }
      return state.offset ?? delay
    }
  }
}

/// The clocks that stamp the samples of one context's devices.
final class RemoteClocks: Sendable {
  private let clocks = Locked<[String: RemoteClock]>([:])

  /// Returns the clock with a name.
  ///
  /// - Parameter name: the kernel's name; nil for the kernel's default if the driver does not report it.
  func clock(named name: String?) -> RemoteClock {
    clocks.withLock { clocks in
      let name = name ?? "realtime"
      if let clock = clocks[name] { return clock }
      let clock = RemoteClock()
      clocks[name] = clock
      return clock
    }
  }
}
