internal import Glibc
public import Sensors
public import Spatial
public import VehicleData

/// Fuses gyroscope, accelerometer and magnetometer into an attitude.
///
/// The structure is that of VQF (D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with
/// bias estimation and magnetic disturbance rejection", Information Fusion 91, 2023): the gyroscope alone
/// turns an *almost inertial* frame, and slow corrections connect that frame with the earth, first by
/// inclination, then by heading. The corrections come from a Kalman filter instead of fixed low-pass filters.
/// It works on blocks of about 70 ms, in which the samples are summed in the almost inertial frame, and
/// estimates
/// - inclination, with a motion model of bounded velocity and position. The strength of the driving
///   acceleration is estimated adaptively (innovations against their prediction, R. K. Mehra, 1970);
/// - gyroscope bias and scale; the rate of the gyroscope's clock acts as a common scale;
/// - the magnetic field: the mean field, whose horizontal direction is the heading, plus a local disturbance
///   that changes as the device moves (a first-order Gauss-Markov process), plus hard iron that turns with
///   the device;
/// - the delay of the magnetometer, whose samples are evaluated with the attitude of their own time.
///
/// The mean field is a vector in the level frame rather than an angle. Its equations are therefore linear,
/// and unobservable states are not updated (compare J. A. Hesch et al., "Consistency analysis and improvement
/// of vision-aided inertial navigation", IEEE T-RO 30, 2014). The magnetometer does not change the
/// inclination, except after gaps of the gyroscope: inclination is a considered state (S. F. Schmidt, 1966).
///
/// Scans carry their time and must have passed a `ScanScreen`. Those of one sensor must be in order;
/// different sensors may be offset by about 0.1 s. Nothing is allocated after `init`.
public struct AttitudeFilter: Sendable {
  /// Rotation from the device frame to a frame with z up and an arbitrary horizontal direction, at the newest
  /// gyroscope sample. The magnetometer does not affect its heading. (Stored, like all properties read with
  /// every sample, because reading a computed property copies the whole filter.)
  public private(set) var quaternion6D = Quaternion.identity
  /// Rotation from the device frame to east, magnetic north, up, at the newest gyroscope sample; nil before
  /// the first magnetometer sample.
  public private(set) var quaternion9D: Quaternion?
  public let parameters: Parameters
  public private(set) var flags = Flags()
  public private(set) var counters = Counters()

  private var strapdown: Strapdown
  private var estimate: AttitudeEstimate
  private var alignment = Alignment()
  private var rest = RestDetector()
  private var lastingForce = LastingForce()
  private var tiltWatch = TiltWatch()
  /// True if the vertical was measured at rest since the last alignment.
  private var isLevelKnown = false
  private var accelerations = AccelerationHistory()
  private var isAided = false
  private var accelerometerRange: SaturationMonitor
  private var block = FilterBlock()
  private var blocks = 0
  /// Time from which the filter counts seconds: that of the first scan; nil before the first scan.
  private var origin: Timestamp?
  private var hasGyroscope = false
  /// True once the accelerometer has roughly determined the vertical.
  private var isLeveled = false
  /// Time in s since the last alignment.
  private var sinceAlignment = 0.0
  /// Time in s since the specific force last contradicted the inclination. Before that, the estimated field
  /// contains the same error.
  private var sinceContradiction = 1e3
  /// Time in s since the accelerometer was last saturated. Shortly after saturation, its mean does not
  /// indicate gravity.
  private var sinceSaturation = 1e3
  /// Time in s since the last block with specific forces.
  private var sinceForce = 0.0
  /// Time in s for which the gyroscope has been saturated. It decreases while the gyroscope is in its range.
  private var saturatedTime = 0.0
  /// Variance in rad² per axis of the rotation missed in a gap of the gyroscope; 0 without a gap. The next
  /// magnetometer sample corrects this rotation immediately.
  private var snapVariance = 0.0
  /// Length of this gap in s.
  private var snapGap = 0.0

  /// Longest assumed latency in s. Chips that are sampled slowly still filter as they do at 200 Hz.
  private static let longestLatency = 0.005

  /// Longest time in s without specific forces over which their integral continues.
  private static let longestForceGap = 0.5

  /// Longest time in s at the end of the gyroscope's range that leaves the attitude known. Excursions beyond
  /// 500 °/s in hands last up to 0.2 s. A spin returns to the range for moments, so that time in range is subtracted
  /// with a factor: shakes are out of range for less than a quarter of the time. Heading 5 s after spins in twelve
  /// recordings with 0.5, 0.6 and 0.7 s: 14.7, 18.0 and 21.1°, with a factor of 3 and 4: 17.4 and 18.0°. Below 0.6 s
  /// and 3, motion with many excursions is realigned too often.
  private static let longestSaturation = 0.6
  private static let saturationRelease = 3.0
  /// Maximum of `saturatedTime` in s. After a longer spin, single clipped samples would realign for as long as a
  /// third of it. Spins of the experiments last 2.5 s, so the figures above do not depend on it.
  private static let longestCounted = 3.0

  /// Length of a gap in s from which its rotation may be far larger than expected. On twelve recordings, 0.5 and 1
  /// give the same results for gaps of 0.35 s and of 1.5 s.
  private static let longGap = 0.7

  /// Standard gravity, m/s².
  static let gravity = standardGravity

  public init(_ parameters: Parameters = Parameters(), calibration: MotionCalibration? = nil) {
    self.parameters = parameters
    strapdown = Strapdown(range: parameters.gyroscopeRange)
    estimate = AttitudeEstimate(parameters)
    accelerometerRange = SaturationMonitor(
      range: parameters.accelerometerRange, smallestLimit: 12, greatestExcess: 3)
    if let calibration { estimate.use(calibration, parameters) }
  }

  // MARK: Scans

  /// Processes a scan that has passed a `ScanScreen`: finite, and in order of time for each sensor.
  ///
  /// - Parameter doubts: problems of the scan found by the `ScanScreen`, for example a time that went back.
  public mutating func process(_ scan: InertialScan, doubts: ScanDoubts = []) {
    if doubts.contains(.timeWentBack) { resume(at: scan.timestamp) }
    let time = seconds(scan.timestamp)
    if let rate = scan.rotationRate {
      hasGyroscope = true
      flags.isGyroscopeStuck = doubts.contains(.gyroscope)
      process(rate: rate, at: time)
    }
    if let force = scan.specificForce {
      flags.isAccelerometerStuck = doubts.contains(.accelerometer)
      if !flags.isAccelerometerStuck { process(force: force, at: time) }
    }
    if let field = scan.magneticField {
      flags.isMagnetometerStuck = doubts.contains(.magnetometer)
      // The field is unknown until the first use of a sample. A repeated value is then accepted, because
      // samples before the alignment could not be used and the magnetometer may have no other value yet.
      let isFirst = !estimate.field.isKnown && hasGyroscope && !flags.isMagnetometerStuck
      if isFirst || !doubts.contains(.heldField) { process(field: field, at: time) }
    }
  }

  /// Processes an external acceleration of the device. It is valid until the next one, for half a second at
  /// most. Values that are not finite or older than the newest are ignored.
  public mutating func process(_ acceleration: KnownAcceleration) {
    guard let origin else { return }
    accelerations.append(
      acceleration.vector, deviation: acceleration.deviation,
      at: acceleration.timestamp.seconds(since: origin))
  }

  /// Sets the sensor ranges reported by drivers in m/s² and rad/s. They apply until samples exceed them.
  public mutating func use(ranges: [SensorKind: Double]) {
    if let range = ranges[.accelerometer] { accelerometerRange.expect(range) }
    if let range = ranges[.gyroscope] { strapdown.expect(range: range) }
  }

  /// Seconds since the first scan.
  @inline(__always)
  private mutating func seconds(_ time: Timestamp) -> Double {
    guard let origin else {
      self.origin = time
      return 0
    }
    return time.seconds(since: origin)
  }

  /// Continues after the clock was set, as if the scan had followed the previous one by five sampling
  /// intervals.
  private mutating func resume(at time: Timestamp) {
    guard origin != nil, let last = strapdown.newestTime else { return }
    origin = time.advanced(bySeconds: -(last + 5 * max(strapdown.period, 1e-3)))
    accelerations.clear()
  }

  @inline(__always)
  private mutating func process(rate: Vector3, at time: Double) {
    let outcome = strapdown.integrate(
      estimate.gyroscope.corrected(rate), measured: rate, at: time, longestGap: parameters.longestGap,
      isStuck: flags.isGyroscopeStuck, into: &block)
    switch outcome {
    case .began: return
    case .doubted: break
    case .lost:
      counters.gaps += 1
      realign()
    case .turned(let isSaturated, let gapVariance):
      let wasSaturated = flags.isGyroscopeSaturated
      flags.isGyroscopeSaturated = isSaturated
      if isSaturated {
        counters.saturated += 1
        saturatedTime = min(saturatedTime + strapdown.period, Self.longestCounted)
      } else if saturatedTime > 0 {
        observeEndOfSaturation(wasSaturated: wasSaturated)
      }
      if let gapVariance {
        counters.gaps += 1
        // Only rotations larger than the field's usual change of direction between locations can be corrected
        // by the field. On recordings with bursts of samples removed, limits of 1° to 3° give equal results.
        let noticeable = 2.5 * Double.pi / 180
        if gapVariance > noticeable * noticeable {
          (snapVariance, snapGap) = (gapVariance, block.gap)
        }
      }
      if block.duration >= parameters.blockTime - 1e-9 { closeBlock(at: time) }
    }
    counters.outliers = strapdown.outliers
    publish(at: time)
  }

  @inline(__always)
  private mutating func process(force: Vector3, at time: Double) {
    guard hasGyroscope else {
      alignment.observe(force: force, at: time)
      publishWithoutGyroscope()
      return
    }
    let cut = accelerometerRange.observe(force, at: time)
    flags.isAccelerometerSaturated = cut.isSaturated
    if cut.isSaturated {
      counters.saturated += 1
      sinceSaturation = 0
    }
    let attitude = strapdown.state(at: time).attitude
    let turned = attitude.rotate(force)
    if !isLeveled {
      guard estimate.erect(along: turned) else { return }
      isLeveled = true
    }
    if time <= strapdown.blindUntil {
      block.lostForce += strapdown.period
      return
    }
    if cut.wholeArea != .zero {
      // `forceSum` adds samples without their interval, so the clipped area (m/s) is divided by the sampling
      // interval.
      let area = attitude.rotate(cut.wholeArea)
      block.forceSum += area / max(1e-4, strapdown.period)
      block.velocityVariance += 0.3 * area.dot(area)
    }
    block.forceSum += turned
    block.forceCount += 1
    block.force.add(force)
  }

  @inline(__always)
  private mutating func process(field measured: Vector3, at time: Double) {
    guard hasGyroscope else {
      alignment.observe(field: measured, at: time)
      publishWithoutGyroscope()
      return
    }
    guard isLeveled else { return }
    let past = time - estimate.field.lag
    var then = strapdown.state(at: past)
    let clean = corrected(magnetometer: measured)
    if !estimate.field.isKnown { estimate.beginField(then.attitude.rotate(clean)) }
    guard past > strapdown.blindUntil else { return }
    if snapVariance > 0 { then.attitude = snap(then.attitude, to: clean) }
    block.add(field: measured, clean: clean, at: then, expected: estimate.field.expected)
  }

  // MARK: A block is complete

  @inline(never)
  private mutating func closeBlock(at time: Double) {
    let interval = block.duration
    aid(at: time - 0.5 * interval)
    blocks &+= 1
    sinceAlignment += interval
    sinceSaturation += interval
    sinceContradiction += interval
    var frame = Matrix3(estimate.level)
    estimate.predict(block, frame, interval, parameters)

    rest.process(block, parameters)
    flags.isAtRest = rest.isAtRest
    strapdown.observe(isStill: rest.isStill)
    estimate.relaxField(isStill: rest.isStill, interval, parameters)

    var x = StateVector()
    if !rest.isAtRest {
      estimate.observeMotion()
    } else if estimate.measureRest(&x, block, frame, meanVariance: rest.rateVariance, interval) {
      flags.hasDiscardedCalibration = true
    }
    switch alignment.phase {
    case .leveling:
      x = StateVector()
      if alignment.level(&estimate, block, interval, parameters) {
        flags.isAligning = false
        sinceAlignment = 0
      }
      frame = Matrix3(estimate.level)
    case .searching: alignment.search(&estimate, &strapdown, &block, interval, parameters)
    case .done:
      if block.forceCount > 0 { estimate.measureForce(&x, block, frame, interval, parameters) }
    }
    if block.fieldCount > 0, alignment.phase != .leveling {
      estimate.measureField(
        &x, block, frame, isStill: rest.isStill, isSettled: min(sinceAlignment, sinceContradiction) > 3,
        interval, parameters)
      flags.isMagneticallyDisturbed = estimate.field.isDisturbed
      if estimate.field.isContradicted { flags.hasDiscardedCalibration = true }
    }
    if !(estimate.correct(x, parameters) && strapdown.attitude.isFinite) { restart() }
    watchGravity(frame, interval)
    if blocks & 63 == 0 { estimate.repair(parameters) }
    estimate.endBlock()
    block = FilterBlock()
  }

  private mutating func watchGravity(_ frame: Matrix3, _ interval: Double) {
    // The implied changes of velocity require forces without interruption.
    sinceForce = block.forceCount > 0 ? 0 : sinceForce + interval
    if block.gap > 0 || sinceForce > Self.longestForceGap { tiltWatch.forget() }
    guard alignment.phase == .done, block.forceCount > 0 else { return }
    let force = frame * (block.forceSum / Double(block.forceCount))
    if alignment.isLost(force, isTrusted: sinceSaturation > 6, interval) { return realign() }
    if rest.isAtRest { isLevelKnown = true }
    var finding = lastingForce.observe(
      SIMD2(force.x, force.y), isLevelKnown: isLevelKnown, interval: interval)
    if rest.isAtRest, finding == nil {
      finding = LastingForce.atRest(SIMD2(force.x, force.y), duration: rest.duration)
    }
    observeTilt(force, frame, interval)
    guard let finding else { return }
    sinceContradiction = 0
    estimate.reopenTilt(by: finding.force, accelerationVariance: finding.variance, parameters)
  }

  /// Corrects a tilt that the gyroscope missed. Clipped forces do not measure one. With an external
  /// acceleration, the correction by each block suffices.
  private mutating func observeTilt(_ force: Vector3, _ frame: Matrix3, _ interval: Double) {
    guard sinceSaturation > 1, !isAided else { return tiltWatch.forget() }
    let finding = tiltWatch.observe(
      force, deviceForce: block.force.mean, turn: frame * block.turn, up: (frame * block.attitude).row(2),
      field: block.fieldCount > 0 ? frame * (block.fieldSum / Double(block.fieldCount)) : nil,
      meanField: estimate.field.mean, interval: interval)
    guard let finding else { return }
    sinceContradiction = 0
    tiltWatch.correct(by: estimate.measureTilt(finding, parameters))
  }

  /// Subtracts the external acceleration from the block.
  private mutating func aid(at time: Double) {
    let known = block.forceCount > 0 ? accelerations.acceleration(at: time) : nil
    if let known { block.subtract(known.vector, deviation: known.deviation) }
    guard (known != nil) != isAided else { return }
    isAided = known != nil
    estimate.forgetMotion(parameters)
  }

  // MARK: Alignment

  /// Finds the attitude from scratch after a rotation that the gyroscope missed for too long: the clipped part
  /// of a short excursion follows from its slopes, that of a longer one does not.
  private mutating func observeEndOfSaturation(wasSaturated: Bool) {
    if wasSaturated, saturatedTime > Self.longestSaturation { realign() }
    saturatedTime = max(0, saturatedTime - Self.saturationRelease * strapdown.period)
  }

  /// Finds the attitude from scratch and retains all other estimates.
  @inline(never)
  private mutating func realign() {
    counters.realignments += 1
    alignment.startLeveling(accelerationVariance: estimate.motion.accelerationVariance)
    forgetForces()
    isLevelKnown = false
    flags.isAligning = true
    snapVariance = 0
  }

  /// Discards sums of forces in a frame that is no longer valid.
  private mutating func forgetForces() {
    tiltWatch.forget()
    lastingForce = LastingForce()
  }

  /// Resets the filter if the estimates are not plausible.
  @inline(never)
  private mutating func restart() {
    realign()
    isLeveled = false
    strapdown.restart()
    estimate.restart(parameters)
    (quaternion6D, quaternion9D) = (.identity, nil)
  }

  /// After a gap with unknown rotation, turns the estimate by the smallest rotation that restores the field's
  /// direction. The remaining unknown is a rotation about the field.
  private mutating func snap(_ attitude: Quaternion, to clean: Vector3) -> Quaternion {
    var variance = snapVariance
    snapVariance = 0
    let (measured, expected) = (attitude.rotate(clean), estimate.field.expected)
    guard measured.length > 5, expected.length > 5, let axis = expected.normalized,
      let correction = Quaternion.shortestTurn(from: measured, to: expected)
    else { return attitude }
    strapdown.turn(by: correction)
    tiltWatch.forget()
    // The field shows two of the three components of the missed rotation. If they are far larger than expected, the
    // third one may be as well. In short gaps, the rates at both ends are the better estimate.
    let expectedVariance = variance
    let square = squared(correction.angle)
    if snapGap > Self.longGap, square > 4 * variance { variance = square }
    let lost = 20 * Double.pi / 180
    if variance > lost * lost {
      alignment.startSearch()
      estimate.loseAttitude()
      forgetForces()
      block.forceSum = .zero
      block.forceCount = 0
    }
    block.gapVariance = max(0, block.gapVariance - expectedVariance)
    block.isSaturated = true
    let remaining = 4 * Double.pi / 180
    block.saturation += Matrix3.outer(axis, scale: variance)
    block.saturation += Matrix3.diagonal(remaining * remaining)
    return (correction * attitude).normalized
  }

  // MARK: Output

  /// Updates the attitudes, extrapolated by the delay of the gyroscope's low-pass filter.
  @inline(__always)
  private mutating func publish(at time: Double) {
    let latency = parameters.gyroscopeLatency ?? min(strapdown.period, Self.longestLatency)
    let ahead = latency + time - (strapdown.newestTime ?? time)
    let q = estimate.level.times(strapdown.attitude(ahead: ahead))
    let n = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z
    // Restarts also if the length is NaN, because a comparison with NaN is false.
    guard n > 0.9, n < 1.1 else {
      restart()
      return
    }
    let leveled = q.renormalized
    quaternion6D = leveled
    if estimate.field.isKnown { quaternion9D = estimate.field.north.timesAboutVertical(leveled) }
  }

  /// Updates the attitudes of devices without a gyroscope.
  private mutating func publishWithoutGyroscope() {
    quaternion6D = alignment.withoutGyroscope(field: false) ?? .identity
    quaternion9D = alignment.withoutGyroscope(field: true)
  }

  /// Estimates besides the attitude, with the filter's standard deviations.
  public var state: State { estimate.state(parameters) }

  /// Bias in rad/s, device frame, to be subtracted from gyroscope readings.
  public var gyroscopeBias: Vector3 { estimate.gyroscope.bias }

  /// Observed accuracy of the field's calibration.
  public var fieldAccuracy: MagneticFieldCalibrationAccuracy { estimate.field.accuracy }

  /// Corrects a magnetometer sample for hard and soft iron, in µT, device frame.
  @inline(__always)
  public func corrected(magnetometer field: Vector3) -> Vector3 { estimate.field.corrected(field) }

  // MARK: Calibration

  /// Returns `kept` updated with observed values, without those that the samples contradicted.
  ///
  /// - Parameters:
  ///   - kept: the initial calibration.
  ///   - temperature: temperature of the gyroscope in °C; nil without a thermometer.
  public func calibration(updating kept: MotionCalibration = .init(), temperature: Double? = nil)
    -> MotionCalibration
  {
    estimate.calibration(
      updating: kept, temperature: temperature, isSettled: sinceAlignment > 20, parameters)
  }

  /// True if the bias was observed at rest since the start.
  var hasSeenBias: Bool { estimate.gyroscope.hasSeenBias }

  /// Adjusts the bias after a temperature change, by the difference between stored biases.
  mutating func follow(biasChange: Vector3) { estimate.follow(biasChange: biasChange) }

  /// Removes a stored bias that was contradicted.
  mutating func forgetContradictedBias() { estimate.forgetContradictedBias() }
}
