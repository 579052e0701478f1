package import Motion
package import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// What the pipeline cannot see, for `status`.
package struct AgentEnvironment: Sendable {
  /// Counts by name, as in messages dropped.
  package var counters: [String: Int]
  /// Why messages are in memory only; nil while they are safe.
  package var storeProblem: String?
  /// What the broker refuses, and why; nil while it takes all.
  package var deliveryProblem: String?
  /// The computer's health.
  package var device: DeviceHealth?
  /// Whether the vehicle takes configuration, regions and commands over MQTT; nil where there is nobody to send any.
  package var isManagedRemotely: Bool?
  /// Measured use since the start; nil where nobody measures.
  package var processor, radio: EnergyAccount?

  package init(
    counters: [String: Int] = [:], storeProblem: String? = nil, deliveryProblem: String? = nil,
    device: DeviceHealth? = nil, processor: EnergyAccount? = nil, radio: EnergyAccount? = nil
  ) {
    self.counters = counters
    self.storeProblem = storeProblem
    self.deliveryProblem = deliveryProblem
    self.device = device
    self.processor = processor
    self.radio = radio
  }
}

/// Where the attitude filter stands.
package struct MotionReport: Sendable {
  package var frame: AttitudeReferenceFrame
  /// What cannot be told for want of a sensor.
  package var unavailable: [String]
  /// Nil before the first sample of an accelerometer.
  package var hasAttitude: Bool?
  /// Degrees within which a heading is right; nil when it is not known.
  package var headingAccuracy: Double?
  package var calibration: MagneticFieldCalibrationAccuracy?
  package var isAtRest: Bool

  package init(
    frame: AttitudeReferenceFrame, unavailable: [String], hasAttitude: Bool? = nil,
    headingAccuracy: Double? = nil, calibration: MagneticFieldCalibrationAccuracy? = nil, isAtRest: Bool
  ) {
    self.frame = frame
    self.unavailable = unavailable
    self.hasAttitude = hasAttitude
    self.headingAccuracy = headingAccuracy
    self.calibration = calibration
    self.isAtRest = isAtRest
  }
}

/// Decides when a `status` is due, and what it says of the sources: at the start, when a source changes, and at an interval.
struct StatusReporter: Sendable {
  private let start: Timestamp
  var interval: Double
  private let version: String
  private var sources: [String: StatusMessage.Source] = [:]
  /// The kinds that a source is missed for, by the source's name.
  private var missing: [String: Set<SensorKind>] = [:]
  private(set) var capabilities: MotionCapabilities?
  private var lastPublished: Timestamp?
  private var hasNews = true
  /// When the session with the broker began; nil before the first: then the agent's start stands for it.
  var sessionStart: UTCTime?

  /// Changes are collected this long (s), so that three sensors that start together make one message.
  private static let settlingTime = 0.5

  init(start: Timestamp, interval: Double, version: String) {
    self.start = start
    self.interval = interval
    self.version = version
  }

  mutating func observe(_ change: SourceStatus) {
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
    let before = sources.updateValue(source, forKey: change.source)
    // Power comes and goes all day: that a source that can be had sleeps or wakes is no news.
    hasNews = hasNews || before.map { $0 != source && !($0.isThere && source.isThere) } ?? true
  }

  /// Learns what the motion side can tell.
  mutating func observe(_ capabilities: MotionCapabilities) {
    hasNews = hasNews || self.capabilities.map { $0 != capabilities } ?? false
    self.capabilities = capabilities
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

  /// Something is other than the last message said.
  mutating func setNeedsUpdate() { hasNews = true }

  /// Makes the next message due at once.
  mutating func requestNow() { lastPublished = nil }

  var nextDeadline: Timestamp? {
    guard let lastPublished else { return start }
    return lastPublished.advanced(bySeconds: hasNews ? Self.settlingTime : interval)
  }

  /// The message that is due, if any.
  mutating func due(at timestamp: Timestamp, timeBase: TimeBase, environment: AgentEnvironment)
    -> StatusMessage?
  {
    if let nextDeadline, timestamp < nextDeadline { return nil }
    lastPublished = timestamp
    hasNews = false
    return message(.online, at: timestamp, timeBase: timeBase, environment: environment)
  }

  func message(
    _ state: StatusMessage.State, at timestamp: Timestamp, timeBase: TimeBase, environment: AgentEnvironment
  ) -> StatusMessage {
    var message = StatusMessage(
      state: state, time: timeBase.utc(at: timestamp), sessionStart: sessionStart ?? timeBase.utc(at: start))
    (message.clock, message.clockStep) = (timeBase.clock, timeBase.lastStep)
    message.version = version
    message.uptime = max(0, timestamp.seconds(since: start))
    message.device = environment.device
    message.storeProblem = environment.storeProblem
    message.isManagedRemotely = environment.isManagedRemotely
    message.deliveryProblem = environment.deliveryProblem
    message.sources = sources.values.sorted { $0.name < $1.name }
    message.counters = environment.counters
    return message
  }
}

extension StatusMessage.Source {
  fileprivate var isThere: Bool { state == "active" || state == "idle" }
}
