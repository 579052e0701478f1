internal import Sensors
internal import Spatial

/// Signals that are made of others: whether the vehicle moves, whether its engine runs, and the state of its electrical system.
///
/// `Vehicle.LowVoltageSystemState` is ON while the engine runs or the vehicle moves, and stays so while the bus is heard, because an
/// engine that stops at a light does not switch anything off; ACC on a bus that is heard without either; OFF after ten seconds
/// of silence, where silence is longer than the time between two requests.
struct DerivedSignals: Sendable {
  static let paths: Set<String> = [
    VehicleSignal.isMoving, VehicleSignal.isRunning, VehicleSignal.systemState,
  ]

  private let wanted: Set<String>
  private var told: [String: VehicleReading.Value] = [:]
  private var lastHeard: Timestamp?
  private var wasOn = false
  /// s between two requests to control units that speak only when they are asked.
  var requestInterval = 0.0

  /// s without a word of any control unit after which nothing is on.
  private static let silence = 10.0
  /// km/h: wheels that are told to turn more slowly stand, by the steps of their sensors.
  private static let standing = 0.5

  init(_ wanted: Set<String>) {
    self.wanted = wanted
  }

  var nextDeadline: Timestamp? {
    wanted.isEmpty ? nil : lastHeard?.advanced(bySeconds: Self.silence + requestInterval)
  }

  /// Takes what a control unit said.
  mutating func observe(_ reading: VehicleReading) -> [VehicleReading] {
    guard !wanted.isEmpty else { return [] }
    lastHeard = reading.timestamp
    var changes: [VehicleReading] = []
    if case .number(let number)? = reading.value {
      if reading.path == VehicleSignal.speed {
        let isMoving = number > Self.standing
        wasOn = wasOn || isMoving
        tell(VehicleSignal.isMoving, .flag(isMoving), reading.timestamp, &changes)
      } else if reading.path == VehicleSignal.engineSpeed {
        let isRunning = number >= OBDRequester.idleSpeed
        wasOn = wasOn || isRunning
        tell(VehicleSignal.isRunning, .flag(isRunning), reading.timestamp, &changes)
      }
    }
    let state = wasOn ? SystemState.on : SystemState.accessory
    tell(VehicleSignal.systemState, .text(state), reading.timestamp, &changes)
    return changes
  }

  /// Lets time pass.
  mutating func advance(to time: Timestamp) -> [VehicleReading] {
    guard let nextDeadline, time >= nextDeadline else { return [] }
    lastHeard = nil
    wasOn = false
    var changes: [VehicleReading] = []
    tell(VehicleSignal.isMoving, nil, nextDeadline, &changes)
    tell(VehicleSignal.isRunning, .flag(false), nextDeadline, &changes)
    tell(VehicleSignal.systemState, .text(SystemState.off), nextDeadline, &changes)
    return changes
  }

  /// Each change once.
  private mutating func tell(
    _ path: String, _ value: VehicleReading.Value?, _ time: Timestamp, _ changes: inout [VehicleReading]
  ) {
    guard wanted.contains(path), told[path] != value else { return }
    told[path] = value
    changes.append(VehicleReading(timestamp: time, path: path, value: value, origin: .derived))
  }
}
