internal import Glibc
internal import Spatial

/// Soft iron: a symmetric distortion that makes the measured field's magnitude depend on the orientation.
///
/// A recursive least-squares fit of |(1 + E) u|² = constant over the observed orientations, where u is the
/// field without hard iron and E is symmetric (compare V. Renaudin et al., "Complete triaxis magnetometer
/// calibration in the magnetic domain", J. Sensors, 2010). The correction is applied only if it is
/// significant, because an uneven field resembles weak soft iron.
struct SoftIron: Sendable {
  /// State: xx, yy, zz, xy, xz, yz of E, the excess of the squared field, and the residual hard iron in units
  /// of the field.
  private static let size = 10
  private var estimate: InlineArray<10, Double>
  private var covariance: InlineArray<100, Double>
  /// Hard iron in µT that is subtracted. It is not the filter's own estimate, which would shift to compensate
  /// for soft iron.
  private var origin = Vector3.zero
  /// Reference magnitude of the field in µT.
  private var reference = 0.0
  private var lastDirection = Vector3.zero
  private var sinceUse = 0.0
  private(set) var isApplied = false
  private var applied = Matrix3.zero

  init() {
    estimate = InlineArray(repeating: 0)
    covariance = InlineArray(repeating: 0)
    for i in 0..<Self.size { covariance[11 * i] = i == 6 ? 0.5 * 0.5 : 0.1 * 0.1 }
  }

  /// Elements xx, yy, zz of the applied correction.
  var diagonal: Vector3 { Vector3(applied.column0.x, applied.column1.y, applied.column2.z) }
  /// Elements xy, xz, yz of the applied correction.
  var offDiagonal: Vector3 { Vector3(applied.column1.x, applied.column2.x, applied.column2.y) }

  /// Starts from a stored calibration with a deviation of 1 %.
  mutating func use(diagonal: Vector3, offDiagonal: Vector3) {
    for i in 0..<3 {
      estimate[i] = diagonal[i]
      estimate[i + 3] = offDiagonal[i]
    }
    for i in 0..<6 { covariance[11 * i] = 0.01 * 0.01 }
    decide()
  }

  @inline(__always)
  func corrected(_ field: Vector3) -> Vector3 {
    isApplied ? field + applied * field : field
  }

  /// Processes a block's measured field and its hard iron in µT, device frame.
  mutating func observe(
    _ measured: Vector3, hardIron: Vector3, isStill: Bool, interval: Double, disturbance: Double
  ) {
    sinceUse += interval
    if reference == 0 { origin = hardIron }
    let field = measured - origin
    guard !isStill, let direction = field.normalized else { return }
    // Only new orientations add information.
    guard (direction - lastDirection).length > 0.1 else { return }
    if reference == 0 { reference = field.length }
    guard reference > 5 else {
      reference = 0
      return
    }
    let ratio = field.length / reference
    guard ratio > 0.3, ratio < 3 else { return }
    // Disturbances keep their sign for about a second, so a sample soon after the previous one has a larger
    // variance.
    let noise = 2 * disturbance / reference
    let variance = noise * noise * max(1, 1 / max(sinceUse, 0.05))
    lastDirection = direction
    sinceUse = 0
    let u = direction
    // To first order, ln |(1 + E) u| = ln |u| + u E u / |u|².
    let s = -2.0
    let h: InlineArray<10, Double> = [
      s * u.x * u.x, s * u.y * u.y, s * u.z * u.z, 2 * s * u.x * u.y, 2 * s * u.x * u.z, 2 * s * u.y * u.z, 1,
      2 * u.x / ratio, 2 * u.y / ratio, 2 * u.z / ratio,
    ]
    learn(h, 2 * log(ratio), variance)
    recenter()
    decide()
  }

  /// Resets the estimate after a magnet moved. The applied correction may still be valid.
  mutating func forget() {
    let (isApplied, applied) = (isApplied, applied)
    self = SoftIron()
    (self.isApplied, self.applied) = (isApplied, applied)
  }

  /// Moves the estimated residual hard iron into `origin` and restarts the fit. The fit is linear in the
  /// residual, so the residual must stay small.
  private mutating func recenter() {
    let rest = Vector3(estimate[7], estimate[8], estimate[9])
    let deviation = max(covariance[77], covariance[88], covariance[99]).squareRoot()
    guard rest.length > 0.08, rest.length > 4 * deviation else { return }
    let (newOrigin, length) = (origin + reference * rest, reference)
    forget()
    (origin, reference) = (newOrigin, length)
  }

  private mutating func learn(_ h: InlineArray<10, Double>, _ z: Double, _ variance: Double) {
    var p = InlineArray<10, Double>(repeating: 0)
    var total = variance
    var residual = z
    for i in 0..<Self.size {
      var sum = 0.0
      for j in 0..<Self.size { sum += covariance[10 * i + j] * h[j] }
      p[i] = sum
      total += h[i] * sum
      residual -= h[i] * estimate[i]
    }
    // Outliers are limited to three deviations.
    let limit = 3 * total.squareRoot()
    residual = max(-limit, min(limit, residual))
    for i in 0..<Self.size {
      estimate[i] += p[i] / total * residual
      for j in 0..<Self.size { covariance[10 * i + j] -= p[i] * p[j] / total }
    }
  }

  /// Applies the correction if each element has a deviation below 2 % and the largest exceeds six deviations
  /// and 4 %.
  private mutating func decide() {
    // The mean of the diagonal only scales the field's strength, so it is not part of the correction.
    let mean = (estimate[0] + estimate[1] + estimate[2]) / 3
    var greatest = 0.0
    var worst = 0.0
    var significance = 0.0
    for i in 0..<6 {
      let value = abs(estimate[i] - (i < 3 ? mean : 0))
      let deviation = max(0, covariance[11 * i]).squareRoot()
      // The mean of the diagonal is not observable and widens the deviations of the diagonal elements. Only
      // the off-diagonal deviations are therefore compared with the limits.
      if i >= 3 { worst = max(worst, deviation) }
      greatest = max(greatest, value)
    }
    significance = greatest / max(worst, 1e-6)
    let wasApplied = isApplied
    if worst < 0.02, greatest > 0.04, significance > 6 {
      isApplied = true
    } else if greatest < 0.02 || significance < 3 {
      isApplied = false
    }
    guard isApplied || wasApplied else { return }
    applied =
      isApplied
      ? Matrix3(
        Vector3(estimate[0] - mean, estimate[3], estimate[4]),
        Vector3(estimate[3], estimate[1] - mean, estimate[5]),
        Vector3(estimate[4], estimate[5], estimate[2] - mean)) : .zero
  }
}
