internal import CLinux
internal import Glibc

/// The kernel's clocks, in nanoseconds. Only the edges read them: an algorithm gets its time with its data.
public enum SystemClock {
  /// Since boot, never stepped, counting while the machine sleeps (`CLOCK_BOOTTIME`).
  public static var boottime: Int64 { read(CLOCK_BOOTTIME) }

  /// Since boot, never stepped, standing still while the machine sleeps (`CLOCK_MONOTONIC`): the clock of
  /// waits with a time limit.
  public static var monotonic: Int64 { read(CLOCK_MONOTONIC) }

  /// Since 1970-01-01 UTC (`CLOCK_REALTIME`); steps when it is set.
  public static var realtime: Int64 { read(CLOCK_REALTIME) }

  /// Whether something keeps `realtime` right, as the kernel knows of it from who does: a time daemon (adjtimex(2) without
  /// STA_UNSYNC).
  public static var isSynchronized: Bool { odograph_clock_is_unsynchronized() == 0 }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
