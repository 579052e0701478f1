internal import DequeModule
internal import Sensors

/// The queue of the agent's inputs, with two lanes that are served alternately: sensor blocks, and everything
/// else.
///
/// Many waiting sensor blocks delay a request or a stop by one block, and many requests cause no loss of
/// sensor blocks. Each kind of input has its own limit:
///
/// | input | limit | when full |
/// | --- | --- | --- |
/// | samples | `sensorCapacity` | the oldest are dropped and counted: newer values matter more |
/// | status of a source | `sensorCapacity` | samples are dropped instead, as long as there are any: a status is sent once |
/// | request | `requestCapacity` | the new one is rejected without a response; the sender can repeat it |
/// | link change | `linkCapacity` | the oldest is dropped, because the newest contains the current state |
/// | snapshot request, reload, local demands | 1 | the new one replaces it, after all earlier inputs |
/// | tick, failing power, stop | 1 | only one is stored; failing power and stop are served first |
package struct AgentInputQueue: Sendable {
  /// The maximum number of sensor events, enough for some seconds of all sensors at full rate.
  package static let sensorCapacity = 1024
  package static let requestCapacity = 64
  package static let linkCapacity = 16

  private var sensors = Deque<AgentInput>()
  private var others = Deque<AgentInput>()
  private var servesSensorsNext = true
  /// Number of sensor events that were dropped because the queue was full.
  package private(set) var droppedEvents = 0

  package init() {}

  /// Appends an input. Returns false if it is rejected.
  package mutating func append(_ input: AgentInput) -> Bool {
    switch input {
    case .sensor:
      if sensors.count == Self.sensorCapacity {
        sensors.remove(at: sensors.firstIndex { !$0.isStatus } ?? sensors.startIndex)
        droppedEvents += 1
      }
      sensors.append(input)
    case .request:
      guard count(of: input) < Self.requestCapacity else { return false }
      others.append(input)
    case .link:
      if count(of: input) == Self.linkCapacity { remove(input) }
      others.append(input)
    case .snapshotRequest, .reload, .localDemand, .localMotionDemand:
      remove(input)
      others.append(input)
    case .tick: if count(of: input) == 0 { others.append(input) }
    case .powerFailing, .stop: if count(of: input) == 0 { others.prepend(input) }
    }
    return true
  }

  package mutating func popFirst() -> AgentInput? {
    defer { servesSensorsNext.toggle() }
    return servesSensorsNext
      ? sensors.popFirst() ?? others.popFirst() : others.popFirst() ?? sensors.popFirst()
  }

  private func count(of input: AgentInput) -> Int { others.count { $0.isLike(input) } }

  /// Removes the oldest input of the same kind as `input`.
  private mutating func remove(_ input: AgentInput) {
    if let index = others.firstIndex(where: { $0.isLike(input) }) { others.remove(at: index) }
  }
}

extension AgentInput {
  fileprivate var isStatus: Bool { if case .sensor(.status) = self { true } else { false } }

  /// Returns whether both inputs are of the same kind, regardless of their content.
  fileprivate func isLike(_ other: AgentInput) -> Bool {
    switch (self, other) {
    case (.sensor, .sensor), (.request, .request), (.link, .link), (.snapshotRequest, .snapshotRequest),
      (.reload, .reload), (.localDemand, .localDemand),
      (.localMotionDemand, .localMotionDemand), (.powerFailing, .powerFailing), (.stop, .stop),
      (.tick, .tick):
      true
    default: false
    }
  }
}
