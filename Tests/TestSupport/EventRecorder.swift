internal import Platform
public import Sensors
public import Spatial

/// An event sink that stores all events of a source.
public final class EventRecorder: Sendable {
  private let kept = Locked<[SensorEvent]>([])

  public init() {}

  public func receive(_ event: SensorEvent) { kept.withLock { $0.append(event) } }

  /// Recorded events, in the order of arrival.
  public var events: [SensorEvent] { kept.withLock { $0 } }

  public var statuses: [SourceStatus] {
    events.compactMap { event -> SourceStatus? in
      if case .status(let status) = event { status } else { nil }
    }
  }

  public var scans: [InertialScan] { events.flatMap(\.scans) }

  // Scans that contain the given sensor.
  public var accelerometer: [InertialScan] { scans.filter { $0.contains(.accelerometer) } }
  public var gyroscope: [InertialScan] { scans.filter { $0.contains(.gyroscope) } }
  public var magnetometer: [InertialScan] { scans.filter { $0.contains(.magnetometer) } }
  public var thermometer: [InertialScan] { scans.filter { $0.contains(.thermometer) } }

  public var barometer: [PressureData] {
    events.flatMap { event -> [PressureData] in
      if case .barometer(let block) = event { block } else { [] }
    }
  }
}

extension SensorEvent {
  /// The scans of an inertial block; empty for other events.
  public var scans: [InertialScan] {
    if case .inertial(let block) = self { block } else { [] }
  }

  /// Returns the timestamps of all samples of one kind of sensor.
  public func times(of kind: SensorKind) -> [Timestamp] {
    switch self {
    case .inertial(let block): block.filter { $0.contains(kind) }.map(\.timestamp)
    case .barometer(let block): kind == .barometer ? block.map(\.timestamp) : []
    case .position(let block): kind == .positioning ? block.map(\.timestamp) : []
    case .vehicle, .radio, .status: []
    }
  }
}

extension InertialScan {
  /// Creates a scan of an accelerometer alone. Acceleration is in g with Core Motion's sign: (0, 0, -1) for a device at rest, face up.
  public init(timestamp: Timestamp, acceleration: Vector3) {
    self.init(timestamp: timestamp, specificForce: acceleration * -standardGravity)
  }
}
