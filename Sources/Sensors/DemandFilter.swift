internal import Spatial

/// One `DemandGate` for each kind of sensor: leaves out of events what was not wanted.
public struct DemandFilter: Sendable {
  private var gates: [SensorKind: DemandGate] = [:]
  private var lastTimestamp: Timestamp?

  public init() {}

  /// Sets what is needed of one kind, from the time of the last event on.
  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    gates[kind, default: DemandGate()].setDemand(demand, at: lastTimestamp)
  }

  /// What is left of an event; nil when that is nothing. Word of a source's state always passes.
  public mutating func admit(_ event: SensorEvent) -> SensorEvent? {
    if let time = event.timestamp { lastTimestamp = max(time, lastTimestamp ?? time) }
    guard let kind = event.kind, var gate = gates[kind] else { return event }
    defer { gates[kind] = gate }
    switch event {
    case .accelerometer(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .accelerometer(rest)
    case .gyroscope(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .gyroscope(rest)
    case .magnetometer(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .magnetometer(rest)
    case .barometer(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .barometer(rest)
    case .thermometer(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .thermometer(rest)
    case .position(let block):
      let rest = block.filter { gate.admits($0.timestamp) }
      return rest.isEmpty ? nil : .position(rest)
    case .status: return event
    }
  }
}
