package import Motion
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// State of the agent from outside the pipeline, for `status`.
package struct AgentEnvironment: Sendable {
  /// Counters by name, such as the number of dropped messages.
  package var counters: [String: Int]
  /// The reason why messages are stored in memory only; nil if they are stored on disk.
  package var storeProblem: String?
  /// The messages that the broker rejects, and the reason; nil if it accepts all.
  package var deliveryProblem: String?
  /// Optional functions that cannot use their files, and the reasons; nil if all can.
  package var functionProblem: String?
  /// The computer's health.
  package var device: DeviceHealth?
  /// True if the vehicle accepts settings, regions and commands over MQTT; nil if no broker is configured.
  package var isManagedRemotely: Bool?
  /// Measured energy use of processor and radio since the start; nil if not measured.
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

/// State of the attitude filter, for `status`.
package struct MotionReport: Sendable {
  package var frame: AttitudeReferenceFrame
  /// Outputs that are unavailable because a sensor is missing.
  package var unavailable: [String]
  /// True if an attitude is available; nil before the first accelerometer sample.
  package var hasAttitude: Bool?
  /// Maximum heading error in degrees; nil if unknown.
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

/// Decides when a `status` is due: at the start, after a change of a source, and at intervals. It also
/// describes the sources in the message.
struct StatusReporter: PipelinePart {
  private let start: Timestamp
  private let version: String
  private var sources: [String: StatusMessage.Source] = [:]
  /// The reasons why active sources deliver less than they could, by name of the source. They remain while the
  /// source sleeps.
  private var restrictions: [String: String] = [:]
  /// The kinds of sensors that unavailable sources have reported as missing, by name of the source.
  private var missing: [String: Set<SensorKind>] = [:]
  private var lastPublished: Timestamp?
  /// The last published message; nil before the first.
  private(set) var lastMessage: StatusMessage?
  /// Number of published messages.
  private(set) var count = 0
  /// Start of the broker session in civil time. Nil before the first session; the agent's start is used then.
  var sessionStart: UTCTime?

  /// Time in s for which changes are collected, so that several sensors that start together cause one
  /// message.
  private static let settlingTime = 0.5
  /// Limits the messages that changes cause, so that a source with a loose contact does not flood the link.
  private var changes = MessageCredit()

  init(start: Timestamp, version: String) {
    self.start = start
    self.version = version
  }

  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {
    var source = StatusMessage.Source(name: change.source, state: "idle")
    switch change.state {
    case .active(let rates):
      source.state = "active"
      source.reason = change.restriction
      if restrictions[change.source] != change.restriction { context.isStatusOutdated = true }
      restrictions[change.source] = change.restriction
      settle(change, &context)
      for (kind, rate) in rates { source.rates[kind.rawValue] = rate }
    case .idle: break
    case .unavailable(let reason):
      source.state = "unavailable"
      source.reason = reason
      missing[change.source] = change.kinds
    case .finished: source.state = "finished"
    }
    let before = sources.updateValue(source, forKey: change.source)
    // Available sources fall asleep and wake up frequently. These changes cause no message.
    if before.map({ $0 != source && !($0.isThere && source.isThere) }) ?? true {
      context.isStatusOutdated = true
    }
  }

  /// Removes reports about missing sensors that are active again. A source can report missing sensors under
  /// one name, and become active under another one: an unreachable IIO context has its own name, and a device
  /// can return with another number.
  private mutating func settle(_ change: SourceStatus, _ context: inout PipelineContext) {
    for (name, kinds) in missing where name == change.source || !kinds.isDisjoint(with: change.kinds) {
      missing[name] = nil
      guard name != change.source else { continue }
      sources[name] = nil
      context.isStatusOutdated = true
    }
  }

  /// Makes the next message due immediately.
  mutating func requestNow() { lastPublished = nil }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    guard let lastPublished else { return start }
    let regular = lastPublished.advanced(bySeconds: context.configuration.statusInterval)
    guard context.isStatusOutdated else { return regular }
    let settled = lastPublished.advanced(bySeconds: Self.settlingTime)
    return min(regular, max(settled, changes.opening ?? settled))
  }

  /// Returns whether a message is due.
  func isDue(at timestamp: Timestamp, _ context: PipelineContext) -> Bool {
    nextDeadline(context).map { $0 <= timestamp } ?? true
  }

  mutating func publish(_ message: StatusMessage, at timestamp: Timestamp, _ context: inout PipelineContext) {
    lastPublished = timestamp
    changes.count(to: timestamp)
    if context.isStatusOutdated { changes.spend() }
    context.isStatusOutdated = false
    lastMessage = message
    count += 1
    context.send(.status(message))
  }

  /// Returns a message, to which the other parts add their fields.
  func message(
    _ state: StatusMessage.State, at timestamp: Timestamp, _ context: PipelineContext
  ) -> StatusMessage {
    let (timeBase, environment) = (context.timeBase, context.environment)
    var message = StatusMessage(
      state: state, time: timeBase.utc(at: timestamp), sessionStart: sessionStart ?? timeBase.utc(at: start))
    (message.clock, message.clockStep) = (timeBase.clock, timeBase.lastStep)
    message.version = version
    message.uptime = max(0, timestamp.seconds(since: start))
    message.device = environment.device
    message.storeProblem = environment.storeProblem
    message.isManagedRemotely = environment.isManagedRemotely
    message.deliveryProblem = environment.deliveryProblem
    message.functionProblem = environment.functionProblem
    message.sources = sources.values.sorted { $0.name < $1.name }
    message.counters = environment.counters
    return message
  }
}

extension StatusMessage.Source {
  fileprivate var isThere: Bool { state == "active" || state == "idle" }
}
