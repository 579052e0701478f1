internal import Glibc

/// libiio writes to sockets whose other end may be gone; the signal for that would end the process.
enum BrokenPipe {
  /// Keeps SIGPIPE from the calling thread and from the threads that it starts; the write then fails with EPIPE.
  static func block() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
