internal import Glibc
internal import Platform
internal import Spatial

/// The live table on a terminal: one thread that waits for keys, signals and news, and redraws at most at its
/// interval, so that a thousand messages cost one redraw.
struct WatchScreen {
  /// Seconds after which the ages are drawn anew even when nothing came.
  private static let idleInterval = 1.0
  /// Seconds within which the rest of a key's sequence follows its escape.
  private static let escapeDelay = 0.05

  private let options: WatchOptions
  private let model: WatchModel
  private let signals: SignalDescriptor

  init(_ options: WatchOptions, _ model: WatchModel, _ signals: SignalDescriptor) {
    self.options = options
    self.model = model
    self.signals = signals
  }

  /// Runs until a key, a signal, the time limit or a failure ends it. The terminal is given back in each case.
  func run() throws(FleetError) -> ExitStatus {
    // An error of the first attempt belongs on the ordinary screen.
    try waitForFirstConnection()
    var screen = try TerminalScreen(usesColor: options.usesColor)
    var view = WatchView(size: screen.size, title: options.broker.address.description)
    var decoder = KeyDecoder()
    var meter = RateMeter()
    let interval = Int64((options.interval ?? 0.1) * 1e9)
    let end = options.timeout.map { SystemClock.monotonic + Int64(min(max(0, $0), 1e8) * 1e9) }
    var drawnAt: Int64 = 0
    var isDirty = true
    while true {
      let now = SystemClock.monotonic
      if let end, now >= end { return .done }
      if isDirty, now - drawnAt >= interval {
        if let failure = draw(&view, &meter, &screen) { throw failure }
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
        switch view.handle(key) {
        case .quit: return .done
        case .redraw:
          // A key is answered at once.
          (isDirty, drawnAt) = (true, 0)
        case .none: break
        }
      }
      for number in signals.received() {
        switch number {
        case SIGWINCH:
          view.size = screen.size
          (isDirty, drawnAt) = (true, 0)
        case SIGTSTP:
          screen.suspend()
          raise(SIGSTOP)
          screen.resume()
          view.size = screen.size
          (isDirty, drawnAt) = (true, 0)
        default: return ExitStatus(signal: number)
        }
      }
      if ready.news || SystemClock.monotonic - drawnAt >= Int64(Self.idleInterval * 1e9) { isDirty = true }
    }
  }

  /// Draws what is known now. Returns why the command cannot go on, when it cannot.
  private func draw(
    _ view: inout WatchView, _ meter: inout RateMeter, _ screen: inout TerminalScreen
  ) -> FleetError? {
    model.acknowledgeChanges()
    let now = Moment.now
    let (snapshot, trouble, failure) = model.withState { state in
      meter.add(state.roster.counters, at: now.timestamp)
      return (view.snapshot(of: state.roster, at: now), state.trouble, state.failure)
    }
    if let failure { return failure }
    let frame = view.frame(of: snapshot, at: now, rates: meter.rates, trouble: trouble)
    guard screen.show(frame) else {
      return FleetError(
        operation: "draw on", object: "the terminal", cause: "it is gone", exit: .outputFailed)
    }
    return nil
  }

  private func waitForFirstConnection() throws(FleetError) {
    while true {
      let (isConnected, failure) = model.withState { ($0.wasConnected, $0.failure) }
      if let failure { throw failure }
      if isConnected { return }
      _ = wait(until: SystemClock.monotonic + 1_000_000_000, forNews: true, forInput: false)
      model.acknowledgeChanges()
      if let number = signals.received().first(where: { $0 != SIGWINCH && $0 != SIGTSTP }) {
        throw FleetError(
          operation: "reach", object: "\(options.broker.address)", cause: "stopped while connecting",
          exit: ExitStatus(signal: number))
      }
    }
  }

  private func wait(
    until deadline: Int64, forNews: Bool, forInput: Bool = true
  ) -> (input: Bool, news: Bool) {
    let left = max(0, deadline - SystemClock.monotonic)
    // poll(2) passes over negative descriptors.
    var entries = [
      pollfd(fd: forInput ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: forNews ? model.changed.descriptor : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let count = unsafe poll(&entries, nfds_t(entries.count), Int32(min(left / 1_000_000 + 1, 60_000)))
    guard count > 0 else { return (false, false) }
    return (entries[0].revents != 0, entries[1].revents != 0)
  }
}
