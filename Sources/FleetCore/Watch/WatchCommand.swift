internal import Glibc
internal import MQTT
internal import Platform

/// What `odograph watch` is asked for.
public struct WatchOptions: Sendable {
  public var broker = BrokerOptions()
  public var selection = FleetSelection()
  /// A group whose members split the messages among them.
  public var share: String?
  /// Print the table once, when what the broker had kept is in, and end.
  public var once = false
  /// Seconds, from the start, after which it ends; nil goes on.
  public var timeout: Double?
  /// Seconds between two redraws, or between two looks in a pipe; nil is 0.1 and 1.
  public var interval: Double?
  /// Whether to use colours; false also where `NO_COLOR` is set.
  public var usesColor = true
  /// What the filter begins as.
  public var filter = ""
  /// Whether a vehicle's details, and a map, are shown from the start.
  public var showsDetail = false
  public var showsMap = false
  /// `--once` prints JSON.
  public var json = false
  var order = VehicleOrder()

  public init() {}

  /// The names by which the table can be sorted.
  public static let sortKeys = VehicleOrder.Criterion.allCases.map(\.name)

  /// Sorts by the key of a name; one with `-` before it sorts the other way round.
  /// - Throws: `FleetError` listing the names, for one that is not among them.
  public mutating func sort(by name: String) throws(FleetError) {
    let isReversed = name.hasPrefix("-")
    let plain = isReversed ? String(name.dropFirst()) : name
    guard let criterion = VehicleOrder.Criterion.allCases.first(where: { $0.name == plain }) else {
      throw FleetError(
        operation: "sort by", object: "\"\(name.prefix(40))\"",
        cause: "--sort is \(Self.sortKeys.joined(separator: ", ")), or one of them with - before it",
        exit: .usage)
    }
    order = VehicleOrder(criterion: criterion, isReversed: isReversed)
  }
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
    let isInteractive = LiveScreen.isPossible && !options.once
    let signals: SignalDescriptor
    do throws(SystemError) {
      signals = try SignalDescriptor(isInteractive ? LiveScreen.signals : [SIGINT, SIGTERM, SIGHUP])
    } catch { throw FleetError(error) }
    let model = try WatchModel(
      roster: Roster(root: options.selection.root, profile: options.selection.profile))
    let subscriber = try FleetSubscriber(
      broker: options.broker, filters: options.selection.filters(), qos: .atLeastOnce, share: options.share,
      handlers: .init(
        received: { batch in
          model.take(batch)
          return .kept
        },
        connection: { model.take($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 0.5 : 30) }
    if isInteractive { return try WatchScreen(options, model, signals).run() }
    return try WatchPrinter(options, model, signals).run()
  }
}
