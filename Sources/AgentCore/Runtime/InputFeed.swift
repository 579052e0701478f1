internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial

/// Where the agent's next input comes from, and what time it is then.
///
/// Hardware pushes on the machine's clock; a recording has a time line of its own, on which only its events move time on. It
/// is played at a pace by a thread of its own, or pulled as fast as the machine can. On a recording's time line a sensor that
/// sleeps would stop time, if it is the only one: so all that is ever wanted is played, and what sleeping sensors would not
/// have said is left out here.
struct InputFeed {
  private let sensors: SensorFeed
  private let inbox: AgentInbox
  private var recording: (any SensorRecording)?
  private var sources: [any SensorSource] = []
  private var activeSources = 0
  private var awake = DemandFilter()
  /// The newest time that an event has told.
  private var newest: Timestamp

  init(_ sensors: SensorFeed, inbox: AgentInbox) {
    self.sensors = sensors
    self.inbox = inbox
    newest = Timestamp(nanoseconds: SystemClock.boottime)
    switch sensors {
    case .live(let sources): self.sources = sources
    // It is played on the machine's time line, from where that stands at the start.
    case .paced(let source): sources = [source]
    case .recorded(let recording):
      self.recording = recording
      newest = Timestamp(nanoseconds: 0)
    }
    activeSources = max(1, sources.count)
  }

  /// Whether the machine's clock moves time on.
  var isLive: Bool {
    if case .live = sensors { true } else { false }
  }

  /// Where the pipeline's time line stands.
  var now: Timestamp { isLive ? Timestamp(nanoseconds: SystemClock.boottime) : newest }

  /// What a recording that is pulled would say of itself as a source.
  var announcement: SensorEvent? {
    recording.map {
      .status(
        SourceStatus(timestamp: newest, source: $0.name, kinds: $0.kinds, state: .active(rates: [:])))
    }
  }

  /// - Throws: an error of a source that cannot run at all.
  func start() throws {
    for source in sources { try source.start { [inbox] in inbox.push(.sensor($0)) } }
  }

  /// Stops every source: their threads hold hardware.
  func stop() { for source in sources { source.stop() } }

  /// The next input; nil when the sensors have said all.
  /// - Parameter deadline: on the machine's clock (`SystemClock.boottime`): when a `tick` is wanted at the latest.
  /// - Throws: an error of a recording that cannot be read on.
  mutating func next(until deadline: Timestamp?) throws -> AgentInput? {
    if recording != nil {
      if let input = inbox.poll() { return input }
      guard let event = try recording?.next() else { return nil }
      return observe(.sensor(event))
    }
    guard activeSources > 0 else { return nil }
    let limit = deadline.map {
      SystemClock.monotonic &+ max(0, $0.nanoseconds &- SystemClock.boottime)
    }
    return observe(inbox.pop(until: limit) ?? .tick)
  }

  private mutating func observe(_ input: AgentInput) -> AgentInput {
    guard case .sensor(let event) = input else { return input }
    if let timestamp = event.timestamp { newest = max(newest, timestamp) }
    if case .status(let status) = event, status.state == .finished { activeSources -= 1 }
    return input
  }

  /// What awake sensors say of an event; nil when that is nothing.
  mutating func admit(_ event: SensorEvent) -> SensorEvent? { isLive ? event : awake.admit(event) }

  /// Makes demands of the sensors.
  /// - Parameters:
  ///   - changed: nil when they are as they were.
  ///   - full: what may ever be demanded under this configuration; nil when it is the one as before.
  mutating func setDemands(_ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil) {
    if let demands = isLive ? changed : full { demand(demands) }
    guard !isLive, let changed else { return }
    for kind in SensorKind.allCases { awake.setDemand(changed[kind] ?? .off, for: kind) }
  }

  /// Every kind of every source, because a source may find hardware later that it does not know of yet.
  private mutating func demand(_ demands: [SensorKind: SensorDemand]) {
    for kind in SensorKind.allCases {
      let demand = demands[kind] ?? .off
      for source in sources { source.setDemand(demand, for: kind) }
      recording?.setDemand(demand, for: kind)
    }
  }
}

/// The one queue through which everything reaches the pipeline's thread.
final class AgentInbox: Sendable {
  private let queue = Monitor(AgentInputQueue())

  /// Returns false for an input that is refused, as `AgentInputQueue` says.
  @discardableResult func push(_ input: AgentInput) -> Bool { queue.update { $0.append(input) } }

  /// The next input; nil when there is none until `deadline` (`SystemClock.monotonic`, ns). Without one it waits for as
  /// long as it takes.
  func pop(until deadline: Int64?) -> AgentInput? { queue.wait(until: deadline) { $0.popFirst() } }

  /// The next input, if one is there.
  func poll() -> AgentInput? { queue.withLock { $0.popFirst() } }

  /// Sensor events that there was no room for.
  var droppedEvents: Int { queue.withLock { $0.droppedEvents } }
}
