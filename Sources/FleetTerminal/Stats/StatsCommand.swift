package import ArgumentParser
package import Fleet
package import FleetCommand
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The options of `odograph stats`.
package struct StatsOptions: BrokerOptions {
  @OptionGroup package var vehicles: VehicleArguments

  @Flag(help: "Count for 10 s (or --seconds, --count), print the table and exit.")
  package var once = false

  @OptionGroup package var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this number of messages, and print the table.", valueName: "n"))
  package var count: Int?

  @OptionGroup package var quality: QualityArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription, to count the messages of one of several consumers.",
      valueName: "group"))
  package var share: String?

  @Flag(help: "Print the counts as a JSON object.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Broker") package var words: MessageProfileArguments

  package init() {}
}

/// The `odograph stats` command: counts the messages of a fleet, with rates, delays, missing and duplicate
/// messages and bytes.
///
/// Messages are counted on the connection's thread in batches, and not stored.
package enum StatsCommand {
  /// The interval in seconds between redraws.
  private static let interval = 0.5
  /// The default duration of `--once` in seconds.
  private static let usualTime = 10.0

  /// Runs the command.
  ///
  /// - Throws: `FleetError` for invalid options and an unreachable broker.
  package static func run(_ options: StatsOptions) throws(FleetError) -> ExitStatus {
    let seconds = try options.time.limit()
    if let seconds, !(0.1...1e8).contains(seconds) {
      throw .usage("count", "for \(seconds) s", "--seconds must be 0.1 or more")
    }
    if let count = options.count, count < 1 {
      throw .usage("count", "\(count) messages", "--count must be 1 or more")
    }
    signal(SIGPIPE, SIG_IGN)
    if LiveScreen.isPossible, !options.once, !options.json, options.count == nil {
      return try watch(options, limit: seconds)
    }
    return try print(options, limit: seconds)
  }

  private static func subscriber(
    _ options: StatsOptions, _ broker: MQTTConfiguration, _ model: LiveModel<StreamStatistics>,
    reachedCount: @escaping @Sendable () -> Void = {},
    connection: @escaping @Sendable (FleetConnection) -> Void = { _ in }
  ) throws(FleetError) -> FleetSubscriber {
    try FleetSubscriber(
      broker: broker, filters: options.vehicles.selection(options.broker, options.words).filters(),
      qos: options.quality.level(), share: options.share,
      handlers: .init(
        received: { batch in
          model.receive(batch, isNews: false) { $0.add($1, at: batch.receivedAt) }
          if let count = options.count, model.withState({ $0.value.messages }) >= count { reachedCount() }
          return .kept
        },
        connection: { change in
          model.observe(change)
          connection(change)
        }))
  }

  private static func model(_ options: StatsOptions) throws(FleetError) -> LiveModel<StreamStatistics> {
    let selection = try options.vehicles.selection(options.broker, options.words)
    return try LiveModel(StreamStatistics(root: selection.root, profile: selection.profile))
  }

  private static func print(_ options: StatsOptions, limit: Double?) throws(FleetError) -> ExitStatus {
    let waiter = try CommandWaiter()
    let model = try model(options)
    let subscriber = try subscriber(
      options, options.broker.configuration(), model, reachedCount: { waiter.end(.ended(.done)) },
      connection: waiter.observe)
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 2 : 30) }
    // The time limit of the count starts when the topics are subscribed to. The wait for the subscription has
    // the same limit.
    var ending = try waiter.waitForAnswer(limit: limit) { model.withState { $0.begin != nil } }
    var progress = ProgressLine()
    let limit = limit ?? (options.once && options.count == nil ? usualTime : nil)
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
    if options.share != nil { subscriber.stop(drain: 30) }
    let (statistics, begin) = model.withState { ($0.value, $0.begin) }
    let seconds = max(begin.map { Moment.now.seconds(since: $0) } ?? 0, 0.001)
    var text: String
    if options.json {
      text = String(decoding: statistics.json(seconds: seconds), as: UTF8.self) + "\n"
    } else {
      let isTerminal = isatty(STDOUT_FILENO) == 1
      let width = isTerminal ? TerminalSize(of: STDOUT_FILENO)?.columns ?? 80 : 120
      text = StatsView(title: "").text(
        of: statistics, seconds: seconds, width: width, styles: isTerminal && CommandOutput.usesColor)
    }
    if CommandOutput.write(text) == .outputFailed { return .outputFailed }
    if case .ended(let status) = ending { return status }
    guard let count = options.count, statistics.messages < count else { return .done }
    StandardError.sayMissed(count, came: statistics.messages)
    return .timedOut
  }

  private static func watch(_ options: StatsOptions, limit: Double?) throws(FleetError) -> ExitStatus {
    let signals = try SignalDescriptor.forCommand(LiveScreen.signals)
    let broker = try options.broker.configuration()
    let model = try model(options)
    let subscriber = try subscriber(options, broker, model)
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 0.5 : 30) }
    try model.waitForConnection(to: broker.brokerName, signals)
    var view = StatsView(title: broker.brokerName)
    var meter = RateMeter()
    // The table is redrawn at its own interval, not for each message.
    let screen = LiveScreen(
      signals: signals, news: model.changed, interval: interval, timeout: limit,
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
