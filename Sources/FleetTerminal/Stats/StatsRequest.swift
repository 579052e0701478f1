package import Fleet
package import FleetProgram
internal import Glibc
package import MQTT
internal import Platform
internal import Spatial

/// A request to count the messages of a fleet, with rates, delays, missing and duplicate messages and bytes
/// (`odograph stats`).
///
/// Messages are counted on the connection's thread in batches, and not stored.
package struct StatsRequest: Sendable {
  package var broker: MQTTConfiguration
  package var selection: FleetSelection
  package var qos = QoS.atLeastOnce
  /// The group of a shared subscription; nil for a subscription that is not shared.
  package var share: String?
  /// The number of messages to count; nil for no limit.
  package var count: Int?
  /// True to print the table once at the end, instead of a live table.
  package var isOnce = false
  /// True to print a JSON object at the end.
  package var isJSON = false
  /// The time limit in seconds; nil for none.
  package var timeout: Double?

  /// The interval in seconds between redraws.
  private static let interval = 0.5
  /// The default duration of `--once` in seconds.
  private static let usualTime = 10.0

  package init(broker: MQTTConfiguration, selection: FleetSelection) {
    (self.broker, self.selection) = (broker, selection)
  }

  /// Counts messages until the count, the time limit, a key or a signal.
  /// - Throws: `FleetError` for an invalid selection and an unreachable broker.
  package func run() throws(FleetError) -> ExitStatus {
    signal(SIGPIPE, SIG_IGN)
    if LiveScreen.isPossible, !isOnce, !isJSON, count == nil { return try watch() }
    return try print()
  }

  private func subscriber(
    _ model: LiveModel<StreamStatistics>,
    reachedCount: @escaping @Sendable () -> Void = {},
    connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
  ) throws(FleetError) -> FleetSubscriber {
    try FleetSubscriber(
      broker: broker, filters: selection.filters(), qos: qos, share: share,
      handlers: .init(
        received: { [count] batch in
          model.receive(batch, isNews: false) { $0.add($1, at: batch.receivedAt) }
          if let count, model.withState({ $0.value.messages }) >= count { reachedCount() }
          return .kept
        },
        connection: { change in
          model.observe(change)
          connection(change)
        }))
  }

  private func model() throws(FleetError) -> LiveModel<StreamStatistics> {
    try LiveModel(StreamStatistics(root: selection.root, profile: selection.profile))
  }

  private func print() throws(FleetError) -> ExitStatus {
    let waiter = try CommandWaiter()
    let model = try model()
    let subscriber = try subscriber(
      model, reachedCount: { waiter.end(.ended(.done)) }, connection: waiter.observe)
    try subscriber.start()
    defer { subscriber.stop(drain: share == nil ? 2 : 30) }
    // The time limit of the count starts when the topics are subscribed to. The wait for the subscription has
    // the same limit.
    var ending = try waiter.waitForAnswer(limit: timeout) { model.withState { $0.begin != nil } }
    var progress = ProgressLine()
    let limit = timeout ?? (isOnce && count == nil ? Self.usualTime : nil)
    while ending.isTimeOver {
      let (begin, messages) = model.withState { ($0.begin, $0.value.messages) }
      let seconds = begin.map { Moment.now.seconds(since: $0) } ?? 0
      if let limit, seconds >= limit { break }
      progress.show(every: 1) { "\(QuantityText.age(seconds))  \(QuantityText.count(messages)) messages" }
      ending = waiter.wait(seconds: min(1, limit.map { $0 - seconds } ?? 1))
    }
    progress.clear()
    if case .failed(let error) = ending { throw error }
    // A member that leaves a shared subscription still receives messages that no other member gets, so they
    // are counted.
    if share != nil { subscriber.stop(drain: 30) }
    let (statistics, begin) = model.withState { ($0.value, $0.begin) }
    let seconds = max(begin.map { Moment.now.seconds(since: $0) } ?? 0, 0.001)
    var text: String
    if isJSON {
      text = String(decoding: statistics.json(seconds: seconds), as: UTF8.self) + "\n"
    } else {
      let isTerminal = isatty(STDOUT_FILENO) == 1
      let width = isTerminal ? TerminalSize(of: STDOUT_FILENO)?.columns ?? 80 : 120
      text = StatsView(title: "").text(
        of: statistics, seconds: seconds, width: width, styles: isTerminal && CommandOutput.usesColor)
    }
    if CommandOutput.write(text) == .outputFailed { return .outputFailed }
    if case .ended(let status) = ending { return status }
    guard let count, statistics.messages < count else { return .done }
    StandardError.sayMissed(count, came: statistics.messages)
    return .timedOut
  }

  private func watch() throws(FleetError) -> ExitStatus {
    let signals = try SignalDescriptor.forCommand(LiveScreen.signals)
    let model = try model()
    let subscriber = try subscriber(model)
    try subscriber.start()
    defer { subscriber.stop(drain: share == nil ? 0.5 : 30) }
    try model.waitForConnection(to: broker.brokerName, signals)
    var view = StatsView(title: broker.brokerName)
    var meter = RateMeter()
    // The table is redrawn at its own interval, not for each message.
    let screen = LiveScreen(
      signals: signals, news: model.changed, interval: Self.interval, timeout: timeout,
      usesColor: CommandOutput.usesColor)
    return try screen.run { key in
      view.handle(key)
    } draw: { size throws(FleetError) in
      model.acknowledgeChanges()
      let now = Moment.now
      let state = model.withState { $0 }
      if let failure = state.failure { throw failure }
      meter.add(messages: state.value.messages, bytes: state.value.bytes, at: now.timestamp)
      let seconds = max(state.begin.map { now.seconds(since: $0) } ?? 0, 0.001)
      return view.frame(
        of: state.value, seconds: seconds, rates: meter.rates, size: size, trouble: state.trouble)
    }
  }
}
