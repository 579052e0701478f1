internal import CLinux
internal import Glibc

/// Signals as something to read in `poll(2)`, instead of code that interrupts at any point (signalfd).
///
/// The signals are blocked for the calling thread and for threads that it starts from then on, and stay so. Make it
/// first thing in `main`, so that no thread is left that they could interrupt.
// Sendable: the descriptor is constant, and reads of it are atomic in the kernel.
public final class SignalDescriptor: Sendable {
  /// What to hand to `poll(2)`, with `POLLIN`.
  public let descriptor: Int32

  /// - Parameter numbers: the signals, as in `SIGTERM`.
  /// - Throws: `SystemError` when the process has no descriptor left.
  public init(signals numbers: [Int32]) throws(SystemError) {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    for number in numbers { unsafe sigaddset(&signals, number) }
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    descriptor = unsafe signalfd(-1, &signals, odograph_sfd_flags)
    guard descriptor >= 0 else { throw SystemError(operation: "create", object: "signalfd", code: errno) }
  }

  deinit { close(descriptor) }

  /// The signals that arrived since the last call, each once however often it was sent; empty when there are none.
  /// Never waits.
  public func received() -> [Int32] {
    var numbers: [Int32] = []
    var information = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    while unsafe read(descriptor, &information, size) == size {
      numbers.append(Int32(information.ssi_signo))
    }
    return numbers
  }
}
