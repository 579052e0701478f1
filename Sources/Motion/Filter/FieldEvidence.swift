internal import Glibc
internal import Spatial

/// What the device's rotations have shown of its own magnetism, without the assumption that there is hardly any.
///
/// The filter begins with a device that counts as calibrated (`hardIronPrior`), so its covariance cannot say how far the
/// heading may be off before the device was turned. This is a second, slow estimate of the same field and hard iron
/// from a wide prior: `measured = field + attitude * iron + disturbance`, a Kalman filter of six states. A device at
/// rest learns only the sum of the two, and the field stays as uncertain as the iron; a vehicle that turns about the
/// vertical alone learns the horizontal part, which is what the heading needs. What is left over is kept as a mean
/// square, so that soft iron and an uneven field count too.
struct FieldEvidence: Sendable {
  /// µT, level frame.
  private(set) var field = Vector3.zero
  /// µT, device frame.
  private(set) var iron = Vector3.zero
  /// Of field and iron, µT², by rows.
  private var covariance: InlineArray<36, Double>
  /// Mean square of what the estimate leaves over per axis, µT².
  private var residue: Double
  /// The same of the last seconds, before it counts: far above `residue`, the iron is another.
  private var recentResidue = 0.0
  /// s since the last sample that was taken.
  private var elapsed = 1e3
  /// rad², by which the attitude may have turned unseen since then.
  private var blindVariance = 0.0
  /// s between samples at rest; nil as in motion, and what is stale is kept.
  private let restSpacing: Double?
  private var spacingAtRest: Double { restSpacing ?? Self.spacing }
  /// Samples taken since the field was last unknown.
  private var count = 0

  /// s between samples that are taken: disturbances keep their sign for about a second, so more would tell little.
  private static let spacing = 0.4
  /// The same at rest, where a disturbance keeps its sign for a minute in place of a second: taken more often, the sum of field and
  /// iron would count as exact, and the first rotation would make iron of its disturbance.
  static let spacingAtRest = 24.0
  /// By how much the variance of a sample must be raised for that correlation.
  private static let correlation = 5.0
  /// µT; the hard iron of a device that nobody has calibrated, one deviation per axis.
  private static let ironPrior = 30.0
  /// µT; the field before the first sample.
  private static let fieldPrior = 100.0
  /// µT²/s, by which the field in the level frame may change: 0.2 °/√s of drift about the vertical.
  private static let fieldWalk = 0.005
  /// µT²/s; iron is all but constant.
  private static let ironWalk = 1e-4
  /// Deviations from which iron in use is contradicted. On recordings with magnets that come and go, and without any, all values
  /// from 5 to 8 do equally well.
  private static let contradiction = 6.0
  /// Share of a new sample in the residue of the last seconds, and multiple of `residue` from which the iron is another. Found on
  /// magnets of 3 to 30 µT that were added to recordings of twelve kinds of motion.
  private static let recentGain = 0.25
  private static let staleness = 5.0

  /// - Parameters:
  ///   - disturbance: µT, usual deviation of the field from place to place.
  ///   - restSpacing: s between samples at rest, for a witness against iron in use; nil for what is claimed of the heading.
  init(disturbance: Double, restSpacing: Double? = nil) {
    self.restSpacing = restSpacing
    covariance = InlineArray(repeating: 0)
    residue = disturbance * disturbance
    for i in 0..<3 {
      covariance[7 * i] = Self.fieldPrior * Self.fieldPrior
      covariance[7 * (i + 3)] = Self.ironPrior * Self.ironPrior
    }
  }

  /// Starts from kept iron, which a restart may have changed a little.
  mutating func use(iron kept: Vector3, deviation: Vector3) {
    iron = kept
    for i in 0..<3 {
      let known = max(1, min(deviation[i], Self.ironPrior))
      forget(i + 3, variance: known * known)
    }
  }

  /// The level frame has a new direction.
  mutating func forgetField() {
    for i in 0..<3 { forget(i, variance: Self.fieldPrior * Self.fieldPrior) }
    count = 0
  }

  /// A magnet may have come or gone.
  mutating func forgetIron() {
    for i in 0..<3 { forget(i + 3, variance: Self.ironPrior * Self.ironPrior) }
    forgetField()
  }

  private mutating func forget(_ i: Int, variance: Double) {
    for j in 0..<6 {
      covariance[6 * i + j] = 0
      covariance[6 * j + i] = 0
    }
    covariance[7 * i] = variance
  }

  /// Takes the mean field of a block as it was measured, µT, level frame, hard iron included, and the mean attitude.
  ///
  /// - Parameter turnVariance: of the attitude since the last block, rad², where the gyroscope was blind.
  mutating func observe(
    _ measured: Vector3, attitude: Matrix3, isStill: Bool, turnVariance: Double, interval: Double
  ) {
    elapsed += interval
    blindVariance += turnVariance
    guard elapsed >= (isStill ? spacingAtRest : Self.spacing) else { return }
    let time = min(elapsed, 10)
    elapsed = 0
    let blind = blindVariance * field.dot(field)
    blindVariance = 0
    for i in 0..<3 {
      covariance[7 * i] += Self.fieldWalk * time + blind
      covariance[7 * (i + 3)] += Self.ironWalk * time
    }
    for i in 0..<3 { learn(i, attitude.row(i), measured[i]) }
    let left = measured - field - attitude * iron
    let square = left.dot(left) / 3
    recentResidue += Self.recentGain * (square - recentResidue)
    if restSpacing != nil, count > 10, recentResidue > Self.staleness * max(residue, 1) {
      forgetIron()
      recentResidue = 0
      return
    }
    residue += 0.05 * (min(square, 100) - residue)
    count += 1
  }

  /// One component: `z = field[i] + row · iron`.
  private mutating func learn(_ i: Int, _ row: Vector3, _ z: Double) {
    var p = InlineArray<6, Double>(repeating: 0)
    for j in 0..<6 {
      p[j] =
        covariance[6 * j + i] + covariance[6 * j + 3] * row.x + covariance[6 * j + 4] * row.y
        + covariance[6 * j + 5] * row.z
    }
    let variance = Self.correlation * max(residue, 0.1)
    let total = p[i] + p[3] * row.x + p[4] * row.y + p[5] * row.z + variance
    guard total > 0 else { return }
    let gain = (z - field[i] - row.dot(iron)) / total
    for k in 0..<3 {
      field[k] += gain * p[k]
      iron[k] += gain * p[k + 3]
    }
    for j in 0..<6 {
      for k in 0..<6 { covariance[6 * j + k] -= p[j] * p[k] / total }
    }
  }

  /// rad, within which the direction of `used`, the horizontal field that a heading is taken from, agrees with the
  /// earth's: its distance from this estimate, two deviations, and what is left over. Half a turn when nothing is known.
  func headingBound(of used: Vector3) -> Double {
    let square = used.x * used.x + used.y * used.y
    guard count > 3, square > 1 else { return .pi }
    let across =
      used.y * used.y * covariance[0] - 2 * used.x * used.y * covariance[1] + used.x * used.x * covariance[7]
    let deviation = max(0, across).squareRoot() / square
    let off = abs(atan2(used.x * field.y - used.y * field.x, used.x * field.x + used.y * field.y))
    let bound = off + 2 * deviation + (residue / square).squareRoot()
    return bound < .pi ? bound : .pi
  }

  /// Whether `used` cannot be the hard iron of this device.
  func contradicts(_ used: Vector3) -> Bool {
    let matrix = Matrix3(
      Vector3(covariance[21], covariance[27], covariance[33]),
      Vector3(covariance[22], covariance[28], covariance[34]),
      Vector3(covariance[23], covariance[29], covariance[35]))
    guard count > 3, let inverse = matrix.inverse else { return false }
    let difference = iron - used
    return difference.dot(inverse * difference) > Self.contradiction * Self.contradiction
  }

  /// µT², of two of the six states: field, then iron.
  func covariance(_ i: Int, _ j: Int) -> Double { covariance[6 * i + j] }

  /// µT, one deviation per axis of the iron.
  var ironDeviation: Vector3 {
    Vector3(
      max(0, covariance[21]).squareRoot(), max(0, covariance[28]).squareRoot(),
      max(0, covariance[35]).squareRoot())
  }
}
