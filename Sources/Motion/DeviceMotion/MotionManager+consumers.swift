public import Sensors
internal import Spatial

/// What a consumer wants to be told.
public enum MotionUpdates: String, Hashable, Sendable, CaseIterable {
  case accelerometer
  case gyro
  case magnetometer
  case deviceMotion
}

/// A consumer's wish: what, and how often.
public struct MotionRequest: Hashable, Sendable {
  public var updates: MotionUpdates
  /// Seconds between updates, above 0.
  public var interval: Double
  /// Seconds for which samples may be held back in the hardware: the longer, the less power.
  public var latency: Double

  /// - Parameter interval: seconds; anything but a number from 0.1 ms to a day is brought into that range.
  public init(_ updates: MotionUpdates, interval: Double = 0.01, latency: Double = 0.1) {
    self.updates = updates
    self.interval = interval.isFinite ? max(1e-4, min(86_400, interval)) : 86_400
    self.latency = latency.isFinite ? max(0, min(3600, latency)) : 0
  }
}

/// Stands for one consumer that was counted in.
public struct MotionConsumer: Hashable, Sendable {
  let number: Int
}

// A sensor that nobody uses is off: consumers are counted, and the demand flows upstream.
extension MotionManager {
  /// Fusing needs samples this often, Hz, however rarely its result is read: at less the rotation in between is lost.
  public static let fusionRate = 100.0
  /// A magnetometer follows the heading, which the gyroscope carries over in between.
  public static let fusionMagnetometerRate = 25.0

  /// Counts a consumer in. Its sensors are demanded until `stopUpdates(for:)`.
  public mutating func startUpdates(_ request: MotionRequest) -> MotionConsumer {
    let consumer = MotionConsumer(number: nextConsumer)
    nextConsumer += 1
    consumers[consumer] = request
    return consumer
  }

  /// Counts a consumer out; once is enough.
  public mutating func stopUpdates(for consumer: MotionConsumer) {
    consumers[consumer] = nil
  }

  /// Whether a consumer is counted in.
  public func isActive(_ consumer: MotionConsumer) -> Bool { consumers[consumer] != nil }

  /// What the consumers need of each inertial sensor. Kinds that nobody needs are off.
  public var demands: [SensorKind: SensorDemand] {
    var demands: [SensorKind: SensorDemand] = [.accelerometer: .off, .gyroscope: .off, .magnetometer: .off]
    for request in consumers.values {
      let wanted = 1 / request.interval
      switch request.updates {
      case .accelerometer: Self.raise(&demands, .accelerometer, to: wanted, within: request.latency)
      case .gyro: Self.raise(&demands, .gyroscope, to: wanted, within: request.latency)
      case .magnetometer: Self.raise(&demands, .magnetometer, to: wanted, within: request.latency)
      case .deviceMotion:
        let rate = max(wanted, Self.fusionRate)
        Self.raise(&demands, .accelerometer, to: rate, within: request.latency)
        Self.raise(&demands, .gyroscope, to: rate, within: request.latency)
        guard frame.needsMagnetometer else { continue }
        Self.raise(&demands, .magnetometer, to: Self.fusionMagnetometerRate, within: request.latency)
      }
    }
    return demands
  }

  private static func raise(
    _ demands: inout [SensorKind: SensorDemand], _ kind: SensorKind, to rate: Double, within latency: Double
  ) {
    if case .rate(let hertz, let before) = demands[kind] {
      demands[kind] = .rate(hertz: max(hertz, rate), latency: min(before, .seconds(latency)))
    } else {
      demands[kind] = .rate(hertz: rate, latency: .seconds(latency))
    }
  }

  /// Takes word of a source's state: which sensors there are, and how fast they really run.
  public mutating func note(_ status: SourceStatus) {
    if let device = status.device { bind(status.kinds, to: device) }
    switch status.state {
    case .active(let effective):
      for (kind, rate) in effective where rate.isFinite && rate > 0 { rates[kind] = rate }
      sources[status.source] = (status.kinds, true)
    case .idle:
      for kind in status.kinds { rates[kind] = nil }
      sources[status.source] = (status.kinds, true)
    case .unavailable, .finished:
      for kind in status.kinds { rates[kind] = nil }
      sources[status.source] = (status.kinds, false)
    }
  }

  /// Whether a sensor is there: a source offers it, or it has spoken lately.
  public func isAvailable(_ kind: SensorKind) -> Bool {
    sources.values.contains { $0.isAvailable && $0.kinds.contains(kind) } || presentSensors.contains(kind)
  }

  /// Whether anybody uses a sensor.
  public func isActive(_ kind: SensorKind) -> Bool { demands[kind]?.isOn ?? false }

  public var isAccelerometerAvailable: Bool { isAvailable(.accelerometer) }
  public var isGyroAvailable: Bool { isAvailable(.gyroscope) }
  public var isMagnetometerAvailable: Bool { isAvailable(.magnetometer) }
  /// Whether attitudes can be had; gravity and user acceleration alone need only the accelerometer.
  public var isDeviceMotionAvailable: Bool { isAccelerometerAvailable && isGyroAvailable }
  public var isAccelerometerActive: Bool { isActive(.accelerometer) }
  public var isGyroActive: Bool { isActive(.gyroscope) }
  public var isMagnetometerActive: Bool { isActive(.magnetometer) }
  public var isDeviceMotionActive: Bool { consumers.values.contains { $0.updates == .deviceMotion } }

  /// Seconds between samples as the hardware really takes them; nil while it is not known.
  public func effectiveInterval(of kind: SensorKind) -> Double? { rates[kind].map { 1 / $0 } }

  /// Seconds between a consumer's updates: what it asked for, clamped to what the hardware offers; nil for a consumer
  /// that was counted out, or while the hardware's rate is not known.
  public func effectiveInterval(for consumer: MotionConsumer) -> Double? {
    guard let request = consumers[consumer] else { return nil }
    let kind: SensorKind =
      switch request.updates {
      case .accelerometer: .accelerometer
      case .gyro, .deviceMotion: .gyroscope
      case .magnetometer: .magnetometer
      }
    return effectiveInterval(of: kind).map { max($0, request.interval) }
  }
}
