internal import Motion
internal import Sensors
internal import Spatial

/// Motion processing as one value: it processes sensor events and produces elements for the consumers.
/// `LiveMotion` adds the lock.
struct MotionServices: Sendable {
  /// Requirements of one consumer.
  struct Requirements: Sendable {
    var requests: [MotionRequest] = []
    var altitude = Altitude.none

    enum Altitude: Sendable { case none, relative, absolute }
  }

  var manager: MotionManager
  private(set) var altimeter = Altimeter()
  var accelerometer: [MotionOutlet<AccelerometerData>] = []
  var gyro: [MotionOutlet<GyroData>] = []
  var magnetometer: [MotionOutlet<MagnetometerData>] = []
  var deviceMotion: [MotionOutlet<DeviceMotion>] = []
  var detectors: [any DetectorOutlet] = []
  var altitude = SampleOutlets<AltitudeData>()
  var absoluteAltitude = SampleOutlets<AbsoluteAltitudeData>()
  var failures = SampleOutlets<MotionFailure>()
  /// The reason for each unavailable sensor.
  private(set) var unavailable: [SensorKind: String] = [:]
  private(set) var isFinished = false

  private struct Registration: Sendable {
    var consumers: [MotionConsumer]
    var altitude: Requirements.Altitude
  }

  private var registrations: [Int: Registration] = [:]
  private var nextConsumer = 0
  /// Consumer numbers of updates without an outlet, whose consumers read the manager's properties.
  private var pulling: [MotionUpdates: Int] = [:]

  init(manager: MotionManager) { self.manager = manager }

  // MARK: Consumers

  /// Adds a consumer and returns its number; nil after `finish()`.
  mutating func add(_ requirements: Requirements) -> Int? {
    guard !isFinished else { return nil }
    nextConsumer += 1
    registrations[nextConsumer] = Registration(
      consumers: requirements.requests.map { manager.startUpdates($0) }, altitude: requirements.altitude)
    return nextConsumer
  }

  mutating func remove(_ consumer: Int) {
    guard let registration = registrations.removeValue(forKey: consumer) else { return }
    for request in registration.consumers { manager.stopUpdates(for: request) }
    accelerometer.removeAll { $0.consumer == consumer }
    gyro.removeAll { $0.consumer == consumer }
    magnetometer.removeAll { $0.consumer == consumer }
    deviceMotion.removeAll { $0.consumer == consumer }
    detectors.removeAll { $0.consumer == consumer }
    altitude.remove(consumer)
    absoluteAltitude.remove(consumer)
    failures.remove(consumer)
  }

  /// Starts updates that are read from the manager's properties; a second call replaces the request.
  mutating func startPulling(_ request: MotionRequest) {
    stopPulling(request.updates)
    pulling[request.updates] = add(Requirements(requests: [request]))
  }

  mutating func stopPulling(_ updates: MotionUpdates) {
    if let consumer = pulling.removeValue(forKey: updates) { remove(consumer) }
  }

  /// Removes all consumers. Returns the functions that end their updates, to be called without the lock.
  mutating func finish() -> [@Sendable () -> Void] {
    isFinished = true
    var ends = accelerometer.map(\.finish) + gyro.map(\.finish) + magnetometer.map(\.finish)
    ends += deviceMotion.map(\.finish) + detectors.map(\.finish)
    ends += altitude.removeAll() + absoluteAltitude.removeAll() + failures.removeAll()
    for consumer in Array(registrations.keys) { remove(consumer) }
    pulling = [:]
    return ends
  }

  func effectiveInterval(for consumer: Int) -> Double? {
    registrations[consumer]?.consumers.first.flatMap { manager.effectiveInterval(for: $0) }
  }

  /// Union of the consumers' requirements. Kinds without a consumer are off.
  var demands: [SensorKind: SensorDemand] {
    var demands = manager.demands
    // True north follows from magnetic north and the declination of any position.
    if manager.isDeviceMotionActive, manager.frame == .xTrueNorthZVertical, manager.declination == nil {
      demands[.positioning] = Self.slowDemand
    }
    for registration in registrations.values where registration.altitude != .none {
      demands[.barometer] = Self.slowDemand
      if registration.altitude == .absolute { demands[.positioning] = Self.slowDemand }
    }
    return demands
  }

  /// Demand of altitude updates on barometer and receiver, because the altimeter delivers one level per second,
  /// and of true north on the receiver.
  private static let slowDemand = SensorDemand.rate(hertz: 1, latency: .seconds(1))

  /// The frames that the discovered sensors can serve, whether they are powered or not.
  var availableAttitudeReferenceFrames: Set<AttitudeReferenceFrame> {
    let kinds = [SensorKind.accelerometer, .gyroscope, .magnetometer, .positioning]
    return AttitudeReferenceFrame.available(with: Set(kinds.filter(manager.isAvailable)))
      .union(manager.availableAttitudeReferenceFrames)
  }

  // MARK: Input

  mutating func process(_ event: SensorEvent) {
    switch event {
    case .inertial(let block): process(block)
    case .barometer(let block):
      for pressure in block where altimeter.process(pressure) {
        if let data = altimeter.altitudeData { altitude.push(data) }
        if let data = altimeter.absoluteAltitudeData { absoluteAltitude.push(data) }
      }
    case .status(let status):
      manager.observe(status)
      observe(status)
    case .position, .vehicle, .radio: break
    }
  }

  mutating func update(altitude: Double, deviation: Double, speed: Double?, at timestamp: Timestamp) {
    altimeter.update(altitude: altitude, deviation: deviation, speed: speed, at: timestamp)
  }

  private static let kinds: Set<SensorKind> = [.accelerometer, .gyroscope, .magnetometer, .barometer]

  private mutating func observe(_ status: SourceStatus) {
    let kinds = status.kinds.intersection(Self.kinds)
    if case .unavailable(let reason) = status.state {
      fail(kinds, reason)
    } else {
      for kind in kinds { unavailable[kind] = nil }
    }
  }

  mutating func observe(discovered kinds: Set<SensorKind>) {
    for kind in Self.kinds.subtracting(kinds).sorted() where unavailable[kind] == nil {
      fail([kind], "no \(kind.rawValue) was found")
    }
  }

  private mutating func fail(_ kinds: Set<SensorKind>, _ reason: String) {
    let changed = kinds.filter { unavailable[$0] != reason }
    for kind in changed { unavailable[kind] = reason }
    if !changed.isEmpty { failures.push(MotionFailure(kinds: changed, reason: reason)) }
  }

  /// The current failures, one for each reason.
  var currentFailures: [MotionFailure] {
    Dictionary(grouping: unavailable.keys) { unavailable[$0] ?? "" }
      .map { MotionFailure(kinds: Set($1), reason: $0) }
      .sorted { $0.reason < $1.reason }
  }

  private mutating func process(_ block: [InertialScan]) {
    admit(block)
    guard !deviceMotion.isEmpty || !detectors.isEmpty else { return manager.fuse() }
    let frame = manager.frame
    // Without motion consumers, the frame that needs no magnetometer is used, so that detectors do not wait
    // for the requested one. Gravity is the same in all frames.
    if deviceMotion.isEmpty { manager.frame = .xArbitraryZVertical }
    defer { manager.frame = frame }
    while let scan = manager.nextScan {
      manager.fuseNext()
      let isNew = manager.isMotionNew(after: scan)
      // A gyroscope may be available but switched off. Detectors then process each accelerometer sample and
      // do not wait for gyroscope samples.
      let isFollowed = manager.isPresent(.gyroscope) ? isNew : scan.specificForce != nil
      guard isFollowed, let motion = manager.deviceMotion else { continue }
      if isNew { deviceMotion.offer(motion, at: motion.timestamp) }
      detect(motion)
    }
  }

  private mutating func admit(_ block: [InertialScan]) {
    var (accelerometer, gyro, magnetometer) = (accelerometer, gyro, magnetometer)
    manager.admit(block) { scan in
      if let sample = AccelerometerData(scan) { accelerometer.offer(sample, at: scan.timestamp) }
      if let sample = GyroData(scan) { gyro.offer(sample, at: scan.timestamp) }
      if let sample = MagnetometerData(scan) { magnetometer.offer(sample, at: scan.timestamp) }
    }
    (self.accelerometer, self.gyro, self.magnetometer) = (accelerometer, gyro, magnetometer)
  }

  private mutating func detect(_ motion: DeviceMotion) {
    guard !detectors.isEmpty else { return }
    // Gravity of another time makes a rotation look like an acceleration.
    let gravity = manager.gravity.map { _ in
      manager.vehicleRotation.map { $0.conjugate.rotate(motion.gravity) } ?? motion.gravity
    }
    for index in detectors.indices { detectors[index].process(motion, gravity: gravity) }
  }
}
