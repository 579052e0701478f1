internal import Glibc
internal import Platform

/// A monitor of long work on the main thread: shows progress or waiting time on a terminal, and detects
/// signals that request a stop.
///
/// Blocking code calls `shouldContinue` several times a second, also during a database query and while the
/// reader of the output is blocked. A command therefore stops within a second of Ctrl-C or SIGTERM.
package final class WorkMonitor {
  private let waiter: CommandWaiter
  private let isQuiet: Bool
  private var line = ProgressLine()
  /// The object that the work waits for between steps, such as "database".
  package var awaited = "database"
  private var lastLook = MonotonicTime.start
  /// The time of the last call of `show`.
  private var lastStep = MonotonicTime.now
  /// The ending after a signal or a lost connection; nil before.
  package private(set) var ending: CommandWaiter.Ending?

  /// The minimum time in s between two checks for signals.
  private static let lookInterval = 0.02
  /// The time without a step in s after which waiting is shown.
  private static let noticeDelay = 1.0

  package init(_ waiter: CommandWaiter, isQuiet: Bool) {
    self.waiter = waiter
    self.isQuiet = isQuiet
  }

  /// True if progress is shown.
  package var isShown: Bool { !isQuiet && isatty(STDERR_FILENO) == 1 }

  /// Returns whether the work may continue.
  package func shouldContinue() -> Bool {
    let now = MonotonicTime.now
    guard ending == nil else { return false }
    guard now.seconds(since: lastLook) >= Self.lookInterval else { return true }
    lastLook = now
    let seconds = now.seconds(since: lastStep)
    if !isQuiet, seconds >= Self.noticeDelay { line.show { "waiting for the \(awaited), \(Int(seconds)) s" } }
    return !waits(seconds: 0)
  }

  /// Waits, unless the work has ended before. Returns true if the work has ended: by a signal or a lost
  /// connection.
  package func waits(seconds: Double) -> Bool {
    if ending == nil {
      let ending = waiter.wait(seconds: seconds)
      if !ending.isTimeOver { self.ending = ending }
    }
    return ending != nil
  }

  /// Records a completed step, and shows the progress.
  package func show(_ text: () -> String) {
    lastStep = .now
    if !isQuiet { line.show(text) }
  }

  package func clear() { line.clear() }
}
