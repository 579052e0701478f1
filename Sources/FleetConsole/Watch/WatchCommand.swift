package import ArgumentParser
package import Fleet
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The options of `odograph watch`.
package struct WatchOptions: ParsableArguments {
  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup package var words: MessageProfileArguments

  @OptionGroup package var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "Split the messages with the other members of this group; each sees a part, and nothing that the broker had kept.",
      valueName: "group"))
  package var share: String?

  @Flag(help: "Print the table once, as soon as what the broker had kept is in, and end.")
  package var once = false

  @OptionGroup package var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Time between redraws at least (default: 0.08; in a pipe: 1).", valueName: "seconds"))
  package var interval: Double?

  @Option(
    help: ArgumentHelp(
      "Sort by \(VehicleOrder.names.joined(separator: ", ")); -key is the other way round.",
      valueName: "key"))
  package var sort: String?

  @Option(help: ArgumentHelp("Show only vehicles with these words in name or state.", valueName: "words"))
  package var filter = ""

  @Flag(name: .customLong("details"), help: "Begin with the details of a vehicle shown.")
  package var showsDetail = false

  @Flag(name: .customLong("map"), help: "Begin with the map shown.")
  package var showsMap = false

  @Flag(help: "With --once: print a JSON array. In a pipe: a JSON line for each vehicle that changed.")
  package var json = false

  package init() {}

  /// What the table is sorted by at first.
  func order() throws(FleetError) -> VehicleOrder {
    try sort.map(VehicleOrder.init(parsing:)) ?? VehicleOrder()
  }
}

/// Shows a fleet as it moves: a table on a terminal, lines in a pipe.
package enum WatchCommand {
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached.
  package static func run(_ options: WatchOptions) throws(FleetError) -> ExitStatus {
    if let interval = options.interval, !(0.02...3600).contains(interval) {
      throw .usage("draw", "every \(interval) s", "--interval is 0.02 to 3600 seconds")
    }
    let broker = try options.broker.configuration()
    let selection = try options.vehicles.selection(options.broker, options.words)
    let timeout = try options.time.limit()
    let order = try options.order()
    signal(SIGPIPE, SIG_IGN)
    let isInteractive = LiveScreen.isPossible && !options.once
    let signals: SignalDescriptor
    do throws(SystemError) {
      signals = try SignalDescriptor(isInteractive ? LiveScreen.signals : [SIGINT, SIGTERM, SIGHUP])
    } catch { throw FleetError(error) }
    let model = try WatchModel(
      roster: Roster(root: selection.root, profile: selection.profile))
    let subscriber = try FleetSubscriber(
      broker: broker, filters: selection.filters(), qos: .atLeastOnce, share: options.share,
      handlers: .init(
        received: { batch in
          model.take(batch)
          return .kept
        },
        connection: { model.take($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 0.5 : 30) }
    if isInteractive {
      return try WatchScreen(options, order, timeout, title: broker.brokerName, model, signals).run()
    }
    return try WatchPrinter(options, order, timeout, model, signals).run()
  }
}

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
