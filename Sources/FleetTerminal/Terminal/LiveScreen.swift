internal import Fleet
internal import FleetProgram
internal import Glibc
internal import Platform

/// The effect of a key.
package enum LiveAction: Hashable, Sendable {
  case none
  case redraw
  case quit
}

/// A full-screen live view. One thread waits for keys, signals and updates, and redraws at most once per
/// interval, so that a thousand messages cost one redraw.
package struct LiveScreen {
  /// The interval in seconds for redrawing without updates, because ages change.
  private static let idleInterval = 1.0
  /// The time in seconds within which the rest of an escape sequence follows.
  private static let escapeDelay = 0.05

  /// The signals that the view handles.
  static let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP]

  /// The descriptor for `signals`.
  let signals: SignalDescriptor
  /// The descriptor that is readable after updates.
  let news: EventDescriptor
  /// The minimum interval in seconds between redraws.
  var interval: Double
  /// The time limit in seconds from the start; nil for none.
  var timeout: Double?
  var usesColor: Bool

  /// Runs until a key, a signal, the time limit or a failure. Restores the terminal in every case.
  /// - Parameters:
  ///   - handle: handles a key.
  ///   - draw: returns the frame for a terminal size, after `news` was drained.
  func run(
    handle: (Key) -> LiveAction, draw: (TerminalSize) throws(FleetError) -> Frame
  ) throws(FleetError) -> ExitStatus {
    var screen = try TerminalScreen(usesColor: usesColor)
    var decoder = KeyDecoder()
    let end = timeout.map { MonotonicTime.after($0) }
    var size = screen.size
    var drawnAt = MonotonicTime.start
    var isDirty = true
    while true {
      let now = MonotonicTime.now
      if let end, now >= end { return .done }
      if isDirty, now.seconds(since: drawnAt) >= interval {
        news.drain()
        guard screen.show(try draw(size)) else {
          throw FleetError(
            operation: "draw on", object: "the terminal", cause: "it is gone", kind: .outputFailed)
        }
        drawnAt = now
        isDirty = false
      }
      var wakeAt = drawnAt.advanced(bySeconds: isDirty ? interval : Self.idleInterval)
      if decoder.isPending { wakeAt = min(wakeAt, now.advanced(bySeconds: Self.escapeDelay)) }
      if let end { wakeAt = min(wakeAt, end) }
      let ready = wait(until: wakeAt, forNews: !isDirty)
      var keys: [Key] = []
      if ready.input {
        guard let bytes = screen.typed() else { return .done }
        keys = decoder.feed(bytes)
      } else if decoder.isPending {
        keys = decoder.flush()
      }
      for key in keys {
        switch handle(key) {
        case .quit: return .done
        // After a key the screen is redrawn immediately, regardless of `interval`.
        case .redraw: (isDirty, drawnAt) = (true, .start)
        case .none: break
        }
      }
      for number in signals.received() {
        switch number {
        case SIGWINCH: break
        case SIGTSTP:
          screen.suspend()
          raise(SIGSTOP)
          screen.resume()
        default: return ExitStatus(signal: number)
        }
        size = screen.size
        (isDirty, drawnAt) = (true, .start)
      }
      if ready.news || drawnAt.secondsElapsed >= Self.idleInterval { isDirty = true }
    }
  }

  private func wait(until deadline: MonotonicTime, forNews: Bool) -> (input: Bool, news: Bool) {
    let milliseconds = max(0, min(deadline.secondsRemaining * 1000 + 1, 60_000))
    // poll(2) ignores negative descriptors.
    var entries = [
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      pollfd(fd: forNews ? news.descriptor : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let count = unsafe poll(&entries, nfds_t(entries.count), Int32(milliseconds))
    guard count > 0 else { return (false, false) }
    return (entries[0].revents != 0, entries[1].revents != 0)
  }

  /// True if input and output are a terminal that supports control sequences. The terminal window of an
  /// editor does not (`TERM=dumb`).
  package static var isPossible: Bool {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return false }
    guard let term = unsafe getenv("TERM") else { return false }
    return unsafe String(cString: term) != "dumb"
  }
}
