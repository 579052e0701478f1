internal import Sensors
internal import Spatial
internal import Telemetry

/// Keeps what `status` says and decides when to say it: at the start, when a source changes, and at an interval.
struct StatusReporter: Sendable {
  private let start: Timestamp
  var interval: Double
  private let version: String
  private var sources: [String: StatusMessage.Source] = [:]
  /// The kinds that a source is missed for, by the source's name.
  private var missing: [String: Set<SensorKind>] = [:]
  private var lastTold: Timestamp?
  private var hasNews = true
  /// When the session with the broker began; nil before the first: then the agent's start stands for it.
  var sessionStart: UTCTime?
  /// What comes from outside the pipeline.
  var device: DeviceHealth?
  var storeProblem: String?

  /// Changes are collected this long (s), so that three sensors that start together make one message.
  private static let settlingTime = 0.5

  init(start: Timestamp, interval: Double, version: String) {
    self.start = start
    self.interval = interval
    self.version = version
  }

  mutating func note(_ change: SourceStatus) {
    var source = StatusMessage.Source(name: change.source, state: "idle")
    switch change.state {
    case .active(let rates):
      source.state = "active"
      settle(change)
      for (kind, rate) in rates { source.rates[kind.rawValue] = rate }
    case .idle: break
    case .unavailable(let reason):
      source.state = "unavailable"
      source.reason = reason
      missing[change.source] = change.kinds
    case .finished: source.state = "finished"
    }
    guard sources[change.source] != source else { return }
    sources[change.source] = source
    hasNews = true
  }

  /// Drops complaints that are settled. A whole context that cannot be reached goes by a name of its own, and so does a
  /// device that was given a new number: neither will say itself that the sensors are there again.
  private mutating func settle(_ change: SourceStatus) {
    for (name, kinds) in missing where name == change.source || !kinds.isDisjoint(with: change.kinds) {
      missing[name] = nil
      guard name != change.source else { continue }
      sources[name] = nil
      hasNews = true
    }
  }

  /// Makes the next message due at once.
  mutating func requestNow() { lastTold = nil }

  var nextDeadline: Timestamp? {
    guard let lastTold else { return start }
    return lastTold.advanced(bySeconds: hasNews ? Self.settlingTime : interval)
  }

  /// The message that is due, if any.
  mutating func due(at timestamp: Timestamp, timeBase: TimeBase, counters: [String: Int]) -> StatusMessage? {
    if let nextDeadline, timestamp < nextDeadline { return nil }
    lastTold = timestamp
    hasNews = false
    return message(.online, at: timestamp, timeBase: timeBase, counters: counters)
  }

  func message(
    _ state: StatusMessage.State, at timestamp: Timestamp, timeBase: TimeBase, counters: [String: Int]
  ) -> StatusMessage {
    var message = StatusMessage(
      state: state, time: timeBase.utc(at: timestamp), sessionStart: sessionStart ?? timeBase.utc(at: start))
    message.version = version
    message.uptime = max(0, timestamp.seconds(since: start))
    message.device = device
    message.storeProblem = storeProblem
    message.sources = sources.values.sorted { $0.name < $1.name }
    message.counters = counters
    return message
  }
}
