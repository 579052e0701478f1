internal import Fleet
internal import Glibc
internal import Platform

/// What a key has changed.
enum LiveAction: Hashable, Sendable {
  case none
  case redraw
  case quit
}

/// A full-screen view that lives: one thread that waits for keys, signals and news, and redraws at most at its
/// interval, so that a thousand messages cost one redraw.
struct LiveScreen {
  /// Seconds after which the view is drawn anew even when nothing came: ages go on.
  private static let idleInterval = 1.0
  /// Seconds within which the rest of a key's sequence follows its escape.
  private static let escapeDelay = 0.05

  /// The signals that such a view deals with.
  static let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP]

  /// Of `signals`.
  let signals: SignalDescriptor
  /// Readable when there is something new to draw.
  let news: EventDescriptor
  /// Seconds between two redraws at least.
  var interval: Double
  /// Seconds, from the start, after which it ends; nil goes on.
  var timeout: Double?
  var usesColor: Bool

  /// Runs until a key, a signal, the time limit or a failure ends it. The terminal is given back in each case.
  /// - Parameters:
  ///   - handle: takes a key.
  ///   - draw: makes the frame for a terminal of a size, after `news` was drained.
  func run(
    handle: (Key) -> LiveAction, draw: (TerminalSize) throws(FleetError) -> Frame
  ) throws(FleetError) -> ExitStatus {
    var screen = try TerminalScreen(usesColor: usesColor)
    var decoder = KeyDecoder()
    let interval = Int64(self.interval * 1e9)
    let end = timeout.map { SystemClock.monotonic + Int64(min(max(0, $0), 1e8) * 1e9) }
    var size = screen.size
    var drawnAt: Int64 = 0
    var isDirty = true
    while true {
      let now = SystemClock.monotonic
      if let end, now >= end { return .done }
      if isDirty, now - drawnAt >= interval {
        news.drain()
        guard screen.show(try draw(size)) else {
          throw FleetError(
            operation: "draw on", object: "the terminal", cause: "it is gone", exit: .outputFailed)
        }
        drawnAt = now
        isDirty = false
      }
      var wakeAt = isDirty ? drawnAt + interval : drawnAt + Int64(Self.idleInterval * 1e9)
      if decoder.isPending { wakeAt = min(wakeAt, now + Int64(Self.escapeDelay * 1e9)) }
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
        // A key is answered at once.
        case .redraw: (isDirty, drawnAt) = (true, 0)
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
        (isDirty, drawnAt) = (true, 0)
      }
      if ready.news || SystemClock.monotonic - drawnAt >= Int64(Self.idleInterval * 1e9) { isDirty = true }
    }
  }

  private func wait(until deadline: Int64, forNews: Bool) -> (input: Bool, news: Bool) {
    let left = max(0, deadline - SystemClock.monotonic)
    // poll(2) passes over negative descriptors.
    var entries = [
      pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
      pollfd(fd: forNews ? news.descriptor : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let count = unsafe poll(&entries, nfds_t(entries.count), Int32(min(left / 1_000_000 + 1, 60_000)))
    guard count > 0 else { return (false, false) }
    return (entries[0].revents != 0, entries[1].revents != 0)
  }

  /// Whether input and output are a terminal that knows control sequences, which an editor's does not.
  static var isPossible: Bool {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return false }
    guard let term = unsafe getenv("TERM") else { return false }
    return unsafe String(cString: term) != "dumb"
  }
}
