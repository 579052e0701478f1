internal import DequeModule

/// What waits to be processed, in two lanes that are served in turn: sensor blocks, and everything else. So a flood of
/// sensor blocks delays a request or a stop by one block, and a flood of requests costs no sensor block.
///
/// Every kind of input has its bound:
///
/// | input | bound | when full |
/// | --- | --- | --- |
/// | sensor event | `sensorCapacity` | the oldest is dropped and counted: a late value is worth less than a fresh one |
/// | request | `requestCapacity` | the new one is refused: its sender is not answered and can ask again |
/// | link change | `linkCapacity` | the oldest is dropped: the newest says how the link stands |
/// | snapshot request, reload | 1 | moves to the end: what was asked for before it is done first |
/// | tick, failing power, stop | 1 | one is enough; the last two go first |
package struct AgentInputQueue: Sendable {
  /// Some seconds of all sensors at full rate.
  package static let sensorCapacity = 1024
  package static let requestCapacity = 64
  package static let linkCapacity = 16

  private var sensors = Deque<AgentInput>()
  private var others = Deque<AgentInput>()
  private var servesSensorsNext = true
  /// Sensor events that there was no room for.
  package private(set) var droppedEvents = 0

  package init() {}

  /// Returns false for an input that is refused.
  package mutating func append(_ input: AgentInput) -> Bool {
    switch input {
    case .sensor:
      if sensors.count == Self.sensorCapacity {
        sensors.removeFirst()
        droppedEvents += 1
      }
      sensors.append(input)
    case .request:
      guard count(of: input) < Self.requestCapacity else { return false }
      others.append(input)
    case .link:
      if count(of: input) == Self.linkCapacity { remove(input) }
      others.append(input)
    case .snapshotRequest, .reload:
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

  /// Removes the oldest of a kind.
  private mutating func remove(_ input: AgentInput) {
    if let index = others.firstIndex(where: { $0.isLike(input) }) { others.remove(at: index) }
  }
}

extension AgentInput {
  /// Whether both are of one kind, whatever they carry.
  fileprivate func isLike(_ other: AgentInput) -> Bool {
    switch (self, other) {
    case (.sensor, .sensor), (.request, .request), (.link, .link), (.snapshotRequest, .snapshotRequest),
      (.reload, .reload), (.powerFailing, .powerFailing), (.stop, .stop), (.tick, .tick):
      true
    default: false
    }
  }
}
