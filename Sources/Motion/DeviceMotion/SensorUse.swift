public import Sensors
internal import Spatial

/// Consumers and availability of the inertial sensors. A sensor without consumers is off.
struct SensorUse: Sendable {
  private var consumers: [MotionConsumer: MotionRequest] = [:]
  private var nextConsumer = 0
  private var rates: [SensorKind: Double] = [:]
  private var sources: [String: (kinds: Set<SensorKind>, isAvailable: Bool)] = [:]
  /// The kinds of sensors that their source reports as active.
  private(set) var activeKinds: Set<SensorKind> = []
  /// The kinds of sensors that the owner demands, in addition to those of the consumers.
  var demandedKinds: Set<SensorKind> = []

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

  /// Returns the demand for each sensor. Kinds without consumers are off.
  /// - Parameter needsMagnetometer: true if the attitude's frame requires one.
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

  /// Returns whether a source offers a sensor; nil if no source reports this kind.
  func isOffered(_ kind: SensorKind) -> Bool? {
    var isKnown = false
    for source in sources.values where source.kinds.contains(kind) {
      if source.isAvailable { return true }
      isKnown = true
    }
    return isKnown ? false : nil
  }

  /// Returns whether a sensor's samples are due: its source offers it, and it is demanded or active.
  func isAwaited(_ kind: SensorKind) -> Bool {
    if activeKinds.contains(kind) { return true }
    guard isOffered(kind) == true else { return false }
    return demandedKinds.contains(kind)
      || consumers.values.contains { $0.updates.kind.map { $0 == kind } ?? (kind != .magnetometer) }
  }

  func effectiveInterval(of kind: SensorKind) -> Double? { rates[kind].map { 1 / $0 } }

  func effectiveInterval(for consumer: MotionConsumer) -> Double? {
    guard let request = consumers[consumer] else { return nil }
    return effectiveInterval(of: request.updates.kind ?? .gyroscope).map { max($0, request.interval) }
  }
}

extension MotionManager {
  /// Sample rate in Hz required for fusion, regardless of how often the result is read. At lower rates,
  /// rotation between samples is lost.
  public static let fusionRate = 100.0
  /// Magnetometer rate in Hz for fusion. The gyroscope tracks the heading between magnetometer samples.
  public static let fusionMagnetometerRate = 25.0

  /// Registers a consumer. Its sensors are demanded until `stopUpdates(for:)`.
  public mutating func startUpdates(_ request: MotionRequest) -> MotionConsumer { use.start(request) }

  /// Removes a consumer. Has no effect if the consumer was already removed.
  public mutating func stopUpdates(for consumer: MotionConsumer) { use.stop(consumer) }

  /// Sets the sensors that the owner demands from their sources without consumers. Gravity waits for a demanded
  /// gyroscope, whose device may start after that of the accelerometer.
  public mutating func demand(_ kinds: Set<SensorKind>) { use.demandedKinds = kinds }

  /// Returns whether a consumer is registered.
  public func isActive(_ consumer: MotionConsumer) -> Bool { use.isActive(consumer) }

  /// Current demand for each inertial sensor. Kinds without consumers are off.
  public var demands: [SensorKind: SensorDemand] { use.demands(needsMagnetometer: frame.needsMagnetometer) }

  /// Returns whether a sensor is available: a source offers it, or samples have arrived recently and no
  /// source reports its kind.
  public func isAvailable(_ kind: SensorKind) -> Bool {
    use.isOffered(kind) ?? isPresent(kind)
  }

  /// Returns whether any consumer uses a sensor.
  public func isActive(_ kind: SensorKind) -> Bool { demands[kind]?.isOn ?? false }

  public var isAccelerometerAvailable: Bool { isAvailable(.accelerometer) }
  public var isGyroAvailable: Bool { isAvailable(.gyroscope) }
  public var isMagnetometerAvailable: Bool { isAvailable(.magnetometer) }
  /// True if attitudes are available. Gravity and user acceleration alone require only the accelerometer.
  public var isDeviceMotionAvailable: Bool { isAccelerometerAvailable && isGyroAvailable }
  public var isAccelerometerActive: Bool { isActive(.accelerometer) }
  public var isGyroActive: Bool { isActive(.gyroscope) }
  public var isMagnetometerActive: Bool { isActive(.magnetometer) }
  public var isDeviceMotionActive: Bool { use.isDeviceMotionActive }

  /// Returns the hardware's actual sampling interval in seconds; nil while unknown.
  public func effectiveInterval(of kind: SensorKind) -> Double? { use.effectiveInterval(of: kind) }

  /// Returns the interval of a consumer's updates in seconds: the requested one, limited to the hardware's
  /// range; nil for removed consumers and while the hardware's rate is unknown.
  public func effectiveInterval(for consumer: MotionConsumer) -> Double? {
    use.effectiveInterval(for: consumer)
  }
}
