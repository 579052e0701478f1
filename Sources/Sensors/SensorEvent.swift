public import Spatial

/// What a source hands over: a block of samples of one kind in order of time, or word of its own state.
///
/// Sources hand over blocks, never single samples, because a hand-over between threads costs as much as
/// several dozen samples' worth of filtering.
public enum SensorEvent: Sendable, Hashable {
  case accelerometer([AccelerometerData])
  case gyroscope([GyroData])
  case magnetometer([MagnetometerData])
  case barometer([PressureData])
  case thermometer([TemperatureData])
  case position([PositionFix])
  case status(SourceStatus)

  /// The time of the newest sample; nil for an empty block.
  public var timestamp: Timestamp? {
    switch self {
    case .accelerometer(let block): block.last?.timestamp
    case .gyroscope(let block): block.last?.timestamp
    case .magnetometer(let block): block.last?.timestamp
    case .barometer(let block): block.last?.timestamp
    case .thermometer(let block): block.last?.timestamp
    case .position(let block): block.last?.timestamp
    case .status(let status): status.timestamp
    }
  }

  /// The kind of sensor the samples come from; nil for word of a source's state.
  public var kind: SensorKind? {
    switch self {
    case .accelerometer: .accelerometer
    case .gyroscope: .gyroscope
    case .magnetometer: .magnetometer
    case .barometer: .barometer
    case .thermometer: .thermometer
    case .position: .positioning
    case .status: nil
    }
  }
}

/// Word of a source's state, said once per change.
public struct SourceStatus: Sendable, Hashable {
  public enum State: Sendable, Hashable {
    /// Delivers. `rates` holds the effective rate in Hz of each kind, where the source knows it.
    case active(rates: [SensorKind: Double])
    /// Asleep because nobody wants anything of it.
    case idle
    /// Not reachable; the source keeps trying. The reason is a sentence for the person on call.
    case unavailable(reason: String)
    /// A recording is over.
    case finished
  }

  public var timestamp: Timestamp
  /// The source's name, as in "gpsd://127.0.0.1:2947" or "iio:device0 (lsm6dsox)".
  public var source: String
  public var kinds: Set<SensorKind>
  public var state: State
  /// What the hardware is, by a name that stays the same across restarts, as in "lsm6dsox"; nil when it does not say.
  public var device: String?

  public init(
    timestamp: Timestamp, source: String, kinds: Set<SensorKind>, state: State, device: String? = nil
  ) {
    self.timestamp = timestamp
    self.source = source
    self.kinds = kinds
    self.state = state
    self.device = device
  }
}
