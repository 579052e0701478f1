internal import CLinux
internal import Glibc
public import Spatial

// Only I/O code reads the kernel's clocks; algorithms receive time with their data.

extension Timestamp {
  /// The current time since boot, including sleep (`CLOCK_BOOTTIME`).
  public static var now: Timestamp { Timestamp(nanoseconds: reading(of: CLOCK_BOOTTIME)) }
}

extension UTCTime {
  /// The current time of the machine's civil clock (`CLOCK_REALTIME`).
  public static var now: UTCTime { UTCTime(nanoseconds: reading(of: CLOCK_REALTIME)) }

  /// True if the machine's civil clock is synchronized by a time daemon (adjtimex(2) without STA_UNSYNC).
  /// False also where this may not be read.
  public static var isSynchronized: Bool { odograph_clock_is_synchronized() == 1 }

  /// True if this process may read whether the clock is synchronized. Some sandboxes forbid it.
  package static var isSynchronizationReadable: Bool { odograph_clock_is_synchronized() >= 0 }
}

extension MonotonicTime {
  /// The current time.
  public static var now: MonotonicTime { MonotonicTime(nanoseconds: reading(of: CLOCK_MONOTONIC)) }
}

private func reading(of clock: clockid_t) -> Int64 {
  var time = timespec()
  unsafe clock_gettime(clock, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
