internal import CLinux
internal import Glibc

/// A file descriptor that another thread makes readable, to wake one that waits in `poll(2)` (eventfd).
// Sendable: the descriptor is constant, and eventfd reads and writes are atomic in the kernel.
public final class EventDescriptor: Sendable {
  /// What to hand to `poll(2)`, with `POLLIN`.
  public let descriptor: Int32

  /// - Throws: `SystemError` when the process has no descriptor left.
  public init() throws(SystemError) {
    descriptor = eventfd(0, odograph_efd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "eventfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable until it is drained.
  public func signal() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes the descriptor unreadable again.
  public func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }

  /// Waits until signalled or until the time is over. Returns whether it was signalled, and drains it.
  public func wait(seconds: Double) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Rounded up: a wait that ends early would spin through its last millisecond.
    let milliseconds = Int32(max(0, min(seconds * 1000, 86_400_000)).rounded(.up))
    let ready = unsafe poll(&entry, 1, milliseconds)
    if ready > 0 { drain() }
    return ready > 0
  }
}
