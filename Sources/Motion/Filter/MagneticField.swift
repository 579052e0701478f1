internal import Glibc
internal import Spatial
internal import VehicleData

/// Model of the magnetic field: the Earth's field, its local disturbance, the device's hard and soft iron,
/// and the magnetometer's delay.
struct MagneticField: Sendable {
  /// Mean field in µT, level frame.
  private(set) var mean = Vector3.zero
  /// Expected local field in µT, almost inertial frame.
  private(set) var expected = Vector3.zero
  /// Hard iron in µT, device frame.
  private(set) var hardIron = Vector3.zero
  /// Delay of the magnetometer relative to the gyroscope in s.
  private(set) var lag = 0.0
  /// Rotation from the level frame to east, north, up about the vertical.
  private(set) var north = Quaternion.identity
  /// True after the first field sample.
  private(set) var isKnown = false
  /// True if the field differs from the mean by more than usual.
  private(set) var isDisturbed = false
  /// True if stored iron was contradicted.
  private(set) var isContradicted = false
  private(set) var soft = SoftIron()
  /// Bound in rad of the error of the mean field's direction.
  private(set) var headingBound = Double.pi
  private(set) var accuracy = MagneticFieldCalibrationAccuracy.uncalibrated

  private var disturbance = Vector3.zero
  /// Low-passed mean square of the disturbance in µT².
  private var disturbancePower = 0.0
  private var watch = FieldWatch()
  /// Field and iron before the evidence was adopted; nil if they were not proven.
  private var former: FormerField?
  /// The device's own magnetism as determined from rotations.
  private var evidence: FieldEvidence
  /// A second estimate that tests the hard iron in use. During a long rest it uses fewer samples than
  /// `evidence`.
  private var witness: FieldEvidence
  /// True while stored hard iron is in use and not contradicted.
  private var expectsIron = false

  private static let fieldStates = ErrorState.field..<ErrorState.field + 3
  private static let disturbanceStates = ErrorState.disturbance..<ErrorState.disturbance + 3
  private static let ironStates = ErrorState.hardIron..<ErrorState.hardIron + 3
  private static let lagState = ErrorState.lag..<ErrorState.lag + 1

  /// Limits of the squared innovations of a block, normalized by their variances and summed over the axes.
  /// Above both limits, the field has jumped.
  ///
  /// `jumpSize` refers to the spatial variation of the field, plus the noise `jumpNoise` (µT²). This noise
  /// does not depend on the magnetometer's rate, so that slow magnetometers detect the same magnets.
  /// `jumpSignificance` refers to all uncertainties: 25 for three axes occurs by chance in one block in
  /// 60,000.
  ///
  /// Determined on twelve recordings with magnets of 3 to 30 µT at 20, 48, 95 and 286 Hz. All values of
  /// `jumpSize` from 40 to 60, `jumpNoise` from 0.04 to 0.1 and `jumpSignificance` from 12 to 35 give equal
  /// results.
  private static let jumpSize = 60.0
  private static let jumpNoise = 0.1
  private static let jumpSignificance = 25.0

  /// Rate in rad/s from which a steady rate is a turn.
  private static let leastTurn = 0.05
  /// Standard deviation of the witness' horizontal field in µT from which its iron is separated from the
  /// field. On twelve recordings, smaller values reject more temporary magnets (1.0: 1.97° instead of 2.09°)
  /// and find iron later (3.5° instead of 3.2°); 1.5 does the opposite (2.27°, 3.06°).
  private static let separation = 1.2

  init(_ p: AttitudeFilter.Parameters) {
    evidence = FieldEvidence(disturbance: p.disturbanceDeviation)
    witness = FieldEvidence(
      disturbance: p.disturbanceDeviation, restSpacing: FieldEvidence.spacingAtRest)
  }

  /// Corrects a sample for hard and soft iron, in µT, device frame.
  @inline(__always)
  func corrected(_ field: Vector3) -> Vector3 { soft.corrected(field - hardIron) }

  // MARK: Start

  /// Resets the covariance of field, hard iron and delay to its value before the first sample.
  mutating func start(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.ironStates, variance: squared(p.hardIronPrior))
    covariance.reset(Self.lagState, variance: squared(p.lagPrior))
    forget(&covariance, p)
  }

  /// Resets the estimates of the field.
  mutating func forget(_ covariance: inout Covariance, _ p: AttitudeFilter.Parameters) {
    covariance.reset(Self.fieldStates, variance: squared(100))
    covariance.reset(Self.disturbanceStates, variance: squared(p.disturbanceDeviation))
    (disturbance, former) = (.zero, nil)
    watch.loseAttitude()
    evidence.forgetField()
    witness.forgetField()
    weighEvidence()
  }

  /// Resets the estimated values. The flags for a calibration in use and for a contradicted calibration are
  /// retained.
  mutating func restart(_ p: AttitudeFilter.Parameters) {
    (mean, hardIron, north, lag, disturbancePower, isKnown) = (.zero, .zero, .identity, 0, 0, false)
    (soft, watch, former) = (SoftIron(), FieldWatch(), nil)
    evidence = FieldEvidence(disturbance: p.disturbanceDeviation)
    witness = FieldEvidence(
      disturbance: p.disturbanceDeviation, restSpacing: FieldEvidence.spacingAtRest)
  }

  /// Starts from a stored calibration. Its deviations are raised to at least those that a change since it was
  /// stored may cause.
  mutating func use(
    _ calibration: MotionCalibration, _ covariance: inout Covariance, _ p: AttitudeFilter.Parameters
  ) {
    if let kept = calibration.magnetometer, kept.hardIron.isFinite, kept.hardIron.length < 1e4 {
      expectsIron = true
      hardIron = kept.hardIron
      for i in 0..<3 {
        // The stored deviation is limited: at least that of a start without calibration, at most 2 µT.
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

  /// Sets the first field, almost inertial frame.
  mutating func begin(_ field: Vector3, level: Quaternion) {
    expected = field
    mean = level.rotate(expected)
    isKnown = true
    pointNorth()
  }

  // MARK: Alignment

  /// Rotates the mean field with the level frame.
  mutating func turn(by rotation: Quaternion) { mean = rotation.rotate(mean) }

  /// Replaces the mean field by a measured one, level frame.
  mutating func replace(by field: Vector3) { mean = field }

  /// Observes that all but the attitude's relation to the field was lost.
  mutating func loseAttitude() { watch.loseAttitude() }

  // MARK: Prediction

  /// Predicts the disturbance, which decays as the device moves.
  @inline(__always)
  mutating func relax(
    _ covariance: inout Covariance, isStill: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let time = isStill ? p.disturbanceTimeAtRest : p.disturbanceTime
    let keep = exp(-interval / time)
    disturbance *= keep
    covariance.scale(from: ErrorState.disturbance, by: keep)
    covariance.addVariance(
      watch.disturbanceVariance(squared(p.disturbanceDeviation)) * (1 - keep * keep),
      to: Self.disturbanceStates)
  }

  // MARK: Measurement

  /// Computes the measurement field(level) = mean field + disturbance + tilt x field + attitude * hard iron +
  /// lag * slope.
  ///
  /// - Parameters:
  ///   - frame: rotation from almost inertial to level frame.
  ///   - isSettled: true if the last alignment was more than 3 s ago. If the inclination is then uncertain by
  ///     more than 3°, as after a gap of the gyroscope, the field may correct it.
  @inline(__always)
  mutating func measure(
    _ x: inout StateVector, _ covariance: inout Covariance, _ block: FilterBlock, _ frame: Matrix3,
    isStill: Bool, isSettled: Bool, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let count = Double(block.fieldCount)
    let measured = frame * (block.fieldSum / count)
    let attitude = frame * (block.fieldAttitude * (1 / count))
    let slope = frame * (block.lagSlope / count)
    let variance = squared(p.magnetometerNoise) / count
    // Constant turns are as steady as rest, and show the iron.
    let isTurning = block.turn.dot(block.turn) > squared(Self.leastTurn * interval)
    let wasCalm = watch.excess < FieldWatch.limit
    compare(measured, attitude, &covariance, noise: variance, isStill: isStill && !isTurning, interval, p)
    let here = mean + disturbance
    let z = measured - here
    // Columns of tilt x field for the components of the tilt.
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
    if wasCalm, Self.surprise(m, projections, x, min(variance, Self.jumpNoise)) > Self.jumpSize,
      Self.surprise(m, projections, x, variance) > Self.jumpSignificance
    {
      observeJump(&covariance, z)
      projections = Self.project(m, &covariance)
    }
    let isOpen = isSettled && max(covariance[0, 0], covariance[1, 1]) > squared(3 * Double.pi / 180)
    covariance.update(&x, m, projections, considered: !isOpen)
    evidence.observe(
      measured + attitude * hardIron, attitude: attitude, isStill: isStill, turnVariance: block.turnVariance,
      interval: interval)
    witness.observe(
      measured + attitude * hardIron, attitude: attitude, isStill: isStill && !isTurning,
      turnVariance: block.turnVariance,
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

  /// Returns the squared innovations, normalized by their variances and summed over the three components.
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

  /// Compares a block's field with the mean field, and restores or replaces the mean if they differ.
  @inline(__always)
  private mutating func compare(
    _ measured: Vector3, _ attitude: Matrix3, _ covariance: inout Covariance, noise: Double, isStill: Bool,
    _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    // Four times the variance: after gaps the inclination may be off by two deviations.
    let byTilt = 2 * (covariance[0, 0] + covariance[1, 1]) * mean.dot(mean)
    if let new = watch.observe(
      measured, mean: mean, noise: noise + byTilt, isStill: isStill, interval)
    {
      mean = new.field
      covariance.reset(Self.fieldStates, variance: new.variance)
    }
    guard let before = former,
      former?.applies(to: measured + attitude * (hardIron - before.iron), interval) ?? false,
      watch.excess > FieldWatch.limit
    else { return }
    (mean, hardIron, disturbance, disturbancePower, former) = (before.mean, before.iron, .zero, 0, nil)
    covariance.reset(Self.fieldStates, variance: 0.5)
    covariance.reset(Self.ironStates, variance: squared(p.hardIronPrior))
    watch.adoptMean()
    forgetEvidence()
  }

  /// Handles a jump of the field, caused by a magnet on the device or next to it. The field is not used for
  /// the heading until it returns, or until rotations show that the magnet is on the device.
  private mutating func observeJump(_ covariance: inout Covariance, _ z: Vector3) {
    soft.forget()
    forgetEvidence()
    covariance.addVariance(min(z.dot(z), 100), to: Self.disturbanceStates)
    discardCalibration()
  }

  private mutating func forgetEvidence() {
    evidence.forgetIron()
    witness.forgetIron()
    weighEvidence()
  }

  /// Measures the magnetometer's delay from changes of the field within a block. Errors that are constant
  /// during the block have no effect.
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
    // Outliers are limited to three deviations.
    let innovation = m[0].z - x[ErrorState.lag]
    let expected = covariance[ErrorState.lag, ErrorState.lag] + m[0].variance
    if innovation * innovation > 9 * expected {
      m[0].variance = innovation * innovation / 9 - covariance[ErrorState.lag, ErrorState.lag]
    }
    covariance.update(&x, m, [covariance.row(ErrorState.lag)])
  }

  /// Evaluates a lasting disturbance that may be hard iron, either of a new magnet or of a magnet whose field
  /// was part of the mean field from the start. It counts as iron only if rotations have shown it, because
  /// uneven fields in rooms cause equally large disturbances.
  private mutating func measureDisturbance(
    _ covariance: inout Covariance, _ interval: Double, _ p: AttitudeFilter.Parameters
  ) {
    let usual = squared(p.disturbanceDeviation)
    disturbancePower += (1 - exp(-interval / 0.5)) * (disturbance.dot(disturbance) / 3 - disturbancePower)
    isDisturbed = disturbancePower > 0.7 * usual
    guard disturbancePower > p.ironThreshold * usual, witness.contradicts(hardIron), isSeparated
    else { return }
    adoptEvidence(&covariance)
  }

  /// True if rotations have separated the witness' iron from its field. If mean field and iron were proven
  /// before, the field without the new iron must have the length and inclination of the mean.
  private var isSeparated: Bool {
    guard max(witness.covariance(0, 0), witness.covariance(1, 1)) < squared(Self.separation) else {
      return false
    }
    return !watch.isProven || FieldWatch.agrees(witness, mean)
  }

  /// Adopts field and hard iron of the second estimate `witness` with their covariance. If only the
  /// uncertainties were raised, the mean field, and with it the heading, would change before rotations can
  /// separate field and iron. A proven mean field is combined with the evidence: the gyroscope carried its direction
  /// through the change, so only the iron is new.
  private mutating func adoptEvidence(_ covariance: inout Covariance) {
    if watch.isProven { witness.use(field: mean, covariance: covariance.matrix(ErrorState.field)) }
    former = watch.isProven ? FormerField(mean: mean, iron: hardIron) : nil
    watch.adoptMean()
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

  /// Returns the filter's error state index for a state index of `FieldEvidence`: field 0 ..< 3, iron 3 ..<
  /// 6.
  private static func fieldOrIron(_ i: Int) -> Int {
    i < 3 ? ErrorState.field + i : ErrorState.hardIron + i - 3
  }

  /// Discards the stored calibration after the magnetometer contradicted it.
  private mutating func discardCalibration() {
    guard expectsIron else { return }
    (expectsIron, isContradicted) = (false, true)
    forgetEvidence()
  }

  /// Corrects the estimates by the estimated error.
  @inline(__always)
  mutating func correct(_ x: StateVector) {
    mean += x.vector(at: ErrorState.field)
    disturbance += x.vector(at: ErrorState.disturbance)
    hardIron += x.vector(at: ErrorState.hardIron)
    lag = max(-0.02, min(0.08, lag + x[ErrorState.lag]))
  }

  /// Ends a block and predicts the field of the next.
  @inline(__always)
  mutating func endBlock(level: Quaternion) {
    expected = level.conjugate.rotate(mean + disturbance)
    guard isKnown else { return }
    pointNorth()
    weighEvidence()
    watch.prove(mean, by: evidence, headingBound)
  }

  // MARK: Results

  /// Updates the rotation to north from the mean field.
  @inline(__always)
  private mutating func pointNorth() {
    let half = 0.5 * atan2(mean.x, mean.y)
    north = Quaternion(w: cos(half), x: 0, y: 0, z: sin(half))
  }

  /// Updates bound and accuracy of the heading.
  private mutating func weighEvidence() {
    headingBound = evidence.headingBound(of: mean)
    accuracy = MagneticFieldCalibrationAccuracy(headingBound: headingBound)
  }

  /// Returns the standard deviation of the heading in rad; π if the field is vertical.
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

  /// Adds observed values to `kept` and removes contradicted ones.
  ///
  /// - Parameter isSettled: true if the attitude has been valid for long enough.
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
