internal import LiveSensors
package import Pipeline
package import Platform
internal import Sensors
internal import Spatial

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

extension FeedSources {
  /// Source status of a pulled recording.
  var announcement: SensorEvent? { status(.active(rates: [:])) }

  /// The final status of a pulled recording; nil for other feeds.
  var conclusion: SourceStatus? {
    if case .status(let status)? = status(.finished) { status } else { nil }
  }

  /// Returns the agent's next input, through the inbox or pulled from a recording; nil at the end of the
  /// sensors' data.
  /// - Parameter deadline: latest time for a `tick`, on the machine's clock.
  /// - Throws: an error of a recording that cannot be read further.
  mutating func next(through inbox: AgentInbox, until deadline: Timestamp?) throws -> AgentInput? {
    if isPulled { return try inbox.poll() ?? pull().map(AgentInput.sensor) }
    guard !isOver else { return nil }
    let input = inbox.pop(until: deadline.map { .after($0.seconds(since: .now)) }) ?? .tick
    if case .sensor(let event) = input { observe(event) }
    return input
  }
}
