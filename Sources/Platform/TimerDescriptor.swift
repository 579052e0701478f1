internal import CLinux
internal import Glibc

/// A file descriptor that becomes readable at a time (timerfd). Any thread may set it, and only the one that waits for it
/// is woken, when the time has come.
// Sendable: the descriptor is constant, and the kernel sets and reads a timer atomically.
public final class TimerDescriptor: Sendable {
  /// What to hand to `poll(2)`, with `POLLIN`.
  public let descriptor: Int32

  /// - Throws: `SystemError` when the process has no descriptor left.
  public init() throws(SystemError) {
    descriptor = timerfd_create(CLOCK_MONOTONIC, odograph_tfd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "timerfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable from a time on (`SystemClock.monotonic`, ns), in place of any time before; nil is never.
  public func set(_ deadline: Int64?) {
    // A time of 0 is never.
    let time = deadline.map { max(1, $0) } ?? 0
    var value = itimerspec()
    value.it_value = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    _ = unsafe timerfd_settime(descriptor, odograph_tfd_absolute, &value, nil)
  }

  /// Makes the descriptor unreadable until the next time that it is set for.
  public func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
