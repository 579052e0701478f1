package import ArgumentParser
package import Fleet
package import FleetCommand
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The options of `odograph watch`.
package struct WatchOptions: BrokerOptions {
  @OptionGroup package var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription: each member shows a part, without retained messages.",
      valueName: "group"))
  package var share: String?

  @Flag(help: "Print the table when the retained messages have arrived, and exit.")
  package var once = false

  @OptionGroup package var beginning: BeginningArguments

  @OptionGroup package var time: TimeLimitArguments

  @Option(
    name: .customLong("most"), parsing: .unconditional,
    help: ArgumentHelp(
      "Vehicles in memory, 1 to 1000000 (default: \(Roster.usualCapacity)).", valueName: "vehicles"))
  package var capacity = Roster.usualCapacity

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Minimum time between redraws (default: 0.08; in a pipe: 1).", valueName: "seconds"))
  package var interval: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Sort by a column, or by missing messages; -key sorts descending, +key ascending: \(VehicleOrder.names.joined(separator: ", ")).",
      valueName: "key"),
    completion: .list(VehicleOrder.names))
  package var sort: String?

  @Option(
    help: ArgumentHelp(
      "Show these columns, separated by commas: \(WatchColumn.names.joined(separator: ", ")).",
      valueName: "columns"),
    completion: .custom { WatchOptions.completions(ofColumns: $2) })
  package var columns: String?

  @Option(
    help: ArgumentHelp("Show only vehicles with these words in name or state.", valueName: "words"))
  package var filter = ""

  @Option(
    help: ArgumentHelp(
      "Show only vehicles without messages for this time, as in 90s, 10m, 2h or 3d.", valueName: "time"))
  package var silent: String?

  @Flag(name: .customLong("details"), help: "Start with the details of a vehicle.")
  var showsDetail = false

  @Flag(name: .customLong("map"), help: "Start with the map.")
  var showsMap = false

  @Flag(help: "With --once: print a JSON array. In a pipe: a JSON line for each vehicle that changed.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Broker") package var words: MessageProfileArguments

  package init() {}

  /// Returns the chosen columns; nil for the default.
  func chosenColumns() throws(FleetError) -> [WatchColumn]? { try columns.map(WatchColumn.columns(parsing:)) }

  /// Returns the initial filter.
  func vehicleFilter() throws(FleetError) -> VehicleFilter {
    var vehicleFilter = VehicleFilter(text: filter)
    if let silent { vehicleFilter.silence = try DurationText.seconds(parsing: silent, of: "--silent") }
    return vehicleFilter
  }

  /// Returns completions for a list of columns: the names that are not in it yet.
  static func completions(ofColumns typed: String) -> [String] {
    let known = typed.split(separator: ",", omittingEmptySubsequences: false).dropLast()
    let before = known.map { $0 + "," }.joined()
    return WatchColumn.names.filter { name in !known.contains { $0 == name } }.map { before + $0 }
  }

  /// Returns the initial sort order.
  func order() throws(FleetError) -> VehicleOrder {
    try sort.map(VehicleOrder.init(parsing:)) ?? VehicleOrder()
  }
}

/// The `odograph watch` command: shows a live fleet as a table on a terminal, or as lines in a pipe.
package enum WatchCommand {
  /// Runs the command.
  ///
  /// - Parameter reader: reads a recording for the initial state.
  /// - Throws: `FleetError` for invalid options, an unreadable recording and an unreachable broker.
  package static func run(
    _ options: WatchOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    if let interval = options.interval, !(0.02...3600).contains(interval) {
      throw .usage("draw", "every \(interval) s", "--interval must be 0.02 to 3600 seconds")
    }
    guard (1...1_000_000).contains(options.capacity) else {
      throw .usage("use", "--most \(options.capacity)", "must be 1 to 1000000")
    }
    let broker = try options.broker.configuration()
    let selection = try options.vehicles.selection(options.broker, options.words)
    let timeout = try options.time.limit()
    let order = try options.order()
    let columns = try options.chosenColumns()
    let filter = try options.vehicleFilter()
    guard options.silent == nil || options.once || LiveScreen.isPossible else {
      throw .usage(
        "use", "--silent", "lines are printed only for vehicles with messages; add --once, or use a terminal")
    }
    // The recording is read before the subscription, so that it never replaces newer messages, and before
    // signals are blocked, so that Ctrl-C ends the reading.
    let beginning = try options.beginning.read(BeginningQuery(selection), reader)
    var roster = Roster(root: selection.root, profile: selection.profile, capacity: options.capacity)
    for message in beginning.messages {
      roster.apply(topic: message.topic, payload: message.payload, retained: true, at: .now)
    }
    signal(SIGPIPE, SIG_IGN)
    let isInteractive = LiveScreen.isPossible && !options.once
    let signals = try SignalDescriptor.forCommand(
      isInteractive ? LiveScreen.signals : [SIGINT, SIGTERM, SIGHUP])
    let model = try LiveModel(roster)
    let isMember = options.share != nil
    let handlers = FleetSubscriber.Handlers(
      received: { batch in
        model.receive(batch) {
          $0.apply(topic: $1.topic, payload: $1.payload, retained: $1.retain, at: batch.receivedAt)
        }
        return .kept
      },
      connection: {
        if $0 == .connected { model.withState { $0.value.restartSequences() } }
        model.observe($0)
        // A member of a shared subscription receives no retained messages, so there are none to wait for.
        if isMember, $0 == .subscribed { model.markKept() }
      })
    let subscriber =
      options.once && options.share == nil
      ? try FleetSubscriber(
        broker: broker, readingKept: selection.filters(), marked: model.markKept, handlers: handlers)
      : try FleetSubscriber(
        broker: broker, filters: selection.filters(), share: options.share, handlers: handlers)
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 0.5 : 30) }
    guard isInteractive else {
      return try WatchPrinter(
        options: options, order: order, filter: filter, columns: columns, timeout: timeout, model: model,
        signals: signals
      ).run()
    }
    try model.waitForConnection(to: broker.brokerName, signals)
    var view = WatchView(size: .usual, title: broker.brokerName)
    view.order = order
    view.filter = filter
    view.chosenColumns = columns
    if options.showsDetail { view.toggle(.detail) }
    if options.showsMap { view.toggle(.map) }
    var meter = RateMeter()
    let screen = LiveScreen(
      signals: signals, news: model.changed, interval: options.interval ?? 0.08, timeout: timeout,
      usesColor: CommandOutput.usesColor)
    return try screen.run { key in
      view.handle(key)
    } draw: { size throws(FleetError) in
      view.size = size
      model.acknowledgeChanges()
      let now = Moment.now
      let (snapshot, trouble, failure) = model.withState { state in
        let counters = state.value.counters
        meter.add(messages: counters.messages, bytes: counters.bytes, at: now.timestamp)
        return (view.snapshot(of: state.value, at: now), state.trouble, state.failure)
      }
      if let failure { throw failure }
      return view.frame(of: snapshot, at: now, rates: meter.rates, trouble: trouble)
    }
  }
}
