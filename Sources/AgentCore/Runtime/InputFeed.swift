internal import LiveSensors
package import Pipeline
package import Platform
internal import Sensors
internal import Spatial

/// Source of the agent's inputs: its sensors, through the inbox or pulled from a recording.
struct InputFeed {
  private var sensors: FeedSources
  private let inbox: AgentInbox

  init(_ feed: SensorFeed, inbox: AgentInbox) {
    sensors = FeedSources(feed)
    self.inbox = inbox
  }

  /// True if time advances with the machine's clock.
  var isLive: Bool { sensors.isLive }

  /// Current time on the clock of the pipeline's timestamps.
  var now: Timestamp { sensors.now }

  /// Source status of a pulled recording.
  var announcement: SensorEvent? { sensors.status(.active(rates: [:])) }

  /// The final status of a pulled recording; nil for other feeds.
  var conclusion: SourceStatus? {
    if case .status(let status)? = sensors.status(.finished) { status } else { nil }
  }

  /// - Throws: an error of a source that cannot run at all.
  func start() throws { try sensors.start { [inbox] in inbox.push(.sensor($0)) } }

  /// Stops every source, because the threads of the sources have devices open.
  func stop() { sensors.stop() }

  /// Returns the next input; nil at the end of the sensors' data.
  /// - Parameter deadline: latest time for a `tick`, on the machine's clock.
  /// - Throws: an error of a recording that cannot be read further.
  mutating func next(until deadline: Timestamp?) throws -> AgentInput? {
    if sensors.isPulled { return try inbox.poll() ?? sensors.pull().map(AgentInput.sensor) }
    guard !sensors.isOver else { return nil }
    let limit = deadline.map {
      MonotonicTime.after($0.seconds(since: .now))
    }
    let input = inbox.pop(until: limit) ?? .tick
    if case .sensor(let event) = input { sensors.observe(event) }
    return input
  }

  /// Returns the part of an event that comes from active sensors; nil if there is none.
  mutating func admit(_ event: SensorEvent) -> SensorEvent? { sensors.admit(event) }

  /// Passes demands to the sensors, as in `FeedSources`.
  mutating func setDemands(_ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil) {
    sensors.setDemands(changed, full: full)
  }

  /// Passes an approximate position to receivers.
  func assist(_ aid: PositionAid) { sensors.assist(aid) }
}

/// The queue through which all inputs reach the pipeline's thread.
package final class AgentInbox: Sendable {
  private let queue = Monitor(AgentInputQueue())

  /// Adds an input. Returns false if it is rejected, as in `AgentInputQueue`.
  @discardableResult package func push(_ input: AgentInput) -> Bool { queue.update { $0.append(input) } }

  /// Returns the next input; nil if there is none until `deadline`. Without a deadline it waits
  /// without limit.
  package func pop(until deadline: MonotonicTime?) -> AgentInput? {
    queue.wait(until: deadline) { $0.popFirst() }
  }

  /// Returns the next input if there is one.
  package func poll() -> AgentInput? { queue.withLock { $0.popFirst() } }

  /// Number of sensor events dropped from the full queue.
  var droppedEvents: Int { queue.withLock { $0.droppedEvents } }
}
