package import Fleet
internal import Glibc
package import Platform

/// The standard output of a command.
package enum CommandOutput {
  /// True if colours and other styles may be used: see https://no-color.org.
  package static var usesStyles: Bool { usesColor && isatty(STDOUT_FILENO) == 1 }

  package static var usesColor: Bool { environment("NO_COLOR") == nil }

  /// Prints a text.
  ///
  /// - Throws: `FleetError` if it cannot be written. A closed output is not a failure.
  package static func print(_ text: String) throws(FleetError) { try print(Array(text.utf8)) }

  /// Writes a text. Returns nil if it was written. Otherwise returns the exit status for a closed output or
  /// for a failure, which it reports.
  package static func write(_ text: String) -> ExitStatus? {
    guard let problem = OutputStream.write(Array(text.utf8), to: STDOUT_FILENO) else { return nil }
    if problem.rawValue == EPIPE { return .done }
    StandardError.report("\(failure(problem))")
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
      kind: .outputFailed)
  }

  package static func print(_ lines: [StyledText], styles: Bool) throws(FleetError) {
    try print(lines.map { $0.rendered(styles: styles) + "\n" }.joined())
  }
}

/// Complete writes to a file descriptor.
package enum OutputStream {
  /// The number of bytes that a writable pipe accepts atomically and without blocking.
  private static let portion = 4096

  /// Writes all bytes; returns nil, or the error. `EPIPE` means that the reader has closed the output.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) -> SystemErrno? {
    write(bytes[...], to: descriptor)
  }

  /// Writes all bytes to a reader that may block forever.
  /// - Parameter shouldContinue: called while blocked; returns `ECANCELED` if it returns false.
  package static func write(_ bytes: [UInt8], to descriptor: Int32, shouldContinue: () -> Bool)
    -> SystemErrno?
  {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard waitForRoom(descriptor, shouldContinue) else { return SystemErrno(rawValue: ECANCELED) }
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
        // Another process that shares the terminal has made it non-blocking.
        _ = poll(descriptor, milliseconds: 1000)
      } else if errno != EINTR {
        return SystemErrno(rawValue: errno)
      }
    }
    return nil
  }

  /// Waits until the descriptor is writable; returns false if `shouldContinue` returned false.
  private static func waitForRoom(_ descriptor: Int32, _ shouldContinue: () -> Bool) -> Bool {
    while !poll(descriptor, milliseconds: 50) {
      guard shouldContinue() else { return false }
    }
    return true
  }

  private static func poll(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe Glibc.poll(&entry, 1, milliseconds) > 0
  }
}

/// A progress line on standard error, which is only shown on a terminal.
package struct ProgressLine {
  package init() {}

  private let isTerminal = isatty(STDERR_FILENO) == 1
  private var shownAt = MonotonicTime.start
  private var isShown = false

  /// Shows a text.
  ///
  /// - Parameter seconds: the minimum interval between updates.
  package mutating func show(every seconds: Double = 0.1, _ text: () -> String) {
    guard isTerminal else { return }
    let now = MonotonicTime.now
    guard now.seconds(since: shownAt) >= seconds else { return }
    shownAt = now
    isShown = true
    let width = TerminalSize(of: STDERR_FILENO)?.columns ?? 80
    let line = StyledText(text()).fitted(to: max(1, width - 1)).plain
    _ = OutputStream.write(Array("\r\(line)\u{1B}[K".utf8), to: STDERR_FILENO)
  }

  /// Removes the line, so that normal output can follow.
  package mutating func clear() {
    guard isShown else { return }
    isShown = false
    _ = OutputStream.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
  }
}
