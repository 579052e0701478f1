internal import LiveSensors
internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial

/// Where the agent's next input comes from: its sensors, by way of the one queue or pulled beside it.
struct InputFeed {
  private var sensors: FeedSources
  private let inbox: AgentInbox

  init(_ feed: SensorFeed, inbox: AgentInbox) {
    sensors = FeedSources(feed)
    self.inbox = inbox
  }

  /// Whether the machine's clock moves time on.
  var isLive: Bool { sensors.isLive }

  /// Where the pipeline's time line stands.
  var now: Timestamp { sensors.now }

  /// What a recording that is pulled would say of itself as a source.
  var announcement: SensorEvent? { sensors.status(.active(rates: [:])) }

  /// The final status of a pulled recording; nil for other feeds.
  var conclusion: SourceStatus? {
    if case .status(let status)? = sensors.status(.finished) { status } else { nil }
  }

  /// - Throws: an error of a source that cannot run at all.
  func start() throws { try sensors.start { [inbox] in inbox.push(.sensor($0)) } }

  /// Stops every source: their threads hold hardware.
  func stop() { sensors.stop() }

  /// The next input; nil when the sensors have said all.
  /// - Parameter deadline: on the machine's clock (`SystemClock.boottime`): when a `tick` is wanted at the latest.
  /// - Throws: an error of a recording that cannot be read on.
  mutating func next(until deadline: Timestamp?) throws -> AgentInput? {
    if sensors.isPulled { return try inbox.poll() ?? sensors.pull().map(AgentInput.sensor) }
    guard !sensors.isOver else { return nil }
    let limit = deadline.map {
      SystemClock.monotonic &+ max(0, $0.nanoseconds &- SystemClock.boottime)
    }
    let input = inbox.pop(until: limit) ?? .tick
    if case .sensor(let event) = input { sensors.observe(event) }
    return input
  }

  /// What awake sensors say of an event; nil when that is nothing.
  mutating func admit(_ event: SensorEvent) -> SensorEvent? { sensors.admit(event) }

  /// Makes demands of the sensors, as `FeedSources` does.
  mutating func setDemands(_ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil) {
    sensors.setDemands(changed, full: full)
  }

  /// Tells receivers where they are about.
  func assist(_ aid: PositionAid) { sensors.assist(aid) }
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
