internal import Glibc
internal import Spatial

/// Estimates the device's own magnetism from its rotations, without assuming that it is small.
///
/// The main filter assumes a calibrated device (`hardIronPrior`), so its covariance does not show the
/// possible heading error before the device was rotated. This second, slow estimate of the same field and
/// hard iron uses a wide prior: `measured = field + attitude * iron + disturbance`, a Kalman filter of six
/// states. At rest only the sum of field and iron is observable, so the field remains as uncertain as the
/// iron. A vehicle that turns about the vertical observes the horizontal part, which determines the heading.
/// Residuals enter as a mean square, so that soft iron and an uneven field are included.
struct FieldEvidence: Sendable {
  /// Field in µT, level frame.
  private(set) var field = Vector3.zero
  /// Hard iron in µT, device frame.
  private(set) var iron = Vector3.zero
  /// Covariance of field and iron in µT², by rows.
  private var covariance: InlineArray<36, Double>
  /// Mean square residual per axis in µT².
  private var residue: Double
  /// Mean square residual per axis of the last seconds, in µT². If it is far above `residue`, the iron has
  /// changed.
  private var recentResidue = 0.0
  /// Time in s since the last sample used.
  private var elapsed = 1e3
  /// Variance in rad² of unobserved rotation since the last sample used.
  private var blindVariance = 0.0
  /// Interval in s between samples at rest. Nil uses the same interval as in motion, and retains old
  /// observations even if `recentResidue` is large.
  private let restSpacing: Double?
  private var spacingAtRest: Double { restSpacing ?? Self.spacing }
  /// Number of samples since the field was last unknown.
  private var count = 0

  /// Interval in s between samples used in motion. Disturbances keep their sign for about a second, so more
  /// samples add little.
  private static let spacing = 0.4
  /// Interval in s between samples used at rest, where a disturbance keeps its sign for a minute. With a
  /// shorter interval, the sum of field and iron would count as exact, and the first rotation would attribute
  /// the disturbance to iron.
  static let spacingAtRest = 24.0
  /// Factor by which a sample's variance is raised, because the disturbances of successive samples are
  /// correlated.
  private static let correlation = 5.0
  /// Standard deviation per axis in µT of the hard iron of an uncalibrated device.
  private static let ironPrior = 30.0
  /// Standard deviation in µT of the field before the first sample.
  private static let fieldPrior = 100.0
  /// Random walk of the field in the level frame in µT²/s: 0.2 °/√s of drift about the vertical.
  private static let fieldWalk = 0.005
  /// Random walk of the iron in µT²/s; iron is nearly constant.
  private static let ironWalk = 1e-4
  /// Number of standard deviations between the iron in use and this estimate from which the iron in use is
  /// contradicted. On recordings with and without moving magnets, all values from 5 to 8 give equal results.
  private static let contradiction = 6.0
  /// `recentGain` is the weight of a new sample in `recentResidue`. It was determined with magnets of 3 to
  /// 30 µT added to recordings of twelve kinds of motion. If `recentResidue` exceeds `staleness` times
  /// `residue`, the device's iron has changed. On the twelve recordings, all values from 1.5 to 2.5 give equal
  /// results. With 5, a magnet of 6 µT that was taken away went unnoticed (1.88° instead of 1.05°).
  private static let recentGain = 0.25
  private static let staleness = 2.0

  /// - Parameters:
  ///   - disturbance: usual spatial deviation of the field in µT.
  ///   - restSpacing: interval in s between samples at rest, to test iron in use; nil to estimate the
  ///     heading's bound.
  init(disturbance: Double, restSpacing: Double? = nil) {
    self.restSpacing = restSpacing
    covariance = InlineArray(repeating: 0)
    residue = disturbance * disturbance
    for i in 0..<3 {
      covariance[7 * i] = Self.fieldPrior * Self.fieldPrior
      covariance[7 * (i + 3)] = Self.ironPrior * Self.ironPrior
    }
  }

  /// Starts from stored iron, which may have changed slightly over a restart.
  mutating func use(iron kept: Vector3, deviation: Vector3) {
    iron = kept
    for i in 0..<3 {
      let known = max(1, min(deviation[i], Self.ironPrior))
      forget(i + 3, variance: known * known)
    }
  }

  /// Resets the field after the level frame has a new direction.
  mutating func forgetField() {
    for i in 0..<3 { forget(i, variance: Self.fieldPrior * Self.fieldPrior) }
    count = 0
  }

  /// Resets the iron after a magnet was possibly added or removed.
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

  /// Processes a block's mean measured field (µT, level frame, with hard iron) and mean attitude.
  ///
  /// - Parameter turnVariance: variance in rad² of unobserved rotation since the last block.
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

  /// Updates the estimate with one component: `z = field[i] + row · iron`.
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

  /// Processes the field in µT, level frame, that was determined before the iron changed, with its covariance in µT².
  mutating func use(field known: Vector3, covariance variance: Matrix3) {
    let p = covariance
    func block(_ row: Int) -> Matrix3 {
      Matrix3(
        Vector3(p[6 * row], p[6 * row + 6], p[6 * row + 12]),
        Vector3(p[6 * row + 1], p[6 * row + 7], p[6 * row + 13]),
        Vector3(p[6 * row + 2], p[6 * row + 8], p[6 * row + 14]))
    }
    var sum = block(0)
    sum += variance
    guard let inverse = sum.inverse else { return }
    let (fieldGain, ironGain) = (block(0) * inverse, block(3) * inverse)
    let difference = known - field
    field += fieldGain * difference
    iron += ironGain * difference
    for i in 0..<6 {
      let gain = i < 3 ? fieldGain.row(i) : ironGain.row(i - 3)
      for j in 0..<6 { covariance[6 * i + j] -= gain.dot(Vector3(p[j], p[6 + j], p[12 + j])) }
    }
  }

  /// Returns a bound in rad of the angle between `used`, the horizontal field behind a heading, and the
  /// Earth's field. It is the sum of the angle to this estimate, two standard deviations and the residuals. π
  /// if nothing was observed.
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

  /// Returns whether `used` cannot be this device's hard iron.
  func contradicts(_ used: Vector3) -> Bool {
    let matrix = Matrix3(
      Vector3(covariance[21], covariance[27], covariance[33]),
      Vector3(covariance[22], covariance[28], covariance[34]),
      Vector3(covariance[23], covariance[29], covariance[35]))
    guard count > 3, let inverse = matrix.inverse else { return false }
    let difference = iron - used
    return difference.dot(inverse * difference) > Self.contradiction * Self.contradiction
  }

  /// Returns an element of the covariance in µT²; the states are field, then iron.
  func covariance(_ i: Int, _ j: Int) -> Double { covariance[6 * i + j] }

  /// Standard deviation per axis of the iron in µT.
  var ironDeviation: Vector3 {
    Vector3(
      max(0, covariance[21]).squareRoot(), max(0, covariance[28]).squareRoot(),
      max(0, covariance[35]).squareRoot())
  }
}
