internal import Glibc
internal import Platform

/// Looks after work of the main thread that takes its time: shows on a terminal how far it is, or for how long it waits, and
/// tells when a signal asks to end it.
///
/// What blocks asks `goesOn` some times a second, so that a command ends within a second of Ctrl-C or SIGTERM also while a
/// database thinks or a reader of the output sleeps.
package final class WorkMonitor {
  private let waiter: CommandWaiter
  private let isQuiet: Bool
  private var line = ProgressLine()
  /// What the work waits for when it makes no step, as in "database".
  package var awaited = "database"
  private var lastLook: Int64 = 0
  /// When `show` was last called.
  private var lastStep = SystemClock.monotonic
  /// How the command ends, once a signal or the connection has ended it.
  package private(set) var ending: CommandWaiter.Ending?

  /// Nanoseconds.
  private static let lookInterval: Int64 = 20_000_000
  /// Seconds without a step after which a person is told what is waited for.
  private static let patience = 1.0

  package init(_ waiter: CommandWaiter, isQuiet: Bool) {
    self.waiter = waiter
    self.isQuiet = isQuiet
  }

  /// Whether progress is seen by anybody.
  package var isShown: Bool { !isQuiet && isatty(STDERR_FILENO) == 1 }

  /// Whether nothing has ended the work yet.
  package func goesOn() -> Bool {
    let now = SystemClock.monotonic
    guard ending == nil else { return false }
    guard now - lastLook >= Self.lookInterval else { return true }
    lastLook = now
    let seconds = Double(now - lastStep) * 1e-9
    if !isQuiet, seconds >= Self.patience { line.show { "waiting for the \(awaited), \(Int(seconds)) s" } }
    return !waits(seconds: 0)
  }

  /// Waits, unless something ends the work. Returns whether it did.
  package func waits(seconds: Double) -> Bool {
    if ending == nil {
      let ending = waiter.wait(seconds: seconds)
      if !ending.isTimeOver { self.ending = ending }
    }
    return ending != nil
  }

  /// One step is done.
  package func show(_ text: () -> String) {
    lastStep = SystemClock.monotonic
    if !isQuiet { line.show(text) }
  }

  package func clear() { line.clear() }
}
