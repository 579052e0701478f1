internal import Fleet
internal import FleetProgram
internal import Glibc
internal import Platform

/// A terminal in full-screen mode: alternate screen, hidden cursor, unbuffered keys without echo.
///
/// It is restored by `deinit`, by `suspend()`, and by `TerminalRescue` if the process crashes. Signals such
/// as Ctrl-C are still delivered.
struct TerminalScreen: ~Copyable {
  private let input: Int32
  private let output: Int32
  private var shown: Frame?
  private let usesColor: Bool

  /// Enters the alternate screen, hides the cursor and disables wrapping.
  private static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[0m\u{1B}[2J".utf8)
  /// Reverts `enter`.
  static let leave = Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

  /// Enters full-screen mode.
  ///
  /// - Throws: `FleetError` if the descriptors are not a terminal.
  init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, usesColor: Bool) throws(FleetError) {
    self.input = input
    self.output = output
    self.usesColor = usesColor
    var original = termios()
    guard unsafe tcgetattr(input, &original) == 0 else {
      throw .usage("take over", "the terminal", SystemError.message(for: errno))
    }
    TerminalRescue.arm(input: input, output: output, original: original)
    // Not `resume()`: Swift 6.2 cannot call mutating functions after constants are set.
    takeOver()
  }

  deinit { TerminalRescue.restore() }

  /// Enters full-screen mode again after `suspend()`. The next frame is drawn completely.
  mutating func resume() {
    takeOver()
    shown = nil
  }

  private func takeOver() {
    TerminalRescue.enterRawMode()
    write(Self.enter)
  }

  /// Restores the terminal while the process is stopped.
  func suspend() { TerminalRescue.restore() }

  /// The current size of the terminal, or the default.
  var size: TerminalSize { TerminalSize(of: output) ?? .usual }

  /// Shows a frame by sending the differences from the previous one. Returns false if the terminal is gone.
  @discardableResult
  mutating func show(_ frame: Frame) -> Bool {
    let bytes = FrameDifference.bytes(from: shown, to: frame, usesColor: usesColor)
    shown = frame
    return bytes.isEmpty || write(bytes)
  }

  /// Makes the next frame be drawn completely, because the terminal's content is unknown.
  mutating func forget() { shown = nil }

  /// Returns the bytes typed since the last call; nil if the terminal is gone.
  func typed() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = unsafe read(input, &buffer, buffer.count)
    if count > 0 { return Array(buffer.prefix(count)) }
    return count < 0 && (errno == EINTR || errno == EAGAIN) ? [] : nil
  }

  @discardableResult
  private func write(_ bytes: [UInt8]) -> Bool { OutputStream.write(bytes, to: output) == nil }
}

/// A handler that restores the terminal however the process ends, except by SIGKILL.
///
/// A process has one controlling terminal, and a signal handler has no argument, so this is the only
/// process-wide state. Handlers call only functions that POSIX lists as async-signal-safe: tcsetattr(3),
/// write(2), sigaction(2), raise(3).
enum TerminalRescue {
  // Written by the thread that enters full-screen mode, before a handler is installed that reads it.
  private nonisolated(unsafe) static var input: Int32 = -1
  private nonisolated(unsafe) static var output: Int32 = -1
  private nonisolated(unsafe) static var original = termios()
  private nonisolated(unsafe) static var isTaken = false
  // Allocated once and never freed: a handler must not access an array, whose storage could move.
  private nonisolated(unsafe) static let leave: UnsafeMutableBufferPointer<UInt8> = {
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: TerminalScreen.leave.count)
    _ = unsafe buffer.initialize(from: TerminalScreen.leave)
    return unsafe buffer
  }()

  /// The signals of crashes.
  private static let faults = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  static func arm(input: Int32, output: Int32, original: termios) {
    unsafe self.original = original
    unsafe self.output = output
    unsafe self.input = input
    // `leave` is accessed now, so that its lazy initializer does not run in a signal handler.
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
    // A read returns as soon as there is a byte. A read without a byte means that the terminal is gone.
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
