internal import Platform
public import Sensors

/// A sink that keeps what a source hands over.
public final class EventRecorder: Sendable {
  private let kept = Locked<[SensorEvent]>([])

  public init() {}

  public func receive(_ event: SensorEvent) { kept.withLock { $0.append(event) } }

  /// Everything so far, in the order in which it came.
  public var events: [SensorEvent] { kept.withLock { $0 } }

  public var statuses: [SourceStatus] {
    events.compactMap { event -> SourceStatus? in
      if case .status(let status) = event { status } else { nil }
    }
  }

  public var accelerometer: [AccelerometerData] {
    events.flatMap { event -> [AccelerometerData] in
      if case .accelerometer(let block) = event { block } else { [] }
    }
  }

  public var gyroscope: [GyroData] {
    events.flatMap { event -> [GyroData] in
      if case .gyroscope(let block) = event { block } else { [] }
    }
  }

  public var magnetometer: [MagnetometerData] {
    events.flatMap { event -> [MagnetometerData] in
      if case .magnetometer(let block) = event { block } else { [] }
    }
  }

  public var barometer: [PressureData] {
    events.flatMap { event -> [PressureData] in
      if case .barometer(let block) = event { block } else { [] }
    }
  }

  public var thermometer: [TemperatureData] {
    events.flatMap { event -> [TemperatureData] in
      if case .thermometer(let block) = event { block } else { [] }
    }
  }
}
