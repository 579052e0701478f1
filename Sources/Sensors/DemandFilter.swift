internal import Spatial

/// One `DemandGate` for each kind of sensor: leaves out of events what is not in demand.
public struct DemandFilter: Sendable {
  private var gates: [SensorKind: DemandGate] = [:]
  private var lastTimestamp: Timestamp?

  public init() {}

  /// Sets what is needed of one kind, from the time of the last event on.
  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    gates[kind, default: DemandGate()].setDemand(demand, at: lastTimestamp)
  }

  /// What is left of an event; nil when that is nothing. A change of a source's state always passes.
  public mutating func admit(_ event: SensorEvent) -> SensorEvent? {
    if let time = event.timestamp { lastTimestamp = max(time, lastTimestamp ?? time) }
    switch event {
    case .inertial(let block):
      let rest = block.compactMap { admit($0) }
      return rest.isEmpty && !block.isEmpty ? nil : .inertial(rest)
    case .barometer(let block):
      let rest = block.filter { admits(.barometer, at: $0.timestamp) }
      return rest.isEmpty && gates[.barometer] != nil ? nil : .barometer(rest)
    case .position(let block):
      let rest = block.filter { admits(.positioning, at: $0.timestamp) }
      return rest.isEmpty && gates[.positioning] != nil ? nil : .position(rest)
    case .status: return event
    }
  }

  private mutating func admit(_ scan: InertialScan) -> InertialScan? {
    var scan = scan
    for kind in SensorKind.inertial where scan.contains(kind) && !admits(kind, at: scan.timestamp) {
      scan.remove(kind)
    }
    return scan.isEmpty ? nil : scan
  }

  /// Without a demand for its kind everything passes.
  private mutating func admits(_ kind: SensorKind, at time: Timestamp) -> Bool {
    gates[kind]?.admits(time) ?? true
  }
}
