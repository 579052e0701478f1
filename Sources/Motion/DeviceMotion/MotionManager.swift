public import Sensors
public import Spatial

/// Fuses the inertial sensors into `DeviceMotion`, and serves their raw data.
///
/// A value type without I/O: samples go in with their time, in order of time for each sensor; the motion can be asked
/// for at any moment. The filter behind it can be replaced without any caller noticing. `LiveMotion` serves other threads.
public struct MotionManager: Sendable {
  /// The frame that attitudes are expressed in.
  public var frame: AttitudeReferenceFrame
  /// Degrees by which magnetic north lies east of true north here; nil when unknown. `update(location:altitude:time:)`
  /// sets it.
  public var declination: Double?
  /// The Earth's field at the last location, by the World Magnetic Model; nil before the first location. It also says
  /// whether the model has expired.
  public private(set) var geomagneticField: GeomagneticField?

  /// Who uses the sensors, and which there are.
  var use = SensorUse()

  private var filter: AttitudeFilter
  /// What was given at the start, with what has been learned by temperature since.
  private var kept: MotionCalibration
  /// °C of the inertial sensors, and the bias that was expected there.
  private var temperature: Double?
  private var expectedBias: MotionCalibration.GyroBias?
  /// What the sensors have said of their ends.
  private var ranges: [SensorKind: Double] = [:]
  /// Hardware turned out to be other than that of the calibration.
  private var hasForeignCalibration = false

  private var screen = ScanScreen()
  private var separator = GravitySeparator()
  private var merger = ScanMerger()
  /// Scans in order of time; those before `fusedCount` have been fused.
  private var due: [ScanMerger.Element] = []
  private var fusedCount = 0
  /// The newest valid scan of each sensor, for the raw data. Everything else depends on fused scans alone, so that the size of
  /// blocks makes no difference.
  private var accelerometer: InertialScan?
  private var gyro: InertialScan?
  private var magnetometer: InertialScan?
  /// The newest fused scan of each sensor.
  private var fusedForce: InertialScan?
  private var fusedRate: InertialScan?
  private var fusedField: InertialScan?
  /// Time of the first fused scan.
  private var start: Timestamp?
  /// Time from which forces and rotations are both available.
  private var fusedSince: Timestamp?
  /// Whether the filter has found the vertical since time began.
  private var isVerticalFound = false
  /// Of the device in its own axes against east, true north, up, as something that knows more has it, and of when.
  private var aided: (timestamp: Timestamp, attitude: Attitude)?
  /// The field, averaged over half a second: the compass of a device without a gyroscope.
  private var steadyField = LowPassFilter(cutoff: 0.3)
  /// Hard and soft iron of a device without a gyroscope.
  private var compassCalibrator: CompassCalibrator

  /// Seconds after which a sensor that has said nothing counts as gone.
  private static let silence = 2.0
  /// Seconds that a frame is waited for before another takes its place: where no magnetometer is known, and where there is one
  /// that has not been understood.
  private static let framePatience = (withoutMagnetometer: 1.0, withMagnetometer: 5.0)

  /// - Parameter calibration: what an earlier run has learned; nil to begin with nothing.
  public init(frame: AttitudeReferenceFrame, calibration: MotionCalibration? = nil) {
    self.frame = frame
    kept = calibration ?? MotionCalibration()
    filter = AttitudeFilter(calibration: calibration)
    compassCalibrator = CompassCalibrator(kept.magnetometer)
    expectedBias = kept.gyroBias(at: nil)
  }

  /// How the device is tilted in the vehicle: from then on `deviceMotion` and headings are those of the vehicle, which lies level
  /// where the device does not. Raw samples and what is learned of the sensors stay the device's. It is kept with the
  /// `calibration`; nil where vehicle and device count as one.
  public var level: LevelCalibration? {
    get { kept.level }
    set { kept.level = newValue }
  }

  /// How the device sits in the vehicle, from its axes to right, forward, up, while something knows that: it goes before `level`,
  /// which knows no front. It is not kept with the `calibration`.
  public var mounting: Quaternion?

  /// From the device's axes to those in which `deviceMotion` and headings are told; nil where they count as the same.
  public var vehicleRotation: Quaternion? { mounting ?? kept.level?.rotation }

  /// Processes a block of scans. Scans of several devices are fused in order of time, as soon as no other sensor can deliver an
  /// older sample. The results do not depend on the size of the blocks.
  /// - Parameters:
  ///   - body: receives the valid part of each scan, in order of arrival.
  ///   - ordered: receives the scans in order of fusion. Samples of one time are one scan.
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

  /// Validates a block of scans without fusing them. Fuse them with `nextScan` and `fuseNext`, for example to add what a
  /// navigation filter makes of each scan (`update(acceleration:)`) before it is fused.
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

  /// The oldest scan that is ready to be fused: the samples of all devices at one time. Nil if none is.
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
    }
    if scan.rotationRate != nil { fusedRate = scan }
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
    // Not with ||, whose autoclosure would copy the filter.
    if !filter.flags.isAligning { isVerticalFound = true }
  }

  /// Whether accelerometer and magnetometer take the place of a missing gyroscope.
  private var isCompass: Bool { fusedRate == nil && !isAvailable(.gyroscope) }

  /// Fuses all scans that are ready.
  /// - Parameter body: receives the motion after each scan that changes it.
  mutating func fuse(_ body: ((DeviceMotion) -> Void)? = nil) {
    while let scan = nextScan {
      fuseNext()
      if let body, isMotionNew(after: scan), let motion = deviceMotion { body(motion) }
    }
  }

  /// Whether the motion is that of a scan's time: each sample of the gyroscope, or of the accelerometer if there is no gyroscope,
  /// makes a new one.
  public func isMotionNew(after scan: InertialScan) -> Bool {
    if isAvailable(.gyroscope) { return scan.contains(.gyroscope) }
    // The gyroscope may be about to deliver its first sample.
    return scan.contains(.accelerometer)
      && scan.timestamp.seconds(since: start ?? scan.timestamp) >= Self.framePatience.withoutMagnetometer
  }

  /// Time went back: scans from before cannot be sorted among those that follow.
  private mutating func restartOrder() {
    merger.endBlock()
    while let next = merger.flushNext() { due.append(next) }
    merger = ScanMerger()
    merger.expect(use.activeKinds)
    (accelerometer, gyro, magnetometer) = (nil, nil, nil)
  }

  /// Time went back: discards everything that is compared by its time. The filter adapts on its own.
  private mutating func forgetTime() {
    separator = GravitySeparator()
    (fusedForce, fusedRate, fusedField, start, fusedSince, aided) = (nil, nil, nil, nil, nil, nil)
    steadyField = LowPassFilter(cutoff: 0.3)
  }

  /// Takes the place and civil time, for the declination.
  /// - Parameter altitude: metres above the ellipsoid; zero does when it is unknown, as 1 km changes the declination by
  ///   less than 0.01° outside the polar regions.
  public mutating func update(location: Coordinate, altitude: Double? = nil, time: UTCTime) {
    guard let field = MagneticModel.wmm2025.field(at: location, altitude: altitude ?? 0, time: time) else {
      return
    }
    geomagneticField = field
    declination = field.declination
  }

  /// Takes the attitude that a navigation filter has found from the same scans and from what the vehicle does over ground. The
  /// frames with a north are served by it, without a magnetometer too, until a newer scan of the gyroscope is fused.
  /// - Parameters:
  ///   - attitude: of the device in its own axes against east, true north, up; nil when it is no longer known.
  ///   - timestamp: of the scan up to which it counts.
  public mutating func update(attitude: Attitude?, at timestamp: Timestamp) {
    aided = attitude.map { (timestamp, $0) }
  }

  /// Takes an acceleration of the device, in its own axes, that is known from elsewhere, so that gravity is found while driving too. It
  /// holds for half a second at most, and may come before the scans of its time.
  public mutating func update(acceleration: KnownAcceleration) { filter.process(acceleration) }

  /// The newest sound samples; nil before the first.
  public var accelerometerData: AccelerometerData? { accelerometer.flatMap { AccelerometerData($0) } }
  public var gyroData: GyroData? { gyro.flatMap { GyroData($0) } }
  public var magnetometerData: MagnetometerData? { magnetometer.flatMap { MagnetometerData($0) } }

  /// What became of the samples of an inertial sensor; nil for other kinds.
  public func health(of kind: SensorKind) -> SensorHealth? { screen.health(of: kind) }

  /// Samples that were refused, by sensor and reason as in "gyroscope.stuck"; only what has happened is in it.
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

  /// The inertial sensors with a fused sample of the last two seconds, and positioning once a declination is known.
  public var presentSensors: Set<SensorKind> {
    var present: Set<SensorKind> = []
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] where isPresent(kind) {
      present.insert(kind)
    }
    if declination != nil { present.insert(.positioning) }
    return present
  }

  /// Whether an inertial sensor has a fused sample of the last two seconds.
  func isPresent(_ kind: SensorKind) -> Bool {
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

  /// The frames that can be served now, by the sensors that speak and the location that is known.
  public var availableAttitudeReferenceFrames: Set<AttitudeReferenceFrame> {
    let frames = AttitudeReferenceFrame.available(with: presentSensors)
    return isAided ? frames.union([.xTrueNorthZVertical, .xMagneticNorthZVertical]) : frames
  }

  /// The fused motion now; nil until the accelerometer has spoken. Its attitude is in the frame that was asked for, or in the
  /// best of those that take its place while that cannot be served (`AttitudeReferenceFrame.withFallbacks`).
  public var deviceMotion: DeviceMotion? {
    guard let vehicleRotation else { return motionAsMounted }
    return motionAsMounted?.turned(by: vehicleRotation)
  }

  /// The same in the device's own axes.
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
    return motion
  }

  private func bestAttitude(at now: Timestamp) -> (AttitudeReferenceFrame, Attitude)? {
    if let attitude = attitude(in: frame), isServed(frame) { return (frame, attitude) }
    let patience =
      isAvailable(.magnetometer) && frame.needsMagnetometer && filter.quaternion9D == nil
      ? Self.framePatience.withMagnetometer : Self.framePatience.withoutMagnetometer
    guard let fusedSince, now.seconds(since: fusedSince) >= patience else { return nil }
    for frame in frame.withFallbacks.dropFirst() where isServed(frame) {
      if let attitude = attitude(in: frame) { return (frame, attitude) }
    }
    return nil
  }

  /// A frame that hangs on a magnetometer ends with it.
  private func isServed(_ frame: AttitudeReferenceFrame) -> Bool {
    !frame.needsMagnetometer || isAvailable(.magnetometer) || isAided && frame.hasNorth
  }

  /// Whether what aids is of the newest fused scan.
  private var isAided: Bool {
    guard let aided, let fusedRate else { return false }
    return aided.timestamp >= fusedRate.timestamp
  }

  /// The attitude against magnetic north, whatever `frame` is; nil without a magnetometer. Without a gyroscope, that of a compass
  /// which knows which way is down.
  public var magneticAttitude: Attitude? {
    let attitude =
      presentSensors.contains(.gyroscope) || isAvailable(.gyroscope)
      ? attitude(in: .xMagneticNorthZVertical) : separator.gravity.flatMap(compass)
    return vehicleRotation.map { attitude?.turned(by: $0) } ?? attitude
  }

  /// Degrees clockwise from magnetic north to which the device's top points; nil without a magnetometer, or when the
  /// top points straight up or down.
  public var magneticHeading: Double? { magneticAttitude.flatMap { $0.heading() } }

  /// Degrees, one standard deviation of the heading: the filter's, but at least what rotations have shown of the device's
  /// magnetism. 90 if nothing was observed; nil without a heading.
  public var headingAccuracy: Double? {
    if isCompass { return compassCalibrator.headingDeviation?.degrees }
    guard fusedRate != nil, fusedField != nil, filter.quaternion9D != nil else { return nil }
    let state = filter.state
    guard let deviation = state.headingDeviation, let bound = state.headingBound else { return nil }
    // Young evidence is often too sure of itself: its bound counts as one and a half deviations.
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

  /// Against magnetic north, by gravity and the field alone; nil where they do not say.
  private func compass(_ gravity: Vector3) -> Attitude? {
    steadyField.value.flatMap { Attitude(gravity: gravity, magneticField: corrected(magnetometer: $0)) }
  }

  /// Gravity after the newest fused scan, g, in the device's own axes; nil until the vertical is found.
  public var gravity: Vector3? {
    guard isPresent(.gyroscope) else { return separator.gravity }
    guard isVerticalFound, isPresent(.accelerometer) else { return nil }
    return Attitude(quaternion: filter.quaternion6D).gravity
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
    // The filter's earth frame has x to the east; Core Motion's north frames have it to the north, a quarter turn on.
    case .xMagneticNorthZVertical:
      return filter.quaternion9D.map { Attitude(quaternion: $0).rotatedReference(by: .pi / 2) }
    case .xTrueNorthZVertical:
      guard let declination, let quaternion = filter.quaternion9D else { return nil }
      return Attitude(quaternion: quaternion).rotatedReference(by: .pi / 2 + declination.radians)
    }
  }

  // MARK: Calibration

  /// The calibration to store: the one given at the start with what has been learned since, without what the samples
  /// contradict. The caller that stores it sets `made`.
  public var calibration: MotionCalibration {
    var calibration = filter.calibration(updating: kept, temperature: temperature)
    if isCompass, let magnetometer = compassCalibrator.calibration { calibration.magnetometer = magnetometer }
    calibration.made = nil
    return calibration
  }

  /// Whether some of the calibration given at the start was discarded: the samples contradicted it, or the sensors are
  /// others.
  public var hasDiscardedCalibration: Bool {
    hasForeignCalibration || filter.flags.hasDiscardedCalibration
  }

  /// The bias of the gyroscope follows the chip's temperature as far as it was observed at more than one.
  private mutating func follow(_ new: Double) {
    // What was learned belongs to the temperature until now.
    if let temperature {
      kept = filter.calibration(updating: kept, temperature: temperature)
      filter.forgetContradictedBias()
    }
    // Thermometers are noisier than chips change.
    let smooth = temperature.map { $0 + 0.3 * (new - $0) } ?? new
    let before = temperature == nil ? expectedBias : kept.gyroBias(at: temperature)
    if let before, let after = kept.gyroBias(at: smooth), temperature != nil || !filter.hasSeenBias {
      filter.follow(biasChange: after.bias - before.bias)
    }
    temperature = smooth
  }

  /// Hardware says what it is: what was learned on other hardware goes.
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

  /// Learns of a source's state: which sensors there are, and how fast they really run.
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
