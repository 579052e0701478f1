internal import Glibc
internal import Spatial

/// Finding the attitude at the start, in motion if need be, and when it was lost.
extension AttitudeFilter {
  /// The attitude is unknown, everything else is kept.
  mutating func realign() {
    counters.realignments += 1
    alignment.startLeveling()
    flags.isAligning = true
    snapVariance = 0
    meanForce = Vector3(0, 0, Self.gravity)
  }

  /// The estimates make no sense: starts from nothing.
  mutating func restart() {
    counters.realignments += 1
    covariance = Covariance()
    (gyroscopeBias, scale, hardIron, field, velocity, position) = (.zero, .zero, .zero, .zero, .zero, .zero)
    (strapdown, level, north, lag) = (.identity, .identity, .identity, 0)
    (accelerationVariance, verticalExcess, disturbancePower, snapVariance) = (0.25, 0, 0, 0)
    (isLeveled, hasField, lastRate) = (false, false, .zero)
    history = AttitudeHistory()
    gaps = GapModel()
    soft = SoftIron()
    evidence = FieldEvidence(disturbance: parameters.disturbanceDeviation)
    alignment.startLeveling()
    flags.isAligning = true
    (quaternion6D, quaternion9D) = (.identity, nil)
    startEstimates()
  }

  /// Averages the specific force in the almost inertial frame until the mean is surely gravity.
  mutating func continueLeveling(_ interval: Double) {
    if block.forceCount > 0 {
      let count = Double(block.forceCount)
      let square = block.force.squares.sum() / Double(max(1, block.force.count))
      alignment.add(block.forceSum / count, square: square, interval: interval)
      if let up = Quaternion.shortest(from: level.rotate(alignment.mean), to: Vector3(0, 0, 1)) {
        level = (up * level).normalized
        field = up.rotate(field)
      }
      let variance = alignment.variance
      // Accelerations keep their direction for some 0.3 s.
      let tilt =
        (variance * 0.3 / alignment.duration).squareRoot() / Self.gravity + 0.3 * Double.pi / 180
      let isSteady = alignment.duration > 0.3 || variance < 0.05
      if (tilt < 4 * Double.pi / 180 && isSteady) || alignment.duration > 3 {
        finishLeveling(tilt: tilt, variance: variance)
      }
    }
    if block.fieldCount > 0 { field = level.rotate(block.fieldSum / Double(block.fieldCount)) }
  }

  private mutating func finishLeveling(tilt: Double, variance: Double) {
    alignment.finish()
    flags.isAligning = false
    sinceAlignment = 0
    accelerationVariance = max(Self.square(parameters.accelerationFloor), variance)
    verticalExcess = 0
    covariance.reset(0..<2, variance: 2 * tilt * tilt)
    forgetField()
    forgetMotion()
  }

  /// After `snap`: the angle about the field which brings the mean specific force closest to the vertical.
  mutating func continueSearch(_ interval: Double) {
    guard block.forceCount > 0, let axis = expectedField.normalized else { return }
    let force = block.forceSum / Double(block.forceCount)
    alignment.add(force, square: force.dot(force), interval: interval)
    let mean = alignment.mean
    let up = level.conjugate.rotate(Vector3(0, 0, 1))
    let across = mean - mean.dot(axis) * axis
    let upAcross = up - up.dot(axis) * axis
    let half = 0.5 * atan2(axis.dot(across.cross(upAcross)), across.dot(upAcross))
    let s = sin(half)
    let turn = Quaternion(w: cos(half), x: s * axis.x, y: s * axis.y, z: s * axis.z)
    turnInertialFrame(by: turn)
    alignment.turn(by: turn)
    block.fieldSum = turn.rotate(block.fieldSum)
    block.lagSlope = turn.rotate(block.lagSlope)
    block.fieldAttitude = Matrix3(turn) * block.fieldAttitude
    let variance = max(alignment.variance, accelerationVariance)
    let deviation =
      (variance / (alignment.duration / 0.1 + 0.2)).squareRoot() / (Self.gravity * upAcross.length + 0.1)
    if deviation < 12 * Double.pi / 180 || alignment.duration > 2 {
      finishSearch(about: level.rotate(axis), deviation: deviation)
    }
  }

  private mutating func finishSearch(about axis: Vector3, deviation: Double) {
    alignment.finish()
    covariance.reset(0..<2, variance: 0)
    addAttitudeNoise(Matrix3.outer(axis, scale: deviation * deviation))
    addAttitudeNoise(Matrix3.diagonal(Self.square(3 * Double.pi / 180)))
    forgetMotion()
  }

  /// Gravity that for seconds points far from the vertical: the filter is lost, and knows it.
  mutating func watch(_ frame: Matrix3, _ interval: Double) {
    guard alignment.phase == .done, block.forceCount > 0 else { return }
    let force = frame * (block.forceSum / Double(block.forceCount))
    meanForce += (1 - exp(-interval / 3)) * (force - meanForce)
    let length = meanForce.length
    guard length > 4, meanForce.z < 0.2 * length, sinceSaturation > 6 else { return }
    realign()
  }
}
