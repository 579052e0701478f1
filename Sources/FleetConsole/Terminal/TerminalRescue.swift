internal import Glibc

/// Gives the terminal back however the process ends, short of SIGKILL.
///
/// A process has one controlling terminal, and a signal handler has no argument, so this is the one place with state
/// of the whole process. Only what POSIX lists as safe in signal handlers is called there: tcsetattr(3), write(2),
/// sigaction(2), raise(3).
enum TerminalRescue {
  // Written by the thread that takes the terminal over, before any handler is installed that reads it.
  private nonisolated(unsafe) static var input: Int32 = -1
  private nonisolated(unsafe) static var output: Int32 = -1
  private nonisolated(unsafe) static var original = termios()
  private nonisolated(unsafe) static var isTaken = false
  // Allocated once and never freed: a handler must not touch an array, whose storage could be moving.
  private nonisolated(unsafe) static let leave: UnsafeMutableBufferPointer<UInt8> = {
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: TerminalScreen.leave.count)
    _ = unsafe buffer.initialize(from: TerminalScreen.leave)
    return unsafe buffer
  }()

  /// The ways in which a fault ends a process.
  private static let faults = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  static func arm(input: Int32, output: Int32, original: termios) {
    unsafe self.original = original
    unsafe self.output = output
    unsafe self.input = input
    // Touched now, so that its initialiser does not run in a handler.
    _ = unsafe leave.count
    for fault in faults {
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { number in
        TerminalRescue.restore()
        signal(number, SIG_DFL)
        raise(number)
      }
      unsafe sigaction(fault, &action, nil)
    }
  }

  static func enterRawMode() {
    var raw = unsafe original
    raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
    raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN)
    raw.c_cflag |= tcflag_t(CS8)
    // A read returns as soon as there is a byte, so that none at all means that the terminal is gone.
    unsafe withUnsafeMutableBytes(of: &raw.c_cc) { bytes in
      unsafe bytes[Int(VMIN)] = 1
      unsafe bytes[Int(VTIME)] = 0
    }
    _ = unsafe tcsetattr(input, TCSAFLUSH, &raw)
    unsafe isTaken = true
  }

  static func restore() {
    guard unsafe isTaken else { return }
    unsafe isTaken = false
    _ = unsafe Glibc.write(output, leave.baseAddress, leave.count)
    _ = unsafe tcsetattr(input, TCSAFLUSH, &original)
  }
}
