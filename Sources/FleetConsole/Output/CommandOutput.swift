package import Fleet
internal import Glibc
package import Platform

/// What a command prints on stdout.
package enum CommandOutput {
  /// Whether colours and other looks may be used: see https://no-color.org.
  package static var usesStyles: Bool { usesColor && isatty(STDOUT_FILENO) == 1 }

  static var usesColor: Bool { environment("NO_COLOR") == nil }

  /// - Throws: `FleetError` when it cannot be written. A reader that has left is no failure.
  package static func print(_ text: String) throws(FleetError) { try print(Array(text.utf8)) }

  /// Writes; returns how the command ends when the output is gone, and says why where that is no reader who has left.
  package static func write(_ text: String) -> ExitStatus? {
    guard let problem = OutputStream.write(Array(text.utf8), to: STDOUT_FILENO) else { return nil }
    if problem.rawValue == EPIPE { return .done }
    StandardError.say("\(failure(problem))")
    return .outputFailed
  }

  package static func print(_ bytes: [UInt8]) throws(FleetError) {
    guard let problem = OutputStream.write(bytes, to: STDOUT_FILENO), problem.rawValue != EPIPE else {
      return
    }
    throw failure(problem)
  }

  private static func failure(_ problem: SystemErrno) -> FleetError {
    FleetError(
      operation: "write", object: "the output", cause: SystemError.message(for: problem.rawValue),
      exit: .outputFailed)
  }

  package static func print(_ lines: [StyledText], styles: Bool) throws(FleetError) {
    try print(lines.map { $0.rendered(styles: styles) + "\n" }.joined())
  }
}

/// Writes to a descriptor until all is written.
package enum OutputStream {
  /// What a pipe takes at once, or not at all: so much is written without waiting once it says that it has room.
  private static let portion = 4096

  /// Returns nil when all bytes were written, and else why not; `EPIPE` means that the reader has left.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) -> SystemErrno? {
    write(bytes[...], to: descriptor)
  }

  /// The same, for a reader that may let it wait for ever.
  /// - Parameter goesOn: asked while it does; `ECANCELED` when it says no.
  package static func write(_ bytes: [UInt8], to descriptor: Int32, goesOn: () -> Bool) -> SystemErrno? {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard waitForRoom(descriptor, goesOn) else { return SystemErrno(rawValue: ECANCELED) }
      if let problem = write(rest.prefix(portion), to: descriptor) { return problem }
      rest = rest.dropFirst(portion)
    }
    return nil
  }

  private static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> SystemErrno? {
    var rest = bytes
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EAGAIN {
        // Somebody who shares the terminal has made it non-blocking.
        _ = poll(descriptor, milliseconds: 1000)
      } else if errno != EINTR {
        return SystemErrno(rawValue: errno)
      }
    }
    return nil
  }

  /// Returns false when `goesOn` says no before.
  private static func waitForRoom(_ descriptor: Int32, _ goesOn: () -> Bool) -> Bool {
    while !poll(descriptor, milliseconds: 50) {
      guard goesOn() else { return false }
    }
    return true
  }

  private static func poll(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe Glibc.poll(&entry, 1, milliseconds) > 0
  }
}

/// One line on stderr that tells how long work goes on; nothing where stderr is no terminal.
package struct ProgressLine {
  package init() {}

  private let isTerminal = isatty(STDERR_FILENO) == 1
  private var shownAt: Int64 = 0
  private var isShown = false

  /// - Parameter seconds: shows at most so often.
  package mutating func show(every seconds: Double = 0.1, _ text: () -> String) {
    guard isTerminal else { return }
    let now = SystemClock.monotonic
    guard now - shownAt >= Int64(seconds * 1e9) else { return }
    shownAt = now
    isShown = true
    let width = TerminalScreen.size(of: STDERR_FILENO)?.columns ?? 80
    let line = StyledText(text()).fitted(to: max(1, width - 1)).plain
    _ = OutputStream.write(Array("\r\(line)\u{1B}[K".utf8), to: STDERR_FILENO)
  }

  /// Takes the line away, so that ordinary output can follow.
  package mutating func clear() {
    guard isShown else { return }
    isShown = false
    _ = OutputStream.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
  }
}
