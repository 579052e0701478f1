internal import Sensors
internal import Spatial

/// Signals derived from other signals: vehicle motion, engine operation, and the state of the electrical
/// system.
///
/// `Vehicle.LowVoltageSystemState` is ON while the engine runs or the vehicle moves. It remains ON as long as
/// the bus is active, because an engine that stops at a traffic light switches nothing off. It is ACC on an
/// active bus on which neither the engine has run nor the vehicle has moved. It is OFF after ten seconds
/// without readings; on a bus that only answers requests, the interval between requests is added.
struct DerivedSignals: Sendable {
  static let paths: Set<String> = [
    VehicleSignal.isMoving, VehicleSignal.isRunning, VehicleSignal.systemState,
  ]

  private let wanted: Set<String>
  private var told: [String: VehicleReading.Value] = [:]
  private var lastHeard: Timestamp?
  private var wasOn = false
  /// Interval in s between requests to control units that send nothing without a request; 0 without such
  /// requests.
  var requestInterval = 0.0

  /// Time in s without a reading after which the electrical system counts as off.
  private static let silence = 10.0
  /// Speed in km/h below which wheels count as stationary, because of the resolution of their sensors.
  private static let standing = 0.5

  init(_ wanted: Set<String>) {
    self.wanted = wanted
  }

  var nextDeadline: Timestamp? {
    wanted.isEmpty ? nil : lastHeard?.advanced(bySeconds: Self.silence + requestInterval)
  }

  /// Processes a reading of a control unit.
  mutating func observe(_ reading: VehicleReading) -> [VehicleReading] {
    guard !wanted.isEmpty else { return [] }
    lastHeard = reading.timestamp
    var changes: [VehicleReading] = []
    if case .number(let number)? = reading.value {
      if reading.path == VehicleSignal.speed {
        let isMoving = abs(number) > Self.standing
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

  /// Advances the time, and returns the changes if the bus has become silent.
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

  /// Reports each change once.
  private mutating func tell(
    _ path: String, _ value: VehicleReading.Value?, _ time: Timestamp, _ changes: inout [VehicleReading]
  ) {
    guard wanted.contains(path), told[path] != value else { return }
    told[path] = value
    changes.append(VehicleReading(timestamp: time, path: path, value: value, origin: .derived))
  }
}
