internal import CLinux
internal import Glibc

/// A file descriptor (timerfd) that becomes readable at a given time. Any thread can set it, and it wakes
/// only the waiting thread, at the deadline.
// Sendable: the descriptor is constant, and the kernel sets and reads a timer atomically.
package final class TimerDescriptor: Sendable {
  /// The descriptor for `poll(2)` with `POLLIN`.
  package let descriptor: Int32

  /// Creates a timerfd.
  ///
  /// - Throws: `SystemError` if the process has no free file descriptors.
  package init() throws(SystemError) {
    descriptor = timerfd_create(CLOCK_MONOTONIC, odograph_tfd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "timerfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable from a time on. Replaces an earlier time; nil disables the timer.
  package func set(_ deadline: MonotonicTime?) {
    // The kernel disables a timer with the time 0.
    let time = deadline.map { max(1, $0.nanoseconds) } ?? 0
    var value = itimerspec()
    value.it_value = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    _ = unsafe timerfd_settime(descriptor, odograph_tfd_absolute, &value, nil)
  }

  /// Makes the descriptor unreadable until the next deadline.
  package func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }
}
