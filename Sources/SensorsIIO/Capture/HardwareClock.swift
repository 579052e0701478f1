internal import Platform
package import Spatial

/// Brings the time stamps of one device's samples onto this machine's time line.
///
/// The interval between two samples is exactly the hardware's: all that is ever added is an offset that stands still.
/// For samples of this machine stamped with `CLOCK_BOOTTIME` it is zero. For a remote machine it is estimated, for all of
/// its devices together (`RemoteClock`), so that what two of them took at one moment stays at one moment.
package struct HardwareClock: Sendable {
  /// Nanoseconds to add to a stamp; nil before the first block.
  package private(set) var offset: Int64?
  private let remote: RemoteClock?

  /// For samples stamped with a clock of this machine that is `offset` ns behind `CLOCK_BOOTTIME`.
  package init(fixedOffset offset: Int64) {
    self.offset = offset
    remote = nil
  }

  /// For samples stamped by another machine's clock.
  package init(following remote: RemoteClock) { self.remote = remote }

  /// Takes note that a block arrived. Call it before the block's stamps are converted.
  ///
  /// - Parameters:
  ///   - newest: the stamp of the block's last sample, ns.
  ///   - arrival: this machine's `CLOCK_BOOTTIME` when the block was there, ns.
  ///   - period: ns between samples; a correction backwards is made in steps of half of it, so that time never
  ///     runs back.
  package mutating func observe(newest: Int64, arrival: Int64, period: Int64) {
    guard let remote else { return }
    let target = remote.observe(delay: arrival &- newest, arrival: arrival, isNew: offset == nil)
    offset = offset.map { max(target, $0 - max(1, period / 2)) } ?? target
  }

  /// A stamp on this machine's time line; the arrival where nothing is known yet.
  package func timestamp(_ stamp: Int64) -> Timestamp {
    Timestamp(nanoseconds: stamp &+ (offset ?? 0))
  }
}

/// Time for samples that carry none: evenly spaced at the nominal period, tied to when blocks arrive.
package struct PacedClock: Hashable, Sendable {
  /// Nanoseconds between samples as the hardware promises.
  package var period: Int64
  private var last: Int64?

  package init(period: Int64) { self.period = max(1, period) }

  /// The times of a block's samples, ascending; the last is at or before `arrival` (ns).
  package mutating func timestamps(count: Int, arrival: Int64) -> [Timestamp] {
    guard count > 0 else { return [] }
    var newest = arrival
    if let last {
      let expected = last + Int64(count) * period
      let error = arrival - expected
      // Scheduling delays a block, never hastens it: follow slowly, unless samples were lost.
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

/// How far another machine's clock is behind this machine's, by all blocks of all devices that it stamps.
///
/// The offset is estimated as the least (arrival here - stamp there), since a sample cannot arrive before it was taken and the
/// least delayed one tells most. The two machines' oscillators drift apart (tens of microseconds per second), so the
/// offset is set anew when the estimate of the last window has left it by more than `tolerance`; this is counted. One
/// estimate for each device would put samples of one moment apart by the difference of their delays.
package final class RemoteClock: Sendable {
  /// Nanoseconds by which the offset may be off before it is corrected.
  package static let tolerance: Int64 = 20_000_000
  /// Nanoseconds over which the least delay is sought.
  package static let window: Int64 = 60_000_000_000
  /// Nanoseconds by which a new capture must contradict the offset for the clock to count as set, or its machine as
  /// restarted. Within a capture such a delay is a stall.
  package static let jump: Int64 = 10_000_000_000

  private struct State {
    var offset: Int64?
    var corrections = 0
    var least: Int64 = .max
    var windowStart: Int64 = .min
  }
  private let state = Locked(State())

  package init() {}

  /// How often the offset was corrected after it had first been set.
  package var corrections: Int { state.withLock(\.corrections) }

  /// Takes note of a block's delay and says which offset holds from now on.
  ///
  /// - Parameters:
  ///   - delay: arrival here less the newest stamp, ns.
  ///   - arrival: this machine's `CLOCK_BOOTTIME`, ns.
  ///   - isNew: whether it is the first block of a capture.
  func observe(delay: Int64, arrival: Int64, isNew: Bool) -> Int64 {
    state.withLock { state in
      guard let offset = state.offset, !isNew || abs(delay &- offset) < Self.jump else {
        if state.offset != nil { state.corrections += 1 }
        (state.offset, state.least, state.windowStart) = (delay, delay, arrival)
        return delay
      }
      state.least = min(state.least, delay)
      let isOver = arrival - state.windowStart >= Self.window
      if state.least < offset - Self.tolerance || (isOver && state.least > offset + Self.tolerance) {
        state.offset = state.least
        state.corrections += 1
      }
      if isOver { (state.least, state.windowStart) = (delay, arrival) }
      return state.offset ?? delay
    }
  }
}

/// The clocks by which one context's devices stamp their samples.
final class RemoteClocks: Sendable {
  private let clocks = Locked<[String: RemoteClock]>([:])

  /// - Parameter name: as the kernel calls it; nil where the driver does not say, which then is its default.
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
