internal import Glibc
public import MQTT
internal import Platform
internal import Spatial

/// What `odograph stats` is asked for.
public struct StatsOptions: Sendable {
  public var broker = BrokerOptions()
  public var root = FleetSelection().root
  public var profile = MessageProfile.native
  /// MQTT topic filters.
  public var filters: [String]
  /// The highest at which the broker delivers.
  public var qos: QoS = .atLeastOnce
  /// A group whose members split the messages among them.
  public var share: String?
  /// Seconds, from the subscription, after which it ends; nil goes on.
  public var seconds: Double?
  /// Messages after which it ends, the table printed at the end; what came with the last of them is counted, too.
  public var count: Int?
  /// Print the table at the end instead of showing it as it grows.
  public var once = false
  public var json = false
  public var usesColor = true

  public init(filters: [String]) { self.filters = filters }
}

/// Counts what a fleet says: rates, delays, what is missing, what came twice, bytes.
///
/// Messages are counted on the connection's thread, a batch at a time, and forgotten.
public enum StatsCommand {
  /// Seconds between two redraws.
  private static let interval = 0.5
  /// Seconds that `--once` counts when nothing else is said.
  private static let usualTime = 10.0

  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached.
  public static func run(_ options: StatsOptions) throws(FleetError) -> ExitStatus {
    if let seconds = options.seconds, !(0.1...1e8).contains(seconds) {
      throw FleetError(
        operation: "count", object: "for \(seconds) s", cause: "--seconds is 0.1 or more", exit: .usage)
    }
    if let count = options.count, count < 1 {
      throw FleetError(
        operation: "count", object: "\(count) messages", cause: "--count is 1 or more", exit: .usage)
    }
    signal(SIGPIPE, SIG_IGN)
    if LiveScreen.isPossible, !options.once, !options.json, options.count == nil { return try watch(options) }
    return try print(options)
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
    _ options: StatsOptions, _ state: Locked<State>, reachedCount: @escaping @Sendable () -> Void = {},
    connection: @escaping @Sendable (FleetConnection) -> Void
  ) throws(FleetError) -> FleetSubscriber {
    try FleetSubscriber(
      broker: options.broker, filters: options.filters, qos: options.qos, share: options.share,
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

  private static func print(_ options: StatsOptions) throws(FleetError) -> ExitStatus {
    let waiter = try CommandWaiter()
    let state = Locked(State(statistics: StreamStatistics(root: options.root, profile: options.profile)))
    let subscribed = try event()
    let reachedCount: @Sendable () -> Void = { waiter.end(.ended(.done)) }
    let subscriber = try subscriber(options, state, reachedCount: reachedCount) { change in
      waiter.note(change)
      if change == .subscribed { subscribed.signal() }
    }
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 2 : 30) }
    // The time runs from the subscription on, however long the broker took to grant it.
    var ending: CommandWaiter.Ending
    repeat { ending = waiter.wait(seconds: 0) } while ending.isTimeOver && !subscribed.wait(seconds: 0.05)
    var progress = ProgressLine()
    let limit = options.seconds ?? (options.once && options.count == nil ? usualTime : nil)
    while ending.isTimeOver {
      let (begin, messages) = state.withLock { ($0.begin, $0.statistics.messages) }
      let seconds = begin.map { Moment.now.seconds(since: $0) } ?? 0
      if let limit, seconds >= limit { break }
      progress.show(every: 1) { "\(QuantityText.age(seconds))  \(QuantityText.count(messages)) messages" }
      ending = waiter.wait(seconds: min(1, limit.map { $0 - seconds } ?? 1))
    }
    progress.clear()
    if case .failed(let error) = ending { throw error }
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
        of: statistics, seconds: seconds, width: width, styles: isTerminal && options.usesColor)
      bytes = Array(text.utf8)
    }
    if let problem = OutputStream.write(bytes, to: STDOUT_FILENO), problem.rawValue != EPIPE {
      return .outputFailed
    }
    if case .ended(let status) = ending { return status }
    return .done
  }

  private static func watch(_ options: StatsOptions) throws(FleetError) -> ExitStatus {
    let signals: SignalDescriptor
    do throws(SystemError) { signals = try SignalDescriptor(LiveScreen.signals) } catch {
      throw FleetError(error)
    }
    let news = try event()
    let state = Locked(State(statistics: StreamStatistics(root: options.root, profile: options.profile)))
    let subscriber = try subscriber(options, state) { change in
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
    var view = StatsView(title: options.broker.address.description)
    var meter = RateMeter()
    // Nothing signals news: the table is drawn at its own pace, which is the idle one.
    let screen = LiveScreen(
      signals: signals, news: news, interval: interval, timeout: options.seconds, usesColor: options.usesColor
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
