internal import Platform

/// The store's own clock, in seconds: runs while the machine is powered on, sleep included, goes on after a
/// restart from where the store last saw it, and is never set. So an age is right however the wall clock
/// jumps; time spent switched off does not count.
struct StoreClock {
  private let offset: Int64

  /// - Parameter lastSeen: the largest reading in the store.
  init(lastSeen: Int64) { offset = lastSeen - SystemClock.boottime / 1_000_000_000 }

  var now: Int64 { offset + SystemClock.boottime / 1_000_000_000 }
}
