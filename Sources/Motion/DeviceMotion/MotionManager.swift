public import Sensors
public import Spatial

/// Fuses the inertial sensors into `DeviceMotion`, and provides their raw data.
///
/// A value type without I/O: pass samples with their time, in order of time for each sensor, and read the
/// motion at any moment. `LiveMotion` in `LiveSensors` makes it available to other threads.
public struct MotionManager: Sendable {
  /// Reference frame of the attitudes.
  public var frame: AttitudeReferenceFrame
  /// Declination in degrees, positive if magnetic north is east of true north; nil if unknown.
  /// `update(location:altitude:time:)` sets it.
  public var declination: Double?
  /// The Earth's magnetic field at the last location, from the World Magnetic Model; nil before the first
  /// location. It also reports whether the model has expired.
  public private(set) var geomagneticField: GeomagneticField?

  /// Consumers and availability of the sensors.
  var use = SensorUse()

  private var filter: AttitudeFilter
  /// The initial calibration, plus the gyroscope biases learned since then at each temperature.
  private var kept: MotionCalibration
  /// Temperature of the inertial sensors in °C, and the gyroscope bias expected at this temperature.
  private var temperature: Double?
  private var expectedBias: MotionCalibration.GyroBias?
  /// Measuring ranges reported by the sensors.
  private var ranges: [SensorKind: Double] = [:]
  /// True if the calibration belongs to other hardware.
  private var hasForeignCalibration = false

  private var screen = ScanScreen()
  private var separator = GravitySeparator()
  private var merger = ScanMerger()
  /// Scans in order of time. Those before `fusedCount` have been fused.
  private var due: [ScanMerger.Element] = []
  private var fusedCount = 0
  /// The newest valid scan of each sensor, for raw data only. Everything else depends on fused scans, so that
  /// results do not depend on block sizes.
  private var accelerometer: InertialScan?
  private var gyro: InertialScan?
  private var magnetometer: InertialScan?
  /// The newest fused scan of each sensor.
  private var fusedForce: InertialScan?
  private var fusedRate: InertialScan?
  private var fusedField: InertialScan?
  /// The last two intervals in s between fused gyroscope samples; zero before. The shorter one is the
  /// sampling interval, also after an outage.
  private var rateIntervals = SIMD2<Double>.zero
  /// Time of the first fused scan.
  private var start: Timestamp?
  /// Time of the first force while the samples of the gyroscope are due; nil if they are not.
  private var gyroscopeAwaitedSince: Timestamp?
  /// Time from which forces and rotations are both available.
  private var fusedSince: Timestamp?
  /// True once the filter has found the vertical since the first scan, or since timestamps last went back.
  private var isVerticalFound = false
  /// Attitude of the device relative to east, true north, up from an external navigation filter, with its
  /// time.
  private var aided: (timestamp: Timestamp, attitude: Attitude)?
  /// Field averaged over half a second, used as compass on devices without a gyroscope.
  private var steadyField = LowPassFilter(cutoff: 0.3)
  /// Hard and soft iron calibration on devices without a gyroscope.
  private var compassCalibrator: CompassCalibrator

  /// Seconds without samples after which a sensor counts as absent.
  private static let silence = 2.0
  /// Seconds after a gyroscope sample in which gravity is valid, and the same in sampling intervals. The
  /// longer of both applies.
  private static let longestLag = (seconds: 0.15, intervals: 1.5)
  /// Seconds for which gravity waits for a gyroscope that its source offers. Under load, a device starts seconds
  /// after that of the accelerometer. Longer silence is a fault, and gravity then comes from the accelerometer.
  private static let longestWait = 10.0
  /// Seconds to wait for the requested frame before a fallback is used. With a magnetometer the wait is
  /// longer, because the magnetometer may become usable later.
  private static let frameTimeout = (withoutMagnetometer: 1.0, withMagnetometer: 5.0)

  /// - Parameter calibration: calibration of an earlier run; nil to start without one.
  public init(frame: AttitudeReferenceFrame, calibration: MotionCalibration? = nil) {
    self.frame = frame
    kept = calibration ?? MotionCalibration()
    filter = AttitudeFilter(calibration: calibration)
    compassCalibrator = CompassCalibrator(kept.magnetometer)
    expectedBias = kept.gyroBias(at: nil)
  }

  /// Tilt of the device in the vehicle. If set, `deviceMotion` and headings refer to the vehicle, corrected
  /// for the tilt. Raw samples and sensor calibration always refer to the device. The level is stored with
  /// the `calibration`; nil if vehicle and device axes coincide.
  public var level: LevelCalibration? {
    get { kept.level }
    set { kept.level = newValue }
  }

  /// Rotation from the device's axes to the vehicle's right, forward, up; nil while unknown. It takes
  /// precedence over `level`, which contains no forward direction. It is not stored with the `calibration`.
  public var mounting: Quaternion?

  /// Rotation from the device's axes to those of `deviceMotion` and headings; nil if both coincide.
  public var vehicleRotation: Quaternion? { mounting ?? kept.level?.rotation }

  /// Processes a block of scans. Scans of several devices are fused in order of time, as soon as no other
  /// sensor can deliver an older sample. The results do not depend on block sizes.
  /// - Parameters:
  ///   - body: receives the valid part of each scan, in order of arrival.
  ///   - ordered: receives the scans in order of fusion. Samples of one time form one scan.
  public mutating func process(
    _ block: [InertialScan], _ body: (InertialScan) -> Void = { _ in },
    ordered: (InertialScan) -> Void = { _ in }
  ) {
    admit(block, body)
    while let scan = nextScan {
      ordered(scan)
      fuseNext()
    }
  }

  /// Validates a block of scans without fusing them. Fuse them with `nextScan` and `fuseNext`, for example to
  /// pass the acceleration from a navigation filter (`update(acceleration:)`) before each scan.
  /// - Parameter body: receives the valid part of each scan, in order of arrival.
  public mutating func admit(_ block: [InertialScan], _ body: (InertialScan) -> Void = { _ in }) {
    for var scan in block {
      let doubts = screen.admit(&scan)
      if doubts.contains(.timeWentBack) { restartOrder() }
      if scan.specificForce != nil { accelerometer = scan }
      if scan.rotationRate != nil { gyro = scan }
      if scan.magneticField != nil { magnetometer = scan }
      guard !scan.isEmpty else { continue }
      merger.append(scan, doubts)
      body(scan)
    }
    merger.endBlock()
    while let next = merger.nextJoined() { due.append(next) }
  }

  /// The oldest scan ready to be fused, with the samples of all devices at one time; nil if none is ready.
  public var nextScan: InertialScan? { fusedCount < due.count ? due[fusedCount].scan : nil }

  /// The admitted scans that are not fused yet, in order of time.
  package var waitingScans: [InertialScan] {
    due[fusedCount...].map(\.scan) + merger.waitingScans
  }

  /// Fuses `nextScan`. `deviceMotion` is then the motion at its time.
  public mutating func fuseNext() {
    guard fusedCount < due.count else { return }
    let (scan, doubts) = (due[fusedCount].scan, due[fusedCount].doubts)
    fusedCount += 1
    if fusedCount == due.count {
      due.removeAll(keepingCapacity: true)
      fusedCount = 0
    }
    if doubts.contains(.timeWentBack) { forgetTime() }
    start = start ?? scan.timestamp
    if let temperature = scan.temperature { follow(temperature) }
    if scan.specificForce != nil {
      fusedForce = scan
      separator.process(scan)
      awaitGyroscope(for: scan)
    }
    if scan.rotationRate != nil {
      gyroscopeAwaitedSince = nil
      let interval = fusedRate.map { scan.timestamp.seconds(since: $0.timestamp) } ?? 0
      rateIntervals = SIMD2(rateIntervals.y, interval)
      fusedRate = scan
    }
    if let field = scan.magneticField {
      fusedField = scan
      if !isPresent(fusedRate, at: scan.timestamp) { _ = steadyField.process(field, at: scan.timestamp) }
    }
    if isCompass { compassCalibrator.process(scan) }
    if fusedSince == nil, fusedForce != nil, fusedRate != nil { fusedSince = scan.timestamp }
    guard scan.contains(.accelerometer) || scan.contains(.gyroscope) || scan.contains(.magnetometer) else {
      return
    }
    filter.process(scan, doubts: doubts)
    // An `if` instead of `||`, whose autoclosure would copy the filter.
    if !filter.flags.isAligning { isVerticalFound = true }
  }

  private mutating func awaitGyroscope(for scan: InertialScan) {
    guard scan.rotationRate == nil, !isPresent(.gyroscope) else { return }
    gyroscopeAwaitedSince = use.isAwaited(.gyroscope) ? gyroscopeAwaitedSince ?? scan.timestamp : nil
  }

  /// True if accelerometer and magnetometer replace a missing gyroscope.
  private var isCompass: Bool { fusedRate == nil && !isAvailable(.gyroscope) }

  /// Fuses all scans that are ready.
  /// - Parameter body: receives the motion after each scan that changes it.
  package mutating func fuse(_ body: ((DeviceMotion) -> Void)? = nil) {
    while let scan = nextScan {
      fuseNext()
      if let body, isMotionNew(after: scan), let motion = deviceMotion { body(motion) }
    }
  }

  /// Returns whether `deviceMotion` changed with a scan. Each gyroscope sample produces a new motion; without
  /// a gyroscope, each accelerometer sample does.
  public func isMotionNew(after scan: InertialScan) -> Bool {
    if isAvailable(.gyroscope) { return scan.contains(.gyroscope) }
    // At the start, the first gyroscope sample may still be on its way. Accelerometer samples therefore
    // produce motion only after a second.
    return scan.contains(.accelerometer)
      && scan.timestamp.seconds(since: start ?? scan.timestamp) >= Self.frameTimeout.withoutMagnetometer
  }

  /// Clears the queue after timestamps went back, because earlier scans cannot be ordered among later ones.
  private mutating func restartOrder() {
    merger.endBlock()
    while let next = merger.flushNext() { due.append(next) }
    merger = ScanMerger()
    merger.expect(use.activeKinds)
    (accelerometer, gyro, magnetometer) = (nil, nil, nil)
  }

  /// Discards all values that are compared by time, after timestamps went back. The attitude filter handles
  /// the step itself.
  private mutating func forgetTime() {
    separator = GravitySeparator()
    (fusedForce, fusedRate, fusedField, start, fusedSince, aided) = (nil, nil, nil, nil, nil, nil)
    gyroscopeAwaitedSince = nil
    steadyField = LowPassFilter(cutoff: 0.3)
    rateIntervals = .zero
  }

  /// Updates the declination for a position and civil time.
  /// - Parameter altitude: metres above the ellipsoid. Zero is sufficient if unknown: 1 km changes the
  ///   declination by less than 0.01° outside the polar regions.
  public mutating func update(location: Coordinate, altitude: Double? = nil, time: UTCTime) {
    guard let field = MagneticModel.wmm2025.field(at: location, altitude: altitude ?? 0, time: time) else {
      return
    }
    geomagneticField = field
    declination = field.declination
  }

  /// Updates the attitude from a navigation filter that uses the same scans and the motion over ground.
  /// Frames with a north use it, even without a magnetometer, until a newer gyroscope scan is fused.
  /// - Parameters:
  ///   - attitude: attitude of the device's own axes relative to east, true north, up; nil if unknown.
  ///   - timestamp: time of the last scan included.
  public mutating func update(attitude: Attitude?, at timestamp: Timestamp) {
    aided = attitude.map { (timestamp, $0) }
  }

  /// Provides a measured acceleration of the device, in its own axes, so that gravity can be found during a
  /// drive. It is valid for half a second at most, and may arrive before the scans of its time.
  public mutating func update(acceleration: KnownAcceleration) { filter.process(acceleration) }

  /// The newest valid sample; nil before the first.
  public var accelerometerData: AccelerometerData? { accelerometer.flatMap { AccelerometerData($0) } }
  public var gyroData: GyroData? { gyro.flatMap { GyroData($0) } }
  public var magnetometerData: MagnetometerData? { magnetometer.flatMap { MagnetometerData($0) } }

  /// Returns the sample statistics of an inertial sensor; nil for other kinds.
  public func health(of kind: SensorKind) -> SensorHealth? { screen.health(of: kind) }

  /// Numbers of rejected samples by sensor and reason, as in "gyroscope.stuck". Only nonzero counts are
  /// included.
  public var refusals: [String: Int] {
    var refusals: [String: Int] = [:]
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
      guard let health = health(of: kind) else { continue }
      let counts = [
        ("notFinite", health.notFinite), ("outOfOrder", health.outOfOrder),
        ("implausible", health.implausible), ("stuck", health.stuck),
      ]
      for (reason, count) in counts where count > 0 { refusals["\(kind.rawValue).\(reason)"] = count }
    }
    return refusals
  }

  /// The inertial sensors with a fused sample in the last two seconds, plus positioning if a declination is
  /// available.
  public var presentSensors: Set<SensorKind> {
    var present: Set<SensorKind> = []
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] where isPresent(kind) {
      present.insert(kind)
    }
    if declination != nil { present.insert(.positioning) }
    return present
  }

  /// Returns whether an inertial sensor has a fused sample in the last two seconds.
  package func isPresent(_ kind: SensorKind) -> Bool {
    let scan: InertialScan? =
      switch kind {
      case .accelerometer: fusedForce
      case .gyroscope: fusedRate
      case .magnetometer: fusedField
      case .barometer, .thermometer, .positioning, .wifi, .cellular: nil
      }
    guard let scan else { return false }
    let (force, rate, field) = (fusedForce ?? scan, fusedRate ?? scan, fusedField ?? scan)
    return isPresent(scan, at: max(force.timestamp, rate.timestamp, field.timestamp))
  }

  private func isPresent(_ scan: InertialScan?, at now: Timestamp) -> Bool {
    scan.map { now.seconds(since: $0.timestamp) <= Self.silence } ?? false
  }

  /// The frames that the active sensors and the location support at the moment.
  public var availableAttitudeReferenceFrames: Set<AttitudeReferenceFrame> {
    let frames = AttitudeReferenceFrame.available(with: presentSensors)
    return isAided ? frames.union([.xTrueNorthZVertical, .xMagneticNorthZVertical]) : frames
  }

  /// The fused motion at the newest fused scan; nil before the first accelerometer sample. Its attitude is in
  /// the requested frame, or in the best available fallback (`AttitudeReferenceFrame.withFallbacks`).
  public var deviceMotion: DeviceMotion? {
    guard let vehicleRotation else { return motionAsMounted }
    return motionAsMounted?.turned(by: vehicleRotation)
  }

  /// `deviceMotion` in the device's own axes.
  private var motionAsMounted: DeviceMotion? {
    guard let fusedForce else { return nil }
    let present = presentSensors
    guard present.contains(.gyroscope) else {
      return motionWithoutGyroscope(at: fusedForce.timestamp, present)
    }
    guard present.contains(.accelerometer), let force = AccelerometerData(fusedForce),
      let rate = fusedRate.flatMap({ GyroData($0) }),
      let (frame, attitude) = bestAttitude(at: max(force.timestamp, rate.timestamp))
    else { return nil }
    let gravity = attitude.gravity
    var motion = DeviceMotion(
      timestamp: max(force.timestamp, rate.timestamp), frame: frame, attitude: attitude,
      rotationRate: rate.rotationRate - filter.gyroscopeBias, gravity: gravity,
      userAcceleration: force.acceleration - gravity)
    motion.magneticField = present.contains(.magnetometer) ? magneticFieldAsMounted : nil
    motion.heading = frame.hasNorth ? attitude.heading() : nil
    if frame != self.frame {
      motion.degradation = Self.reason(
        forReplacementWithNorth: frame.hasNorth, hasMagnetometer: present.contains(.magnetometer))
    }
    return motion
  }

  /// Returns why the requested frame is replaced by another one.
  private static func reason(forReplacementWithNorth hasNorth: Bool, hasMagnetometer: Bool) -> String {
    guard hasMagnetometer else { return MotionOutput.driftingYaw }
    return hasNorth
      ? "no position: yaw refers to magnetic north until the first fix"
      : "the magnetometer is not aligned yet: yaw drifts with the gyroscope; wait some seconds"
  }

  private func bestAttitude(at now: Timestamp) -> (AttitudeReferenceFrame, Attitude)? {
    if let attitude = attitude(in: frame), isServed(frame) { return (frame, attitude) }
    let timeout =
      isAvailable(.magnetometer) && frame.needsMagnetometer && filter.quaternion9D == nil
      ? Self.frameTimeout.withMagnetometer : Self.frameTimeout.withoutMagnetometer
    guard let fusedSince, now.seconds(since: fusedSince) >= timeout else { return nil }
    for frame in frame.withFallbacks.dropFirst() where isServed(frame) {
      if let attitude = attitude(in: frame) { return (frame, attitude) }
    }
    return nil
  }

  /// Returns whether a frame is available: frames based on the magnetometer require the magnetometer or, if
  /// they have a north, a current external attitude.
  private func isServed(_ frame: AttitudeReferenceFrame) -> Bool {
    !frame.needsMagnetometer || isAvailable(.magnetometer) || isAided && frame.hasNorth
  }

  /// True if the external attitude is as new as the newest fused scan.
  private var isAided: Bool {
    guard let aided, let fusedRate else { return false }
    return aided.timestamp >= fusedRate.timestamp
  }

  /// The attitude relative to magnetic north, regardless of `frame`; nil without a magnetometer. Without a
  /// gyroscope, it comes from a tilt-compensated compass.
  public var magneticAttitude: Attitude? {
    let attitude =
      presentSensors.contains(.gyroscope) || isAvailable(.gyroscope)
      ? attitude(in: .xMagneticNorthZVertical) : separator.gravity.flatMap(compass)
    return vehicleRotation.map { attitude?.turned(by: $0) } ?? attitude
  }

  /// Direction of the device's top in degrees clockwise from magnetic north; nil without a magnetometer, or
  /// if the top points vertically.
  public var magneticHeading: Double? { magneticAttitude.flatMap { $0.heading() } }

  /// Standard deviation of the heading in degrees: the filter's own, or the calibration's if that is larger.
  /// 90 if nothing was observed; nil without a heading.
  public var headingAccuracy: Double? {
    if isCompass { return compassCalibrator.headingDeviation?.degrees }
    guard fusedRate != nil, fusedField != nil, filter.quaternion9D != nil else { return nil }
    let state = filter.state
    guard let deviation = state.headingDeviation, let bound = state.headingBound else { return nil }
    // With few observations the bound is too optimistic, so it counts as 1.5 standard deviations.
    return min(90, max(deviation, bound / 1.5).degrees)
  }

  private func motionWithoutGyroscope(at timestamp: Timestamp, _ present: Set<SensorKind>) -> DeviceMotion? {
    guard let gravity = separator.gravity, let user = separator.userAcceleration else { return nil }
    var motion = DeviceMotion(
      timestamp: timestamp, frame: frame, attitude: nil, rotationRate: nil, gravity: gravity,
      userAcceleration: user)
    if case .degraded(let reason)? = MotionOutput.gravity.limitation(with: present) {
      motion.degradation = reason
    }
    guard present.contains(.magnetometer) else { return motion }
    motion.magneticField = magneticFieldAsMounted
    guard let north = compass(gravity) else { return motion }
    motion.attitude = north
    if case .degraded(let reason)? = MotionOutput.attitude.limitation(with: present) {
      motion.degradation = reason
    }
    switch frame {
    case .xTrueNorthZVertical where declination != nil:
      motion.attitude = north.rotatedReference(by: (declination ?? 0).radians)
    case .xTrueNorthZVertical, .xMagneticNorthZVertical: motion.frame = .xMagneticNorthZVertical
    case .xArbitraryZVertical, .xArbitraryCorrectedZVertical: motion.frame = .xArbitraryCorrectedZVertical
    }
    motion.heading = motion.frame.hasNorth ? motion.attitude?.heading() : nil
    return motion
  }

  /// Returns the attitude relative to magnetic north from gravity and the field alone; nil if they do not
  /// determine one.
  private func compass(_ gravity: Vector3) -> Attitude? {
    steadyField.value.flatMap { Attitude(gravity: gravity, magneticField: corrected(magnetometer: $0)) }
  }

  /// Gravity after the newest fused scan, g, in the device's own axes; nil while the vertical is
  /// unknown, and while a gyroscope has no samples of the scan's time, because gravity of another time makes a rotation look
  /// like an acceleration.
  public var gravity: Vector3? {
    guard isPresent(.gyroscope) else { return isGyroscopeLate ? nil : separator.gravity }
    guard isVerticalFound, !filter.flags.isAligning, isPresent(.accelerometer), let fusedForce, let fusedRate,
      fusedForce.timestamp.seconds(since: fusedRate.timestamp)
        <= max(Self.longestLag.seconds, Self.longestLag.intervals * rateIntervals.min())
    else { return nil }
    return Attitude(quaternion: filter.quaternion6D).gravity
  }

  /// True in the first seconds in which the samples of a gyroscope are due and missing.
  private var isGyroscopeLate: Bool {
    guard let gyroscopeAwaitedSince, let fusedForce else { return false }
    return fusedForce.timestamp.seconds(since: gyroscopeAwaitedSince) <= Self.longestWait
  }

  /// Rotation rate of the newest fused scan, rad/s, bias removed; nil without a gyroscope. Unlike `deviceMotion` it does not
  /// require an accelerometer.
  public var rotationRate: Vector3? {
    guard isPresent(.gyroscope), let rate = fusedRate?.rotationRate else { return nil }
    let own = rate - filter.gyroscopeBias
    return vehicleRotation?.rotate(own) ?? own
  }

  /// Magnetic field of the newest fused scan; nil without a magnetometer. Unlike `deviceMotion` it does not require an
  /// accelerometer.
  public var magneticField: CalibratedMagneticField? {
    guard isPresent(.magnetometer), var field = magneticFieldAsMounted else { return nil }
    if let vehicleRotation { field.field = vehicleRotation.rotate(field.field) }
    return field
  }

  private func corrected(magnetometer field: Vector3) -> Vector3 {
    isCompass ? compassCalibrator.corrected(field) : filter.corrected(magnetometer: field)
  }

  private var magneticFieldAsMounted: CalibratedMagneticField? {
    guard let field = fusedField?.magneticField else { return nil }
    if isCompass {
      return CalibratedMagneticField(
        field: compassCalibrator.corrected(field), accuracy: compassCalibrator.accuracy)
    }
    let isKnown = !filter.flags.isMagnetometerStuck && !filter.flags.isAligning
    return CalibratedMagneticField(
      field: filter.corrected(magnetometer: field),
      accuracy: isKnown ? filter.fieldAccuracy : .uncalibrated)
  }

  private func attitude(in frame: AttitudeReferenceFrame) -> Attitude? {
    guard fusedForce != nil, fusedRate != nil else { return nil }
    if isAided, frame.hasNorth, let aided {
      let east = frame == .xTrueNorthZVertical ? 0 : declination.map(\.radians)
      if let east { return aided.attitude.rotatedReference(by: .pi / 2 - east) }
    }
    switch frame {
    case .xArbitraryZVertical: return Attitude(quaternion: filter.quaternion6D)
    case .xArbitraryCorrectedZVertical: return filter.quaternion9D.map(Attitude.init)
    // The filter's earth frame has x pointing east, Core Motion's north frames have x pointing north: a
    // quarter turn apart.
    case .xMagneticNorthZVertical:
      return filter.quaternion9D.map { Attitude(quaternion: $0).rotatedReference(by: .pi / 2) }
    case .xTrueNorthZVertical:
      guard let declination, let quaternion = filter.quaternion9D else { return nil }
      return Attitude(quaternion: quaternion).rotatedReference(by: .pi / 2 + declination.radians)
    }
  }

  // MARK: Calibration

  /// The calibration to store: the initial one, updated with observations, without values that the samples
  /// contradict. The caller sets `made` when storing it.
  public var calibration: MotionCalibration {
    var calibration = filter.calibration(updating: kept, temperature: temperature)
    if isCompass, let magnetometer = compassCalibrator.calibration { calibration.magnetometer = magnetometer }
    calibration.made = nil
    return calibration
  }

  /// True if part of the initial calibration was discarded, because samples contradicted it or the hardware
  /// differs.
  public var hasDiscardedCalibration: Bool {
    hasForeignCalibration || filter.flags.hasDiscardedCalibration
  }

  /// Adapts the gyroscope's bias to the chip's temperature, if biases at more than one temperature were
  /// observed.
  private mutating func follow(_ new: Double) {
    // Observations so far belong to the previous temperature.
    if let temperature {
      kept = filter.calibration(updating: kept, temperature: temperature)
      filter.forgetContradictedBias()
    }
    // The temperature is low-passed, because the noise of the thermometer is larger than real changes from
    // sample to sample.
    let smooth = temperature.map { $0 + 0.3 * (new - $0) } ?? new
    let before = temperature == nil ? expectedBias : kept.gyroBias(at: temperature)
    if let before, let after = kept.gyroBias(at: smooth), temperature != nil || !filter.hasSeenBias {
      filter.follow(biasChange: after.bias - before.bias)
    }
    temperature = smooth
  }

  /// Associates sensors with their hardware. Calibration of other hardware is discarded.
  private mutating func bind(_ kinds: Set<SensorKind>, to device: String) {
    var isForeign = false
    for kind in kinds where [.accelerometer, .gyroscope, .magnetometer].contains(kind) {
      if kept.bind(kind, to: device) { isForeign = true }
    }
    guard isForeign else { return }
    hasForeignCalibration = true
    filter = AttitudeFilter(calibration: kept)
    filter.use(ranges: ranges)
    compassCalibrator = CompassCalibrator(kept.magnetometer)
    expectedBias = kept.gyroBias(at: nil)
    temperature = nil
  }

  /// Updates availability and actual rates of sensors from a source's status.
  public mutating func observe(_ status: SourceStatus) {
    if let device = status.device { bind(status.kinds, to: device) }
    if !status.ranges.isEmpty {
      ranges.merge(status.ranges) { $1 }
      filter.use(ranges: status.ranges)
    }
    use.observe(status)
    merger.expect(use.activeKinds)
  }
}
