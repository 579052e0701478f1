internal import Platform

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
