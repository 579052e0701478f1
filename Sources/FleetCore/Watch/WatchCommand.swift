internal import Glibc
internal import MQTT
internal import Platform

/// What `odograph watch` is asked for.
public struct WatchOptions: Sendable {
  public var broker = BrokerOptions()
  public var selection = FleetSelection()
  /// Print the table once, when what the broker had kept is in, and end.
  public var once = false
  /// Seconds, from the start, after which it ends; nil goes on.
  public var timeout: Double?
  /// Seconds between two redraws, or between two looks in a pipe; nil is 0.1 and 1.
  public var interval: Double?
  /// Whether to use colours; false also where `NO_COLOR` is set.
  public var usesColor = true

  public init() {}
}

/// Shows a fleet as it moves: a table on a terminal, lines in a pipe.
public enum WatchCommand {
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached.
  public static func run(_ options: WatchOptions) throws(FleetError) -> ExitStatus {
    if let interval = options.interval, !(0.02...3600).contains(interval) {
      throw FleetError(
        operation: "draw", object: "every \(interval) s", cause: "--interval is 0.02 to 3600 seconds",
        exit: .usage)
    }
    signal(SIGPIPE, SIG_IGN)
    let isTerminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !isDumb
    let isInteractive = isTerminal && !options.once
    let signals: SignalDescriptor
    do throws(SystemError) {
      let ending = [SIGINT, SIGTERM, SIGHUP]
      signals = try SignalDescriptor(isInteractive ? ending + [SIGWINCH, SIGTSTP] : ending)
    } catch { throw FleetError(error) }
    let model = try WatchModel(roster: Roster(root: options.selection.root))
    let subscriber = try FleetSubscriber(
      broker: options.broker, filters: options.selection.filters(), qos: .atLeastOnce,
      handlers: .init(
        received: { batch in
          model.take(batch)
          return .kept
        },
        connection: { model.take($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: 0.5) }
    if isInteractive { return try WatchScreen(options, model, signals).run() }
    return try WatchPrinter(options, model, signals).run()
  }

  /// A terminal that knows no control sequences, such as an editor's.
  private static var isDumb: Bool {
    guard let term = unsafe getenv("TERM") else { return true }
    return unsafe String(cString: term) == "dumb"
  }
}
