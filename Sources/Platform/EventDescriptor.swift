internal import CLinux
internal import Glibc

/// A file descriptor (eventfd) that another thread makes readable, to wake a thread that waits in `poll(2)`.
// Sendable: the descriptor is constant, and eventfd reads and writes are atomic in the kernel.
package final class EventDescriptor: Sendable {
  /// The descriptor for `poll(2)` with `POLLIN`.
  package let descriptor: Int32

  /// Creates an eventfd.
  ///
  /// - Throws: `SystemError` if the process has no free file descriptors.
  package init() throws(SystemError) {
    descriptor = eventfd(0, odograph_efd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "eventfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// Makes the descriptor readable until it is drained.
  package func signal() {
    var one: UInt64 = 1
    _ = unsafe write(descriptor, &one, 8)
  }

  /// Makes the descriptor unreadable again.
  package func drain() {
    var count: UInt64 = 0
    _ = unsafe read(descriptor, &count, 8)
  }

  /// Waits for a signal for at most `seconds`. Returns true and drains the descriptor if it was signalled.
  package func wait(seconds: Double) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Rounded up: a wait that ends early would spin through its last millisecond.
    let milliseconds = Int32(max(0, min(seconds * 1000, 86_400_000)).rounded(.up))
    let ready = unsafe poll(&entry, 1, milliseconds)
    if ready > 0 { drain() }
    return ready > 0
  }
}

/// A file descriptor (signalfd) for signals. A program can wait for them in `poll(2)`, and no handler runs
/// asynchronously.
package final class SignalDescriptor: Sendable {
  /// The descriptor for `poll(2)` with `POLLIN`.
  package let descriptor: Int32

  /// Blocks the signals in this thread and in all threads that it starts later. Create it before the first
  /// thread.
  ///
  /// - Throws: `SystemError` if the process has no free file descriptors.
  package init(_ signals: [Int32]) throws(SystemError) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    descriptor = unsafe signalfd(-1, &set, odograph_sfd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "signalfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// Returns the signals that arrived since the last call, each at most once; empty if there are none. Never
  /// blocks.
  package func received() -> [Int32] {
    var numbers: [Int32] = []
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while unsafe read(descriptor, &information, size) == size { numbers.append(Int32(information.ssi_signo)) }
    return numbers
  }

  /// Returns whether one of the given signals is pending. Use it for work that runs before the loop that
  /// handles signals.
  package static func isPending(_ signals: [Int32]) -> Bool {
    var set = sigset_t()
    return unsafe sigpending(&set) == 0 && signals.contains { unsafe sigismember(&set, $0) == 1 }
  }

  /// Ignores SIGPIPE, so that writes to a closed pipe or socket fail with an error.
  package static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }
}

/// Waits until one of the descriptors is readable, and returns it. Nil after the time limit.
///
/// - Parameter seconds: the time limit; nil for none.
package func waitUntilReadable(_ descriptors: [Int32], seconds: Double? = nil) -> Int32? {
  var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  let milliseconds = seconds.map { Int32(max(0, min($0 * 1000, 86_400_000)).rounded(.up)) } ?? -1
  guard unsafe poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { return nil }
  return entries.first { $0.revents != 0 }?.fd
}
