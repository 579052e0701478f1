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
  private(set) var isFinished = false

  private struct Registration: Sendable {
    var consumers: [MotionConsumer]
    var altitude: Requirements.Altitude
  }

  private var registrations: [Int: Registration] = [:]
  private var nextConsumer = 0
  /// Time of the first accelerometer sample without a gyroscope.
  private var firstForce: Timestamp?
  /// Consumers without an outlet, which read the properties.
  private var pulling: [MotionUpdates: Int] = [:]

  init(manager: MotionManager) { self.manager = manager }

  // MARK: Consumers

  /// Adds a consumer; nil after the end.
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
  }

  /// Starts updates that are read from the manager's properties; a second call replaces the request.
  mutating func startPulling(_ request: MotionRequest) {
    stopPulling(request.updates)
    pulling[request.updates] = add(Requirements(requests: [request]))
  }

  mutating func stopPulling(_ updates: MotionUpdates) {
    if let consumer = pulling.removeValue(forKey: updates) { remove(consumer) }
  }

  /// Removes all consumers. Returns the calls that end their updates, to be made without the lock.
  mutating func finish() -> [@Sendable () -> Void] {
    isFinished = true
    var ends = accelerometer.map(\.finish) + gyro.map(\.finish) + magnetometer.map(\.finish)
    ends += deviceMotion.map(\.finish) + detectors.map(\.finish)
    ends += altitude.removeAll() + absoluteAltitude.removeAll()
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
    for registration in registrations.values where registration.altitude != .none {
      demands[.barometer] = Self.altitudeDemand
      if registration.altitude == .absolute { demands[.positioning] = Self.altitudeDemand }
    }
    return demands
  }

  /// Maximum time in s between the first accelerometer sample and the first gyroscope sample.
  private static let patience = 1.0
  /// The altimeter's own rate.
  private static let altitudeDemand = SensorDemand.rate(hertz: 1, latency: .seconds(1))

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
    case .status(let status): manager.observe(status)
    case .position, .vehicle, .radio: break
    }
  }

  mutating func update(altitude: Double, deviation: Double, speed: Double?, at timestamp: Timestamp) {
    altimeter.update(altitude: altitude, deviation: deviation, speed: speed, at: timestamp)
  }

  private mutating func process(_ block: [InertialScan]) {
    guard !deviceMotion.isEmpty || !detectors.isEmpty else {
      admit(block)
      return manager.fuse()
    }
    // With a gyroscope, motion is computed for each of its samples; without one, for each accelerometer
    // sample, scan by scan. The result must not depend on block sizes.
    if manager.presentSensors.contains(.gyroscope) || block.contains(where: { $0.rotationRate != nil }) {
      admit(block)
      for motion in fused() { handOver(motion) }
    } else {
      for scan in block {
        admit([scan])
        manager.fuse()
        guard scan.specificForce != nil, let motion = manager.deviceMotion else { continue }
        let since = firstForce ?? scan.timestamp
        firstForce = since
        detect(motion)
        // The gyroscope's first sample may come later than the accelerometer's.
        if !manager.isAvailable(.gyroscope), scan.timestamp.seconds(since: since) >= Self.patience {
          deviceMotion.offer(motion, at: motion.timestamp)
        }
      }
    }
  }

  /// Returns the motion after each gyroscope sample. Detectors alone do not wait for the frame, because
  /// gravity is equal in all frames.
  private mutating func fused() -> [DeviceMotion] {
    let frame = manager.frame
    if deviceMotion.isEmpty { manager.frame = .xArbitraryZVertical }
    defer { manager.frame = frame }
    var motions: [DeviceMotion] = []
    manager.fuse { motions.append($0) }
    return motions
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

  private mutating func handOver(_ motion: DeviceMotion) {
    deviceMotion.offer(motion, at: motion.timestamp)
    detect(motion)
  }

  private mutating func detect(_ motion: DeviceMotion) {
    guard !detectors.isEmpty else { return }
    let gravity = manager.vehicleRotation.map { $0.conjugate.rotate(motion.gravity) } ?? motion.gravity
    for index in detectors.indices { detectors[index].process(motion, gravity: gravity) }
  }
}
