package import Fleet
package import FleetProgram
internal import Glibc
package import MQTT
internal import Platform
internal import Spatial

/// A request to show a live fleet: as a table on a terminal, or as lines in a pipe (`odograph watch`).
package struct WatchRequest: Sendable {
  package var broker: MQTTConfiguration
  package var selection: FleetSelection
  /// True if the command line, and not the profile, selects vehicles.
  package var selectsVehicles = false
  /// Messages of a recording that replace missing retained messages. The broker's messages are newer.
  package var beginning: [MQTTMessage] = []
  /// The group of a shared subscription; nil for a subscription that is not shared.
  package var share: String?
  /// True to print the table once, after the retained messages.
  package var isOnce = false
  /// True to print JSON instead of text.
  package var isJSON = false
  /// The maximum number of vehicles in memory.
  package var capacity = Roster.usualCapacity
  /// The minimum time in seconds between redraws; nil for the default.
  package var interval: Double?
  package var order = VehicleOrder()
  package var filter = VehicleFilter()
  /// The chosen columns; nil for the default.
  package var columns: [WatchColumn]?
  /// True to start with the details of a vehicle.
  package var showsDetail = false
  /// True to start with the map.
  package var showsMap = false
  /// The time limit in seconds; nil for none.
  package var timeout: Double?

  package init(broker: MQTTConfiguration, selection: FleetSelection) {
    (self.broker, self.selection) = (broker, selection)
  }

  /// Shows the fleet until the time limit, a key or a signal.
  /// - Throws: `FleetError` for an invalid selection and an unreachable broker.
  package func run() throws(FleetError) -> ExitStatus {
    var roster = Roster(root: selection.root, profile: selection.profile, capacity: capacity)
    for message in beginning {
      roster.apply(topic: message.topic, payload: message.payload, retained: true, at: .now)
    }
    signal(SIGPIPE, SIG_IGN)
    let isInteractive = LiveScreen.isPossible && !isOnce
    let signals = try SignalDescriptor.forCommand(
      isInteractive ? LiveScreen.signals : [SIGINT, SIGTERM, SIGHUP])
    let model = try LiveModel(roster)
    let isMember = share != nil
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
      isOnce && share == nil
      ? try FleetSubscriber(
        broker: broker, readingKept: selection.filters(), marked: model.markKept, handlers: handlers)
      : try FleetSubscriber(
        broker: broker, filters: selection.filters(), share: share, handlers: handlers)
    try subscriber.start()
    defer { subscriber.stop(drain: share == nil ? 0.5 : 30) }
    guard isInteractive else {
      return try WatchPrinter(request: self, model: model, signals: signals).run()
    }
    try model.waitForConnection(to: broker.brokerName, signals)
    var view = WatchView(size: .usual, title: broker.brokerName)
    view.order = order
    view.filter = filter
    view.chosenColumns = columns
    if showsDetail { view.toggle(.detail) }
    if showsMap { view.toggle(.map) }
    var meter = RateMeter()
    let screen = LiveScreen(
      signals: signals, news: model.changed, interval: interval ?? 0.08, timeout: timeout,
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
