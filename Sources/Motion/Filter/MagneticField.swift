internal import Glibc
internal import Spatial

/// The earth's field, its local disturbance and what the device itself adds: hard and soft iron, and the magnetometer's
/// delay.
struct MagneticField: Sendable {
  /// Mean field, level frame, µT.
  private(set) var mean = Vector3.zero
  /// Field that is expected here, almost inertial frame, µT.
  private(set) var expected = Vector3.zero
  /// µT, device frame.
  private(set) var hardIron = Vector3.zero
  /// Delay against the gyroscope, s.
  private(set) var lag = 0.0
  /// Level frame to east-north-up, a rotation about the vertical.
  private(set) var north = Quaternion.identity
  /// Whether there has been a field.
  private(set) var isKnown = false
  /// The field differs from the mean by more than is usual.
  private(set) var isDisturbed = false
  /// Kept iron was contradicted.
  private(set) var isContradicted = false
  private(set) var soft = SoftIron()
  /// rad, within which the mean field's direction is right by the evidence.
  private(set) var headingBound = Double.pi
  private(set) var accuracy = MagneticFieldCalibrationAccuracy.uncalibrated

  private var disturbance = Vector3.zero
  /// Low-passed mean square of the disturbance, µT².
  private var disturbancePower = 0.0
  /// s since the field jumped.
  private var sinceJump = 1e3
  /// What rotations have shown of the device's own magnetism.
  private var evidence: FieldEvidence
  /// The same as a witness against the iron in use, which does not take a long rest for much experience.
  private var witness: FieldEvidence
  /// Kept hard iron is in use and has not been contradicted.
  private var expectsIron = false

  private static let fieldStates = ErrorState.field..<ErrorState.field + 3
  private static let disturbanceStates = ErrorState.disturbance..<ErrorState.disturbance + 3
  private static let ironStates = ErrorState.hardIron..<ErrorState.hardIron + 3
  private static let lagState = ErrorState.lag..<ErrorState.lag + 1

  /// Squared innovations of a block, summed over the axes in units of their variances, from which the field has jumped. The first is against
  /// what places differ by: a magnetometer that is read rarely is no reason to wait for a larger magnet, so that no more noise
  /// is granted to it (µT²) than to one that is read often. The second is against all that is uncertain: 25 for three axes is
  /// one block in 60,000. Found on twelve recordings with magnets of 3 to 30 µT, at 20, 48, 95 and 286 Hz: sizes of 40 to 60,
  /// noise of 0.04 to 0.1 and significances of 12 to 35 do equally well.
  private static let jumpSize = 60.0
  private static let jumpNoise = 0.1
  private static let jumpSignificance = 25.0

  init(_ p: AttitudeFilter.Parameters) {
    evidence = FieldEvidence(disturbance: p.disturbanceDeviation)
    witness = FieldEvidence(
      disturbance: p.disturbanceDeviation, restSpacing: FieldEvidence.spacingAtRest)
  }

  /// A sample without hard and soft iron, µT, device frame.
  @inline(__always)
  func corrected(_ field: Vector3) -> Vector3 { soft.corrected(field - hardIron) }

  // MARK: Start

  /// Uncertain as before the first sample.
  mutating func start(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.ironStates, variance: squared(p.hardIronPrior))
    covariance.reset(Self.lagState, variance: squared(p.lagPrior))
    forget(&covariance, p)
  }

  /// Nothing is known of the field any more.
  mutating func forget(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.fieldStates, variance: squared(100))
    covariance.reset(Self.disturbanceStates, variance: squared(p.disturbanceDeviation))
    disturbance = .zero
    evidence.forgetField()
    witness.forgetField()
    weighEvidence()
  }

  /// Forgets the values; whether a calibration was kept or contradicted stays known.
  mutating func restart(_ p: AttitudeFilter.Parameters) {
    (mean, hardIron, north, lag, disturbancePower, isKnown) = (.zero, .zero, .identity, 0, 0, false)
    soft = SoftIron()
    evidence = FieldEvidence(disturbance: p.disturbanceDeviation)
    witness = FieldEvidence(
      disturbance: p.disturbanceDeviation, restSpacing: FieldEvidence.spacingAtRest)
  }

  /// Starts from a kept calibration, which counts as known to its deviation and no less than a restart may change it.
  mutating func use(
    _ calibration: MotionCalibration, _ covariance: inout Covariance, _ p: AttitudeFilter.Parameters
  ) {
    if let kept = calibration.magnetometer, kept.hardIron.isFinite, kept.hardIron.length < 1e4 {
      expectsIron = true
      hardIron = kept.hardIron
      for i in 0..<3 {
        // An axis that was never seen counts as it would without a calibration.
        let deviation = max(p.hardIronPrior, min(kept.hardIronDeviation[i], 2))
        covariance.reset(
          ErrorState.hardIron + i..<ErrorState.hardIron + i + 1, variance: deviation * deviation)
      }
      evidence.use(iron: kept.hardIron, deviation: kept.hardIronDeviation)
      witness.use(iron: kept.hardIron, deviation: kept.hardIronDeviation)
      let (diagonal, offDiagonal) = (kept.softIronDiagonal, kept.softIronOffDiagonal)
      if diagonal.isFinite, diagonal.length < 0.5, offDiagonal.isFinite, offDiagonal.length < 0.5,
        diagonal != .zero || offDiagonal != .zero
      {
        soft.use(diagonal: diagonal, offDiagonal: offDiagonal)
      }
    }
    if let kept = calibration.magnetometerLag, kept.isFinite, abs(kept) < 0.08 {
      lag = kept
      covariance.reset(Self.lagState, variance: 0.003 * 0.003)
    }
  }

  /// The first field, almost inertial frame.
  mutating func begin(_ field: Vector3, level: Quaternion) {
    expected = field
    mean = level.rotate(expected)
    isKnown = true
    pointNorth()
  }

  // MARK: While the vertical is being found

  /// The level frame has turned.
  mutating func turn(by rotation: Quaternion) { mean = rotation.rotate(mean) }

  /// The field is what was measured, level frame.
  mutating func replace(by field: Vector3) { mean = field }

  // MARK: Prediction

  /// The disturbance forgets itself as the device moves on.
  @inline(__always)
  mutating func relax(
    _ covariance: inout Covariance, isStill: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let time = isStill ? p.disturbanceTimeAtRest : p.disturbanceTime
    let keep = exp(-interval / time)
    disturbance *= keep
    covariance.scale(from: ErrorState.disturbance, by: keep)
    covariance.addVariance(
      squared(p.disturbanceDeviation) * (1 - keep * keep), to: Self.disturbanceStates)
  }

  // MARK: Measurement

  /// field(level) = mean field + disturbance + tilt x field + attitude * hard iron + lag * slope.
  ///
  /// - Parameters:
  ///   - frame: almost inertial to level.
  ///   - isSettled: whether the field may move the inclination, where that is very uncertain: after the gyroscope was
  ///     blind the field is the better judge.
  @inline(__always)
  mutating func measure(
    _ x: inout StateVector, _ covariance: inout Covariance, _ block: FilterBlock, _ frame: Matrix3,
    isStill: Bool, isSettled: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let count = Double(block.fieldCount)
    let measured = frame * (block.fieldSum / count)
    let attitude = frame * (block.fieldAttitude * (1 / count))
    let slope = frame * (block.lagSlope / count)
    let here = mean + disturbance
    let z = measured - here
    let variance = squared(p.magnetometerNoise) / count
    // tilt x field, by components of the tilt.
    let byTilt = (Vector3(0, -here.z, here.y), Vector3(here.z, 0, -here.x))

    var m = InlineArray<3, Measurement>(repeating: Measurement())
    for i in 0..<3 {
      m[i].h[ErrorState.tilt] = byTilt.0[i]
      m[i].h[ErrorState.tilt + 1] = byTilt.1[i]
      m[i].h[ErrorState.field + i] = 1
      m[i].h[ErrorState.disturbance + i] = 1
      let row = attitude.row(i)
      for k in 0..<3 { m[i].h[ErrorState.hardIron + k] = row[k] }
      m[i].h[ErrorState.lag] = slope[i]
      m[i].z = z[i]
      m[i].variance = variance
    }
    measureLag(&x, &covariance, block, p)
    measureDisturbance(&covariance, interval, p)
    soft.observe(
      block.lastField, hardIron: hardIron, isStill: isStill, interval: interval,
      disturbance: p.disturbanceDeviation)
    var projections = Self.project(m, &covariance)
    if Self.surprise(m, projections, x, min(variance, Self.jumpNoise)) > Self.jumpSize,
      Self.surprise(m, projections, x, variance) > Self.jumpSignificance
    {
      admitIron(&covariance, z)
      projections = Self.project(m, &covariance)
    }
    let isOpen = isSettled && max(covariance[0, 0], covariance[1, 1]) > squared(3 * Double.pi / 180)
    covariance.update(&x, m, projections, considered: !isOpen)
    evidence.observe(
      measured + attitude * hardIron, attitude: attitude, isStill: isStill, turnVariance: block.turnVariance,
      interval: interval)
    witness.observe(
      measured + attitude * hardIron, attitude: attitude, isStill: isStill, turnVariance: block.turnVariance,
      interval: interval)
  }

  @inline(__always)
  private static func project(_ m: InlineArray<3, Measurement>, _ covariance: inout Covariance)
    -> InlineArray<3, StateVector>
  {
    [
      covariance.project(m[0].h, [0, 1, 12, 15, 18, 19, 20, 21], count: 8),
      covariance.project(m[1].h, [0, 1, 13, 16, 18, 19, 20, 21], count: 8),
      covariance.project(m[2].h, [0, 1, 14, 17, 18, 19, 20, 21], count: 8),
    ]
  }

  /// Squared innovations in units of their variances, summed over the three components.
  @inline(__always)
  private static func surprise(
    _ m: InlineArray<3, Measurement>, _ projections: InlineArray<3, StateVector>, _ x: StateVector,
    _ variance: Double
  ) -> Double {
    var sum = 0.0
    for i in 0..<3 {
      let innovation = m[i].z - x.dot(m[i].h)
      sum += innovation * innovation / max(projections[i].dot(m[i].h) + variance, 1e-12)
    }
    return sum
  }

  /// A field that jumps is a magnet that came or went, on the device or beside it: both become possible, and the next
  /// rotations tell which it is.
  private mutating func admitIron(_ covariance: inout Covariance, _ z: Vector3) {
    sinceJump = 0
    soft.forget()
    evidence.forgetIron()
    witness.forgetIron()
    weighEvidence()
    let square = z.dot(z)
    covariance.addVariance(min(square, 100), to: Self.ironStates)
    covariance.addVariance(min(square, 10), to: Self.disturbanceStates)
    discardCalibration()
  }

  /// The intra-block part of the delay's effect, free of everything that is constant during a block.
  @inline(__always)
  private mutating func measureLag(
    _ x: inout StateVector, _ covariance: inout Covariance, _ block: FilterBlock,
    _ p: AttitudeFilter.Parameters
  ) {
    let count = Double(block.fieldCount)
    guard block.fieldCount > 3 else { return }
    let square = block.lagSlopeSquare - block.lagSlope.dot(block.lagSlope) / count
    guard square > 1 else { return }
    let product = block.lagProduct - block.lagSlope.dot(block.lagResidual) / count
    var m = InlineArray<1, Measurement>(repeating: Measurement())
    m[0].h[ErrorState.lag] = 1
    m[0].z = product / square
    m[0].variance = squared(p.magnetometerNoise) / square
    // An outlier counts as one of three deviations.
    let innovation = m[0].z - x[ErrorState.lag]
    let expected = covariance[ErrorState.lag, ErrorState.lag] + m[0].variance
    if innovation * innovation > 9 * expected {
      m[0].variance = innovation * innovation / 9 - covariance[ErrorState.lag, ErrorState.lag]
    }
    covariance.update(&x, m, [covariance.row(ErrorState.lag)])
  }

  /// A disturbance that stays larger than disturbances are may be hard iron: that of a magnet which has just come, or
  /// one that was there from the start and that the mean field has hidden so far. It is iron only where rotations have shown
  /// it: an uneven room makes disturbances as large.
  private mutating func measureDisturbance(
    _ covariance: inout Covariance, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let usual = squared(p.disturbanceDeviation)
    sinceJump += interval
    disturbancePower += (1 - exp(-interval / 0.5)) * (disturbance.dot(disturbance) / 3 - disturbancePower)
    isDisturbed = disturbancePower > 0.7 * usual
    guard disturbancePower > p.ironThreshold * usual, witness.contradicts(hardIron) else { return }
    adoptEvidence(&covariance)
  }

  /// Takes field and hard iron over from the evidence, with their covariance. To open both for correction instead would let the
  /// mean field, which is a heading, follow before the rotations that tell them apart.
  private mutating func adoptEvidence(_ covariance: inout Covariance) {
    (mean, hardIron) = (witness.field, witness.iron)
    covariance.reset(Self.fieldStates, variance: 0)
    covariance.reset(Self.ironStates, variance: 0)
    for i in 0..<6 {
      for j in 0..<6 {
        covariance[Self.fieldOrIron(i), Self.fieldOrIron(j)] = witness.covariance(i, j)
      }
    }
    disturbancePower = 0
    if evidence.contradicts(hardIron) {
      evidence.forgetIron()
      weighEvidence()
    }
    if expectsIron { (expectsIron, isContradicted) = (false, true) }
  }

  /// The index of one of the evidence's states among the filter's.
  private static func fieldOrIron(_ i: Int) -> Int {
    i < 3 ? ErrorState.field + i : ErrorState.hardIron + i - 3
  }

  /// The magnetometer contradicted what was kept.
  private mutating func discardCalibration() {
    guard expectsIron else { return }
    (expectsIron, isContradicted) = (false, true)
    evidence.forgetIron()
    witness.forgetIron()
    weighEvidence()
  }

  /// Moves the estimates by the error that was found.
  @inline(__always)
  mutating func correct(_ x: StateVector) {
    mean += x.vector(at: ErrorState.field)
    disturbance += x.vector(at: ErrorState.disturbance)
    hardIron += x.vector(at: ErrorState.hardIron)
    lag = max(-0.02, min(0.08, lag + x[ErrorState.lag]))
  }

  /// The block is over: what is expected in the next.
  @inline(__always)
  mutating func endBlock(level: Quaternion) {
    expected = level.conjugate.rotate(mean + disturbance)
    guard isKnown else { return }
    pointNorth()
    weighEvidence()
  }

  // MARK: What is known

  /// Heading from the mean field.
  @inline(__always)
  private mutating func pointNorth() {
    let half = 0.5 * atan2(mean.x, mean.y)
    north = Quaternion(w: cos(half), x: 0, y: 0, z: sin(half))
  }

  /// Brings up to date what is claimed of the field.
  private mutating func weighEvidence() {
    headingBound = evidence.headingBound(of: mean)
    accuracy = MagneticFieldCalibrationAccuracy(headingBound: headingBound)
  }

  /// rad, one deviation; half a turn where the field is vertical.
  func headingDeviation(_ covariance: Covariance, _ p: AttitudeFilter.Parameters) -> Double {
    let square = mean.x * mean.x + mean.y * mean.y
    guard square > 1e-6 else { return .pi }
    let i = ErrorState.field
    let variance =
      mean.y * mean.y * covariance[i, i] - 2 * mean.x * mean.y * covariance[i, i + 1]
      + mean.x * mean.x * covariance[i + 1, i + 1]
    return min(
      .pi, (max(0, variance) / square + squared(p.surroundingsDeviation)).squareRoot() / square.squareRoot())
  }

  var isFinite: Bool { mean.isFinite && disturbance.isFinite && hardIron.isFinite && lag.isFinite }

  /// Puts what was observed into `kept`, and takes out what was contradicted.
  ///
  /// - Parameter isSettled: whether the attitude has been known for long enough.
  func update(_ kept: inout MotionCalibration, isSettled: Bool, _ covariance: Covariance) {
    if isContradicted { kept.magnetometer = nil }
    let deviation = covariance.deviations(ErrorState.hardIron)
    if isKnown, isSettled, deviation.max() < 2, accuracy >= .medium {
      let seen = evidence.ironDeviation
      var magnetometer = MotionCalibration.Magnetometer(
        hardIron: hardIron,
        hardIronDeviation: Vector3(
          max(seen.x, deviation.x), max(seen.y, deviation.y), max(seen.z, deviation.z)))
      if soft.isApplied {
        magnetometer.softIronDiagonal = soft.diagonal
        magnetometer.softIronOffDiagonal = soft.offDiagonal
      }
      kept.magnetometer = magnetometer
    }
    if covariance.deviation(ErrorState.lag) < 0.003 { kept.magnetometerLag = lag }
  }
}
