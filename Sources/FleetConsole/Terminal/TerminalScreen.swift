internal import Fleet
internal import Glibc
internal import Platform

/// A terminal taken over for a full-screen view: alternate screen, no cursor, keys one by one and unechoed.
///
/// It is given back when this is deinitialised, on `suspend()`, and by `TerminalRescue` when the process is about to
/// die of a fault of its own. Signals such as Ctrl-C stay signals.
struct TerminalScreen: ~Copyable {
  private let input: Int32
  private let output: Int32
  private var shown: Frame?
  private let usesColor: Bool

  /// Alternate screen, cursor hidden, no wrapping at the right edge.
  private static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[0m\u{1B}[2J".utf8)
  /// All of it undone.
  static let leave = Array("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

  /// - Throws: `FleetError` when the descriptors are no terminal.
  init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, usesColor: Bool) throws(FleetError) {
    self.input = input
    self.output = output
    self.usesColor = usesColor
    var original = termios()
    guard unsafe tcgetattr(input, &original) == 0 else {
      throw FleetError(
        operation: "take over", object: "the terminal", cause: SystemError.message(for: errno),
        exit: .usage)
    }
    TerminalRescue.arm(input: input, output: output, original: original)
    resume()
  }

  deinit { TerminalRescue.restore() }

  /// Takes the terminal over, at first and after `suspend()`. The next frame is drawn whole.
  mutating func resume() {
    TerminalRescue.enterRawMode()
    write(Self.enter)
    shown = nil
  }

  /// Gives the terminal back, for the time that the process is stopped.
  func suspend() { TerminalRescue.restore() }

  /// The terminal's size now; the usual one when it does not say.
  var size: TerminalSize { Self.size(of: output) ?? .usual }

  static func size(of descriptor: Int32) -> TerminalSize? {
    var window = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0
    else {
      return nil
    }
    return TerminalSize(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  /// Shows a frame, by sending what differs from the one before. Returns false when the terminal is gone.
  @discardableResult
  mutating func show(_ frame: Frame) -> Bool {
    let bytes = FrameDifference.bytes(from: shown, to: frame, usesColor: usesColor)
    shown = frame
    return bytes.isEmpty || write(bytes)
  }

  /// Draws the next frame whole: the terminal may show something else by now.
  mutating func forget() { shown = nil }

  /// The bytes typed since the last call; nil when the terminal is gone.
  func typed() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1024)
    let count = unsafe read(input, &buffer, buffer.count)
    if count > 0 { return Array(buffer.prefix(count)) }
    return count < 0 && (errno == EINTR || errno == EAGAIN) ? [] : nil
  }

  @discardableResult
  private func write(_ bytes: [UInt8]) -> Bool { OutputStream.write(bytes, to: output) == nil }
}
