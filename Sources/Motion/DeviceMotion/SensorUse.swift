public import Sensors
internal import Spatial

/// Who uses which inertial sensor, and which there are: a sensor that nobody uses is off.
struct SensorUse: Sendable {
  private var consumers: [MotionConsumer: MotionRequest] = [:]
  private var nextConsumer = 0
  private var rates: [SensorKind: Double] = [:]
  private var sources: [String: (kinds: Set<SensorKind>, isAvailable: Bool)] = [:]
  /// The kinds of sensors whose source reports them as active, with their rates.
  private(set) var activeKinds: Set<SensorKind> = []

  // MARK: Consumers

  mutating func start(_ request: MotionRequest) -> MotionConsumer {
    let consumer = MotionConsumer(number: nextConsumer)
    nextConsumer += 1
    consumers[consumer] = request
    return consumer
  }

  mutating func stop(_ consumer: MotionConsumer) { consumers[consumer] = nil }

  func isActive(_ consumer: MotionConsumer) -> Bool { consumers[consumer] != nil }

  var isDeviceMotionActive: Bool { consumers.values.contains { $0.updates == .deviceMotion } }

  /// What the consumers need of each sensor; kinds that nobody needs are off.
  /// - Parameter needsMagnetometer: whether the attitude's frame takes one.
  func demands(needsMagnetometer: Bool) -> [SensorKind: SensorDemand] {
    var demands: [SensorKind: SensorDemand] = [.accelerometer: .off, .gyroscope: .off, .magnetometer: .off]
    for request in consumers.values {
      func raise(_ kind: SensorKind, to rate: Double) {
        var (rate, latency) = (rate, Duration.seconds(request.latency))
        if case .rate(let hertz, let before) = demands[kind] {
          (rate, latency) = (max(hertz, rate), min(before, latency))
        }
        demands[kind] = .rate(hertz: rate, latency: latency)
      }
      let wanted = 1 / request.interval
      if let kind = request.updates.kind {
        raise(kind, to: wanted)
      } else {
        raise(.accelerometer, to: max(wanted, MotionManager.fusionRate))
        raise(.gyroscope, to: max(wanted, MotionManager.fusionRate))
        if needsMagnetometer { raise(.magnetometer, to: MotionManager.fusionMagnetometerRate) }
      }
    }
    return demands
  }

  // MARK: Sources

  mutating func observe(_ status: SourceStatus) {
    sources[status.source] = (status.kinds, true)
    activeKinds.subtract(status.kinds)
    switch status.state {
    case .active(let effective):
      for (kind, rate) in effective where rate.isFinite && rate > 0 {
        rates[kind] = rate
        activeKinds.insert(kind)
      }
      return
    case .idle: break
    case .unavailable, .finished: sources[status.source] = (status.kinds, false)
    }
    for kind in status.kinds { rates[kind] = nil }
  }

  /// Whether a source offers a sensor; nil when none answers for it.
  func isOffered(_ kind: SensorKind) -> Bool? {
    var isKnown = false
    for source in sources.values where source.kinds.contains(kind) {
      if source.isAvailable { return true }
      isKnown = true
    }
    return isKnown ? false : nil
  }

  func effectiveInterval(of kind: SensorKind) -> Double? { rates[kind].map { 1 / $0 } }

  func effectiveInterval(for consumer: MotionConsumer) -> Double? {
    guard let request = consumers[consumer] else { return nil }
    return effectiveInterval(of: request.updates.kind ?? .gyroscope).map { max($0, request.interval) }
  }
}

extension MotionManager {
  /// Fusing needs samples this often, Hz, however rarely its result is read: at less the rotation in between is lost.
  public static let fusionRate = 100.0
  /// A magnetometer follows the heading, which the gyroscope carries over in between.
  public static let fusionMagnetometerRate = 25.0

  /// Counts a consumer in. Its sensors are demanded until `stopUpdates(for:)`.
  public mutating func startUpdates(_ request: MotionRequest) -> MotionConsumer { use.start(request) }

  /// Counts a consumer out; once is enough.
  public mutating func stopUpdates(for consumer: MotionConsumer) { use.stop(consumer) }

  /// Whether a consumer is counted in.
  public func isActive(_ consumer: MotionConsumer) -> Bool { use.isActive(consumer) }

  /// What the consumers need of each inertial sensor. Kinds that nobody needs are off.
  public var demands: [SensorKind: SensorDemand] { use.demands(needsMagnetometer: frame.needsMagnetometer) }

  /// Whether a sensor is there: a source offers it, or it has spoken lately without a source that answers for it.
  public func isAvailable(_ kind: SensorKind) -> Bool {
    use.isOffered(kind) ?? isPresent(kind)
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
  public var isDeviceMotionActive: Bool { use.isDeviceMotionActive }

  /// Seconds between samples as the hardware really takes them; nil while it is not known.
  public func effectiveInterval(of kind: SensorKind) -> Double? { use.effectiveInterval(of: kind) }

  /// Seconds between a consumer's updates: what it asked for, clamped to what the hardware offers; nil for a consumer
  /// that was counted out, or while the hardware's rate is not known.
  public func effectiveInterval(for consumer: MotionConsumer) -> Double? {
    use.effectiveInterval(for: consumer)
  }
}
