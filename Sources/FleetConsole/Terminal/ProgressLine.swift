internal import Glibc
internal import Platform

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
