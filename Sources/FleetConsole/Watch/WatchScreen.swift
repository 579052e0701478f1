internal import Fleet
internal import Glibc
internal import Platform
internal import Spatial

/// The live table on a terminal.
struct WatchScreen {
  private let options: WatchOptions
  private let order: VehicleOrder
  private let timeout: Double?
  /// The broker.
  private let title: String
  private let model: WatchModel
  private let signals: SignalDescriptor

  init(
    _ options: WatchOptions, _ order: VehicleOrder, _ timeout: Double?, title: String, _ model: WatchModel,
    _ signals: SignalDescriptor
  ) {
    self.options = options
    self.order = order
    self.timeout = timeout
    self.title = title
    self.model = model
    self.signals = signals
  }

  /// Runs until a key, a signal, the time limit or a failure ends it.
  func run() throws(FleetError) -> ExitStatus {
    // An error of the first attempt belongs on the ordinary screen.
    try waitForFirstConnection()
    var view = WatchView(size: .usual, title: title)
    view.order = order
    view.filter.text = options.filter
    if options.showsDetail { view.panes.append(.detail) }
    if options.showsMap { view.panes.append(.map) }
    var meter = RateMeter()
    let screen = LiveScreen(
      signals: signals, news: model.changed, interval: options.interval ?? 0.08, timeout: timeout,
      usesColor: CommandOutput.usesColor)
    return try screen.run { key in
      view.handle(key)
    } draw: { size throws(FleetError) in
      view.size = size
      return try frame(&view, &meter)
    }
  }

  /// What is known now.
  private func frame(_ view: inout WatchView, _ meter: inout RateMeter) throws(FleetError) -> Frame {
    model.acknowledgeChanges()
    let now = Moment.now
    let (snapshot, trouble, failure) = model.withState { state in
      meter.add(
        messages: state.roster.counters.messages, bytes: state.roster.counters.bytes, at: now.timestamp)
      return (view.snapshot(of: state.roster, at: now), state.trouble, state.failure)
    }
    if let failure { throw failure }
    return view.frame(of: snapshot, at: now, rates: meter.rates, trouble: trouble)
  }

  private func waitForFirstConnection() throws(FleetError) {
    while true {
      let (isConnected, failure) = model.withState { ($0.wasConnected, $0.failure) }
      if let failure { throw failure }
      if isConnected { return }
      _ = waitUntilReadable([model.changed.descriptor, signals.descriptor], seconds: 1)
      model.acknowledgeChanges()
      if let number = signals.received().first(where: { $0 != SIGWINCH && $0 != SIGTSTP }) {
        throw FleetError(
          operation: "reach", object: title, cause: "stopped while connecting",
          exit: ExitStatus(signal: number))
      }
    }
  }
}
