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
  private var joiner = ScanJoiner()
  /// Those whose turn to be fused has come.
  private var due: [ScanMerger.Element] = []
  /// The newest sound scan of each sensor.
  private var accelerometer: InertialScan?
  private var gyro: InertialScan?
  private var magnetometer: InertialScan?
  /// The newest that the filter has been given.
  private var fusedForce: InertialScan?
  private var fusedRate: InertialScan?
  /// When the first of both was given.
  private var fusedSince: Timestamp?
  /// Of the device in its own axes against east, true north, up, as something that knows more has it, and of when.
  private var aided: (timestamp: Timestamp, attitude: Attitude)?
  /// The field, averaged over half a second: the compass of a device without a gyroscope.
  private var steadyField = LowPassFilter(cutoff: 0.3)

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

  /// Takes a block of scans and hands what is sound of each to `body`, in order. What they say together with those of
  /// other devices follows once each of the other sensors has spoken of the same time.
  /// - Parameter ordered: is handed the scans of all devices in order of time, as they are fused; a force and a rotation of the
  ///   same time as one.
  public mutating func process(
    _ block: [InertialScan], _ body: (InertialScan) -> Void = { _ in },
    ordered: (InertialScan) -> Void = { _ in }
  ) {
    admit(block, body, ordered: ordered)
    fuse()
  }

  /// The same without the fusion, which follows with `fuse`: for who makes something of the scans that the fusion can use, as a
  /// navigation filter does (`update(acceleration:)`).
  public mutating func admit(
    _ block: [InertialScan], _ body: (InertialScan) -> Void = { _ in },
    ordered: (InertialScan) -> Void = { _ in }
  ) {
    for var scan in block {
      let doubts = screen.admit(&scan)
      if doubts.contains(.timeWentBack) { forgetTime() }
      if let temperature = scan.temperature { follow(temperature) }
      if scan.specificForce != nil {
        accelerometer = scan
        separator.process(scan)
      }
      if scan.rotationRate != nil { gyro = scan }
      if let field = scan.magneticField {
        magnetometer = scan
        if !hasSpoken(gyro, at: scan.timestamp) { _ = steadyField.process(field, at: scan.timestamp) }
      }
      guard !scan.isEmpty else { continue }
      merger.append(scan, doubts)
      body(scan)
    }
    merger.endBlock()
    while let next = merger.next() {
      joiner.process(next.scan, ordered)
      due.append(next)
    }
  }

  /// Fuses the scans whose turn has come.
  public mutating func fuse() { fuse(nil) }

  /// The same, and hands over the motion after each scan of the gyroscope, the other sensors' of the same time included.
  mutating func fuse(_ body: ((DeviceMotion) -> Void)?) {
    defer { due.removeAll(keepingCapacity: true) }
    var isNew = false
    for next in due {
      if next.scan.rotationRate != nil {
        if isNew, let body { handOver(to: body) }
        fusedRate = next.scan
        isNew = true
      }
      if next.scan.specificForce != nil { fusedForce = next.scan }
      if fusedSince == nil, fusedForce != nil, fusedRate != nil { fusedSince = next.scan.timestamp }
      filter.process(next.scan, doubts: next.doubts)
    }
    if isNew, let body { handOver(to: body) }
  }

  private func handOver(to body: (DeviceMotion) -> Void) {
    if let motion = deviceMotion { body(motion) }
  }

  /// Time has gone back: what is compared by its time begins anew. The filter goes on by itself.
  private mutating func forgetTime() {
    separator = GravitySeparator()
    (merger, joiner) = (ScanMerger(), ScanJoiner())
    (accelerometer, gyro, magnetometer) = (nil, nil, nil)
    (fusedForce, fusedRate, fusedSince, aided) = (nil, nil, nil, nil)
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

  /// The inertial sensors that have spoken lately, and positioning once a declination is known.
  public var presentSensors: Set<SensorKind> {
    let times = [accelerometer?.timestamp, gyro?.timestamp, magnetometer?.timestamp]
    guard let newest = times.compactMap({ $0 }).max() else { return [] }
    var present: Set<SensorKind> = []
    for (kind, time) in zip([SensorKind.accelerometer, .gyroscope, .magnetometer], times) {
      if let time, newest.seconds(since: time) <= Self.silence { present.insert(kind) }
    }
    if declination != nil { present.insert(.positioning) }
    return present
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
    guard let accelerometer else { return nil }
    let present = presentSensors
    guard present.contains(.gyroscope) else {
      return motionWithoutGyroscope(at: accelerometer.timestamp, present)
    }
    guard present.contains(.accelerometer), let force = fusedForce.flatMap({ AccelerometerData($0) }),
      let rate = fusedRate.flatMap({ GyroData($0) }),
      let (frame, attitude) = bestAttitude(at: max(force.timestamp, rate.timestamp))
    else { return nil }
    let gravity = attitude.gravity
    var motion = DeviceMotion(
      timestamp: max(force.timestamp, rate.timestamp), frame: frame, attitude: attitude,
      rotationRate: rate.rotationRate - filter.gyroscopeBias, gravity: gravity,
      userAcceleration: force.acceleration - gravity)
    motion.magneticField = present.contains(.magnetometer) ? magneticField : nil
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

  /// Degrees, one standard deviation of the heading: by the filter's own reckoning, but never less than what rotations
  /// have shown of the device's magnetism allows. 90 means that nothing was observed; nil without a heading.
  public var headingAccuracy: Double? {
    guard fusedRate != nil, magnetometer != nil, filter.quaternion9D != nil else { return nil }
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
    motion.magneticField = magneticField
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
    steadyField.value.flatMap {
      Attitude(gravity: gravity, magneticField: filter.corrected(magnetometer: $0))
    }
  }

  /// Whether a sensor has said something of late.
  private func hasSpoken(_ scan: InertialScan?, at now: Timestamp) -> Bool {
    scan.map { now.seconds(since: $0.timestamp) <= Self.silence } ?? false
  }

  private var magneticField: CalibratedMagneticField? {
    guard let field = magnetometer?.magneticField else { return nil }
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

  /// What is worth keeping now: what was given at the start with what has been learned since, without what no longer fits.
  /// Its `made` is for whoever keeps it.
  public var calibration: MotionCalibration {
    var calibration = filter.calibration(updating: kept, temperature: temperature)
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
  }
}
