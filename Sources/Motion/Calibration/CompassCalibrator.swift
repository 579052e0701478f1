internal import Glibc
internal import Sensors
internal import Spatial
internal import VehicleData

/// Estimates the hard and soft iron of a compass without a gyroscope, from accelerometer and magnetometer.
///
/// The corrected field is `c = (1 + E)(raw - h)`, with hard iron `h` and a symmetric soft iron `E`. In every
/// attitude it has the same magnitude `F` and the same component `D` along gravity, because both are
/// properties of the Earth's field at this location. The condition on the magnitude is the usual ellipsoid
/// fit. If the device turns about one axis alone, that fit leaves errors along the axis undetermined, and it
/// determines soft iron poorly. The condition on the component along gravity adds the missing information.
///
/// The parameters `h`, `E`, `F` and `D` are a maximum a posteriori estimate by Gauss-Newton iterations over
/// up to 96 averaged samples of different attitudes. The residuals give the noise, and the covariance gives
/// the accuracy of a heading. Time comes with the scans.
struct CompassCalibrator: Sendable {
  private struct Sample: Sendable {
    /// Direction of gravity, a unit vector.
    var down: Vector3
    /// Raw magnetic field in µT.
    var field: Vector3
    var time: Timestamp
  }

  /// The estimate after the last fit.
  private var model: Model
  private var prior: Model
  private var samples: [Sample] = []
  /// Sums over the averaging window in progress.
  private var (force, forceCount, field, fieldCount) = (Vector3.zero, 0.0, Vector3.zero, 0.0)
  private var windowStart: Timestamp?
  /// The newest averaged sample.
  private var newest: Sample?
  private var changes = 0
  private var lastFit: Timestamp?
  /// Consecutive windows that contradict the model.
  private var contradictions = 0

  /// Length of an averaging window in s. A hand turns a device by up to 20° in that time, which shortens the
  /// mean vector by half a percent.
  private static let window = 0.15
  /// Difference of the field (µT) or of gravity (rad) from which a sample counts as a new attitude.
  private static let novelty = (field: 4.0, gravity: 10.0.radians)
  private static let capacity = 96
  /// Age in s from which a stored sample is replaced by a newer sample of the same attitude.
  private static let lifetime = 60.0
  /// Relative deviation from standard gravity up to which a force indicates the vertical.
  private static let quietForce = 0.15
  /// Minimum number of new samples, and of seconds, between fits.
  private static let (fitChanges, fitInterval) = (4, 1.0)
  /// Consecutive contradicting windows after which the model is discarded.
  private static let mostContradictions = 30

  /// - Parameter known: calibration of an earlier run; nil to start without one.
  init(_ known: MotionCalibration.Magnetometer? = nil) {
    prior = Model(known)
    model = prior
  }

  /// The estimate, if it corrects a heading to within 20° or better; nil otherwise.
  var calibration: MotionCalibration.Magnetometer? { accuracy == .uncalibrated ? nil : model.calibration }

  /// Corrects a raw field (µT) for hard and soft iron.
  func corrected(_ raw: Vector3) -> Vector3 { model.corrected(raw) }

  /// Standard deviation in rad of a heading in the newest sample's attitude; nil before the first sample.
  var headingDeviation: Double? {
    newest.flatMap { model.headingDeviation(down: $0.down, field: model.corrected($0.field)) }
  }

  /// The accuracy of the least certain of four headings a quarter turn apart.
  var accuracy: MagneticFieldCalibrationAccuracy {
    guard let newest else { return .uncalibrated }
    let field = model.corrected(newest.field)
    var worst = 0.0
    for quarter in 0..<4 {
      let turn = Quaternion(angle: Double(quarter) * .pi / 2, axis: newest.down)
      guard let deviation = model.headingDeviation(down: newest.down, field: turn.rotate(field)) else {
        return .uncalibrated
      }
      worst = max(worst, deviation)
    }
    return MagneticFieldCalibrationAccuracy(headingBound: 1.5 * worst)
  }

  /// Processes a valid scan, in order of time.
  mutating func process(_ scan: InertialScan) {
    let start = windowStart ?? scan.timestamp
    let age = scan.timestamp.seconds(since: start)
    if age >= Self.window || age < 0 { endWindow(at: scan.timestamp) }
    if windowStart == nil { windowStart = scan.timestamp }
    if let force = scan.specificForce { (self.force, forceCount) = (self.force + force, forceCount + 1) }
    if let field = scan.magneticField { (self.field, fieldCount) = (self.field + field, fieldCount + 1) }
  }

  private mutating func endWindow(at now: Timestamp) {
    defer {
      (force, forceCount, field, fieldCount) = (.zero, 0, .zero, 0)
      windowStart = nil
    }
    guard forceCount > 0, fieldCount > 0 else { return }
    let mean = force / forceCount
    guard abs(mean.length / standardGravity - 1) < Self.quietForce, let up = mean.normalized else { return }
    let sample = Sample(down: up * -1, field: field / fieldCount, time: now)
    newest = sample
    watch(sample)
    add(sample)
    let isDue = lastFit.map { abs(now.seconds(since: $0)) >= Self.fitInterval } ?? true
    guard changes >= Self.fitChanges, isDue else { return }
    (changes, lastFit) = (0, now)
    model = Model.fit(samples.map { ($0.down, $0.field) }, prior)
  }

  /// Discards the samples if the device's magnetism has changed.
  private mutating func watch(_ sample: Sample) {
    contradictions = model.contradicts(sample.field, down: sample.down) ? contradictions + 1 : 0
    guard contradictions >= Self.mostContradictions, !samples.isEmpty else { return }
    contradictions = 0
    samples.removeAll(keepingCapacity: true)
    (model, prior) = (Model(nil), Model(nil))
  }

  /// Adds a sample of a new attitude, or replaces an old stored sample of the same attitude.
  private mutating func add(_ sample: Sample) {
    let cosine = cos(Self.novelty.gravity)
    func isSame(_ other: Sample) -> Bool {
      (sample.field - other.field).length < Self.novelty.field && sample.down.dot(other.down) > cosine
    }
    if let index = samples.firstIndex(where: isSame) {
      // A stored sample is replaced only after its lifetime. If every new sample replaced it, a slow turn
      // would drag the stored sample along and no new attitude would be added.
      if abs(sample.time.seconds(since: samples[index].time)) > Self.lifetime { samples[index] = sample }
      return
    }
    if samples.count == Self.capacity,
      let oldest = samples.indices.min(by: { samples[$0].time < samples[$1].time })
    {
      samples.remove(at: oldest)
    }
    samples.append(sample)
    changes += 1
  }
}

/// Parameters of `CompassCalibrator` with their covariance.
private struct Model: Sendable {
  /// The eleven parameters. Hard iron: x, y, z in µT. Soft iron: xx, yy, zz, xy, xz, yz. The Earth's field:
  /// magnitude and component along gravity in µT.
  private var x: [Double]
  private var covariance: [Double]
  /// Noise in µT of the magnitude and of the component along gravity.
  private var (noise, verticalNoise) = (1.0, 1.0)
  /// True if the model was fitted to samples, so that its magnitude is the local field's.
  private var isFitted = false

  private static let count = 11
  /// Standard deviations before any observation: hard iron per axis in µT, and the diagonal and off-diagonal
  /// soft iron elements (relative).
  private static let (unknownIron, unknownDiagonal, unknownOffDiagonal) = (100.0, 0.08, 0.05)
  /// Standard deviations of a restored calibration, whose iron may have changed slightly: hard iron per axis
  /// in µT, and soft iron elements (relative).
  private static let (restoredIron, restoredSoftIron) = (1.0, 0.03)
  /// Magnitude of the Earth's field in µT. On the ground it lies between 22 and 67.
  private static let magnitude = (mean: 45.0, deviation: 20.0)
  private static let vertical = (mean: 0.0, deviation: 50.0)
  /// Ranges in µT to which the noise estimated from residuals is limited: for the magnitude and for the
  /// component along gravity. The second range is higher, because accelerations of the hand distort the
  /// measured direction of gravity.
  private static let (noiseLimits, verticalNoiseLimits) = (0.5...6.0, 1.5...12.0)
  /// Standard deviation in rad of the vertical direction.
  private static let tiltDeviation = 0.4.radians
  /// Inflation of the covariance, because errors of neighbouring samples are correlated.
  private static let inflation = 1.3

  init(_ known: MotionCalibration.Magnetometer?) {
    let iron = known?.hardIron ?? .zero
    let (d, o) = (known?.softIronDiagonal ?? .zero, known?.softIronOffDiagonal ?? .zero)
    x = [iron.x, iron.y, iron.z, d.x, d.y, d.z, o.x, o.y, o.z, Self.magnitude.mean, Self.vertical.mean]
    func ironDeviation(_ value: Double?) -> Double {
      value.map { max(Self.restoredIron, min(Self.unknownIron, $0)) } ?? Self.unknownIron
    }
    let deviation = known?.hardIronDeviation
    let isKnown = known != nil
    var deviations = [deviation?.x, deviation?.y, deviation?.z].map(ironDeviation)
    deviations += Array(repeating: isKnown ? Self.restoredSoftIron : Self.unknownDiagonal, count: 3)
    deviations += Array(repeating: isKnown ? Self.restoredSoftIron : Self.unknownOffDiagonal, count: 3)
    deviations += [Self.magnitude.deviation, Self.vertical.deviation]
    covariance = Array(repeating: 0, count: Self.count * Self.count)
    for index in 0..<Self.count {
      covariance[index * (Self.count + 1)] = deviations[index] * deviations[index]
    }
  }

  private var hardIron: Vector3 { Vector3(x[0], x[1], x[2]) }

  /// Returns `(1 + E) v`.
  private func softened(_ v: Vector3) -> Vector3 {
    Vector3(
      (1 + x[3]) * v.x + x[6] * v.y + x[7] * v.z, x[6] * v.x + (1 + x[4]) * v.y + x[8] * v.z,
      x[7] * v.x + x[8] * v.y + (1 + x[5]) * v.z)
  }

  func corrected(_ raw: Vector3) -> Vector3 { softened(raw - hardIron) }

  var calibration: MotionCalibration.Magnetometer {
    func deviation(_ index: Int) -> Double {
      Self.inflation * covariance[index * (Self.count + 1)].squareRoot()
    }
    var calibration = MotionCalibration.Magnetometer(
      hardIron: hardIron, hardIronDeviation: Vector3(deviation(0), deviation(1), deviation(2)))
    calibration.softIronDiagonal = Vector3(x[3], x[4], x[5])
    calibration.softIronOffDiagonal = Vector3(x[6], x[7], x[8])
    return calibration
  }

  /// Returns whether a field differs from the Earth's by more than noise and local disturbances.
  func contradicts(_ raw: Vector3, down: Vector3) -> Bool {
    guard isFitted else { return false }
    let field = corrected(raw)
    return abs(field.length - x[9]) > 4 * noise + 0.15 * x[9]
      || abs(field.dot(down) - x[10]) > 4 * verticalNoise + 0.15 * x[9]
  }

  /// Returns the gradient, with respect to the parameters, of the corrected field's component along
  /// `direction`, for `u = raw - hardIron`.
  private func gradient(_ direction: Vector3, _ u: Vector3) -> [Double] {
    let iron = softened(direction)
    let n = direction
    return [
      -iron.x, -iron.y, -iron.z, n.x * u.x, n.y * u.y, n.z * u.z, n.x * u.y + n.y * u.x,
      n.x * u.z + n.z * u.x, n.y * u.z + n.z * u.y, 0, 0,
    ]
  }

  /// Returns the standard deviation in rad of the heading from a corrected field; nil if the field is
  /// vertical.
  func headingDeviation(down: Vector3, field: Vector3) -> Double? {
    let vertical = field.dot(down)
    let horizontal = field - vertical * down
    let size = horizontal.length
    guard size > 1 else { return nil }
    // An approximation of the raw field without hard iron, to first order in the soft iron.
    let u = field + field - softened(field)
    let g = gradient(down.cross(horizontal) / (size * size), u)
    var variance = 0.0
    for row in 0..<Self.count {
      for column in 0..<Self.count {
        variance += g[row] * covariance[row * Self.count + column] * g[column]
      }
    }
    let tilt = Self.tiltDeviation * vertical / size
    // If magnitude or dip differ from the model, the direction differs, too.
    let local =
      isFitted
      ? max(abs(field.length - x[9]) - noise, abs(vertical - x[10]) - verticalNoise, 0) / size : 0
    return min(
      .pi / 2, (Self.inflation * Self.inflation * variance + tilt * tilt + local * local).squareRoot())
  }

  // MARK: Fit

  /// Fits the model to samples of gravity's direction and raw field.
  static func fit(_ samples: [(down: Vector3, field: Vector3)], _ prior: Model) -> Model {
    var model = prior
    model.center(samples, prior)
    var (noise, verticalNoise) = (1.0, 4.0)
    for iteration in 0..<12 {
      guard let step = model.step(samples, prior, noise, verticalNoise) else { return prior }
      for index in 0..<count { model.x[index] += step[index] }
      guard model.x.allSatisfy(\.isFinite) else { return prior }
      // The noise can only be estimated near the solution.
      guard iteration > 3 else { continue }
      let free = max(1, Double(samples.count) - 5)
      var (sum, verticalSum) = (0.0, 0.0)
      for (down, field) in samples {
        let c = model.corrected(field)
        sum += (c.length - model.x[9]) * (c.length - model.x[9])
        verticalSum += (c.dot(down) - model.x[10]) * (c.dot(down) - model.x[10])
      }
      noise = min(noiseLimits.upperBound, max(noiseLimits.lowerBound, (sum / free).squareRoot()))
      verticalNoise = min(
        verticalNoiseLimits.upperBound, max(verticalNoiseLimits.lowerBound, (verticalSum / free).squareRoot())
      )
    }
    let (matrix, _) = model.normalEquations(samples, prior, noise, verticalNoise)
    guard let inverse = Self.inverse(matrix) else { return prior }
    (model.covariance, model.noise, model.verticalNoise) = (inverse, noise, verticalNoise)
    model.isFitted = true
    return model
  }

  /// Sets the hard iron to the centre of the sphere through the samples, if it is unknown.
  private mutating func center(_ samples: [(down: Vector3, field: Vector3)], _ prior: Model) {
    guard samples.count >= 4, prior.covariance[0] > 25 else { return }
    let count = Double(samples.count)
    let mean = samples.reduce(Vector3.zero) { $0 + $1.field } / count
    let square = samples.reduce(0) { $0 + ($1.field - mean).dot($1.field - mean) } / count
    var matrix = [Double](repeating: 0, count: 9)
    var right = [0.0, 0, 0]
    for sample in samples {
      let d = sample.field - mean
      let v = [d.x, d.y, d.z]
      for row in 0..<3 {
        for column in 0..<3 { matrix[3 * row + column] += v[row] * v[column] }
        right[row] += 0.5 * v[row] * (d.dot(d) - square)
      }
    }
    // Along an axis without spread, the centre of the samples is used.
    for index in 0..<3 { matrix[4 * index] += 4 * count }
    guard let root = Self.cholesky(matrix, 3) else { return }
    let offset = Self.solve(root, right, 3)
    (x[0], x[1], x[2]) = (mean.x + offset[0], mean.y + offset[1], mean.z + offset[2])
    let vertical = samples.reduce(0) { $0 + corrected($1.field).dot($1.down) } / count
    (x[9], x[10]) = (samples.reduce(0) { $0 + corrected($1.field).length } / count, vertical)
  }

  private func step(
    _ samples: [(down: Vector3, field: Vector3)], _ prior: Model, _ noise: Double, _ verticalNoise: Double
  ) -> [Double]? {
    let (matrix, right) = normalEquations(samples, prior, noise, verticalNoise)
    return Self.cholesky(matrix, Self.count).map { Self.solve($0, right, Self.count) }
  }

  private func normalEquations(
    _ samples: [(down: Vector3, field: Vector3)], _ prior: Model, _ noise: Double, _ verticalNoise: Double
  ) -> (matrix: [Double], right: [Double]) {
    let n = Self.count
    var matrix = [Double](repeating: 0, count: n * n)
    var right = [Double](repeating: 0, count: n)
    for index in 0..<n {
      let weight = 1 / prior.covariance[index * (n + 1)]
      matrix[index * (n + 1)] = weight
      right[index] = weight * (prior.x[index] - x[index])
    }
    func add(_ gradient: [Double], _ residual: Double, _ deviation: Double) {
      // Outliers are down-weighted (P. J. Huber, 1964).
      let size = abs(residual) / deviation
      let weight = min(1, 2.5 / max(size, 1e-9)) / (deviation * deviation)
      for row in 0..<n {
        right[row] -= weight * gradient[row] * residual
        for column in 0..<n { matrix[row * n + column] += weight * gradient[row] * gradient[column] }
      }
    }
    for (down, field) in samples {
      let u = field - hardIron
      let c = softened(u)
      guard let direction = c.normalized else { continue }
      var g = gradient(direction, u)
      g[9] = -1
      add(g, c.length - x[9], noise)
      g = gradient(down, u)
      g[10] = -1
      add(g, c.dot(down) - x[10], verticalNoise)
    }
    return (matrix, right)
  }

  // MARK: Linear algebra

  /// Returns the lower triangle of the Cholesky decomposition; nil if the matrix is not positive definite.
  private static func cholesky(_ matrix: [Double], _ n: Int) -> [Double]? {
    var l = [Double](repeating: 0, count: n * n)
    for row in 0..<n {
      for column in 0...row {
        var sum = matrix[row * n + column]
        for k in 0..<column { sum -= l[row * n + k] * l[column * n + k] }
        if row == column {
          guard sum > 0 else { return nil }
          l[row * n + row] = sum.squareRoot()
        } else {
          l[row * n + column] = sum / l[column * n + column]
        }
      }
    }
    return l
  }

  private static func solve(_ l: [Double], _ right: [Double], _ n: Int) -> [Double] {
    var y = right
    for row in 0..<n {
      for k in 0..<row { y[row] -= l[row * n + k] * y[k] }
      y[row] /= l[row * n + row]
    }
    for row in (0..<n).reversed() {
      for k in (row + 1)..<max(n, row + 1) { y[row] -= l[k * n + row] * y[k] }
      y[row] /= l[row * n + row]
    }
    return y
  }

  private static func inverse(_ matrix: [Double]) -> [Double]? {
    guard let l = cholesky(matrix, count) else { return nil }
    var inverse = [Double](repeating: 0, count: count * count)
    for column in 0..<count {
      var unit = [Double](repeating: 0, count: count)
      unit[column] = 1
      let solution = solve(l, unit, count)
      for row in 0..<count { inverse[row * count + column] = solution[row] }
    }
    return inverse
  }
}
