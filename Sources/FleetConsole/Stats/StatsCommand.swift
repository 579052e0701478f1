package import ArgumentParser
package import Fleet
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The options of `odograph stats`.
package struct StatsOptions: ParsableArguments {
  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup package var words: MessageProfileArguments

  @OptionGroup package var vehicles: VehicleArguments

  @Flag(help: "Count for a while (10 s unless --seconds or --count says so), print the table and end.")
  package var once = false

  @OptionGroup package var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("End after so many messages, and print the table.", valueName: "n"))
  package var count: Int?

  @OptionGroup package var quality: QualityArguments

  @Option(
    help: ArgumentHelp(
      "Split the messages with the other members of this group, as one of many consumers sees them.",
      valueName: "group"))
  package var share: String?

  @Flag(help: "Print the counts as a JSON object.")
  package var json = false

  package init() {}
}

/// Counts what a fleet says: rates, delays, what is missing, what came twice, bytes.
///
/// Messages are counted on the connection's thread, a batch at a time, and forgotten.
package enum StatsCommand {
  /// Seconds between two redraws.
  private static let interval = 0.5
  /// Seconds that `--once` counts when nothing else is said.
  private static let usualTime = 10.0

  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached.
  package static func run(_ options: StatsOptions) throws(FleetError) -> ExitStatus {
    let seconds = try options.time.limit()
    if let seconds, !(0.1...1e8).contains(seconds) {
      throw FleetError(
        operation: "count", object: "for \(seconds) s", cause: "--seconds is 0.1 or more", exit: .usage)
    }
    if let count = options.count, count < 1 {
      throw FleetError(
        operation: "count", object: "\(count) messages", cause: "--count is 1 or more", exit: .usage)
    }
    signal(SIGPIPE, SIG_IGN)
    if LiveScreen.isPossible, !options.once, !options.json, options.count == nil {
      return try watch(options, limit: seconds)
    }
    return try print(options, limit: seconds)
  }

  /// What the connection's thread and the command's share.
  fileprivate struct State: Sendable {
    var statistics: StreamStatistics
    /// When the subscription stood: rates are since then.
    var begin: Moment?
    var trouble: String?
    var failure: FleetError?
  }

  private static func subscriber(
    _ options: StatsOptions, _ broker: BrokerOptions, _ selection: FleetSelection, _ state: Locked<State>,
    reachedCount: @escaping @Sendable () -> Void = {},
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) -> FleetSubscriber {
    try FleetSubscriber(
      broker: broker, filters: selection.filters(), qos: options.quality.level(), share: options.share,
      handlers: .init(
        received: { batch in
          let messages = state.withLock { state in
            for message in batch.messages { state.statistics.note(message, at: batch.receivedAt) }
            return state.statistics.messages
          }
          if let count = options.count, messages >= count { reachedCount() }
          return .kept
        },
        connection: { change in
          state.withLock { state in
            switch change {
            case .subscribed: state.begin = state.begin ?? .now
            case .connected: state.trouble = nil
            case .disconnected(let reason): state.trouble = "not connected: \(reason)"
            case .refused: break
            }
          }
          connection(change)
        }))
  }

  private static func print(_ options: StatsOptions, limit: Double?) throws(FleetError) -> ExitStatus {
    let waiter = try CommandWaiter()
    let broker = try options.broker.options()
    let selection = try options.vehicles.selection(options.broker, options.words)
    let state = Locked(State(statistics: StreamStatistics(root: selection.root, profile: selection.profile)))
    let reachedCount: @Sendable () -> Void = { waiter.end(.ended(.done)) }
    let subscriber = try subscriber(options, broker, selection, state, reachedCount: reachedCount) { change in
      waiter.note(change)
    }
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 2 : 30) }
    // The time runs from the subscription on, which the broker has as long to grant.
    var ending = try waiter.waitForAnswer(limit: limit) { state.withLock { $0.begin != nil } }
    var progress = ProgressLine()
    let limit = limit ?? (options.once && options.count == nil ? usualTime : nil)
    while ending.isTimeOver {
      let (begin, messages) = state.withLock { ($0.begin, $0.statistics.messages) }
      let seconds = begin.map { Moment.now.seconds(since: $0) } ?? 0
      if let limit, seconds >= limit { break }
      progress.show(every: 1) { "\(QuantityText.age(seconds))  \(QuantityText.count(messages)) messages" }
      ending = waiter.wait(seconds: min(1, limit.map { $0 - seconds } ?? 1))
    }
    progress.clear()
    if case .failed(let error) = ending { throw error }
    // What a member of a group still takes over while it leaves comes to nobody else: it counts.
    if options.share != nil { subscriber.stop(drain: 30) }
    let now = Moment.now
    let (statistics, begin) = state.withLock { ($0.statistics, $0.begin) }
    let seconds = max(begin.map { now.seconds(since: $0) } ?? 0, 0.001)
    let isTerminal = isatty(STDOUT_FILENO) == 1
    var bytes: [UInt8]
    if options.json {
      bytes = statistics.json(seconds: seconds) + [0x0A]
    } else {
      let width = isTerminal ? TerminalScreen.size(of: STDOUT_FILENO)?.columns ?? 80 : 120
      let text = StatsView(title: "").text(
        of: statistics, seconds: seconds, width: width, styles: isTerminal && CommandOutput.usesColor)
      bytes = Array(text.utf8)
    }
    if let problem = OutputStream.write(bytes, to: STDOUT_FILENO), problem.rawValue != EPIPE {
      return .outputFailed
    }
    if case .ended(let status) = ending { return status }
    return .done
  }

  private static func watch(_ options: StatsOptions, limit: Double?) throws(FleetError) -> ExitStatus {
    let signals: SignalDescriptor
    do throws(SystemError) { signals = try SignalDescriptor(LiveScreen.signals) } catch {
      throw FleetError(error)
    }
    let news = try event()
    let broker = try options.broker.options()
    let selection = try options.vehicles.selection(options.broker, options.words)
    let state = Locked(State(statistics: StreamStatistics(root: selection.root, profile: selection.profile)))
    let subscriber = try subscriber(options, broker, selection, state) { change in
      state.withLock { $0.note(change) }
      news.signal()
    }
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 0.5 : 30) }
    while true {
      if waitUntilReadable([news.descriptor, signals.descriptor]) == signals.descriptor {
        if let number = signals.received().first(where: { $0 != SIGWINCH }) {
          return ExitStatus(signal: number)
        }
      }
      news.drain()
      let (failure, begin) = state.withLock { ($0.failure, $0.begin) }
      if let failure { throw failure }
      if begin != nil { break }
    }
    var view = StatsView(title: broker.address.description)
    var meter = RateMeter()
    // Nothing signals news: the table is drawn at its own pace, which is the idle one.
    let screen = LiveScreen(
      signals: signals, news: news, interval: interval, timeout: limit, usesColor: CommandOutput.usesColor
    )
    return try screen.run { key in
      view.handle(key)
    } draw: { size throws(FleetError) in
      let now = Moment.now
      let (statistics, begin, trouble, failure) = state.withLock {
        ($0.statistics, $0.begin, $0.trouble, $0.failure)
      }
      if let failure { throw failure }
      meter.add(messages: statistics.messages, bytes: statistics.bytes, at: now.timestamp)
      let seconds = max(begin.map { now.seconds(since: $0) } ?? 0, 0.001)
      return view.frame(of: statistics, seconds: seconds, rates: meter.rates, size: size, trouble: trouble)
    }
  }

  private static func event() throws(FleetError) -> EventDescriptor {
    do throws(SystemError) { return try EventDescriptor() } catch { throw FleetError(error) }
  }
}

extension StatsCommand.State {
  /// What ends the command: a subscription that is refused, or a first connection that fails.
  fileprivate mutating func note(_ change: FleetConnection) {
    switch change {
    case .refused(let filter, let reason):
      failure = FleetError(
        operation: "subscribe to", object: "\"\(filter)\"",
        cause: "\(reason); check the broker's access list for this user", exit: .unavailable)
    case .disconnected(let reason): if begin == nil { failure = FleetError(reason) }
    case .connected, .subscribed: break
    }
  }
}
