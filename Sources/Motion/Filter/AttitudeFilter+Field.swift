internal import Glibc
internal import Spatial

/// What the magnetometer says in a block.
extension AttitudeFilter {
  /// field(level) = mean field + disturbance + tilt x field + attitude * hard iron + lag * slope.
  @inline(__always)
  mutating func measureField(_ x: inout StateVector, _ frame: Matrix3, _ interval: Double) {
    let count = Double(block.fieldCount)
    let measured = frame * (block.fieldSum / count)
    let attitude = frame * (block.fieldAttitude * (1 / count))
    let slope = frame * (block.lagSlope / count)
    let here = field + disturbance
    let z = measured - here
    let variance = Self.square(parameters.magnetometerNoise) / count
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
    measureLag(&x)
    measureDisturbance(interval)
    soft.observe(
      block.lastField, hardIron: hardIron, isStill: rest.isStill, interval: interval,
      disturbance: parameters.disturbanceDeviation
    )
    var projections = project(m)
    if admitIron(surprise(m, projections, x), z) { projections = project(m) }
    // The gyroscope was blind: now the field is the better judge of inclination.
    let isOpen =
      sinceAlignment > 3
      && max(covariance[0, 0], covariance[1, 1]) > Self.square(3 * Double.pi / 180)
    covariance.update(&x, m, projections, considered: !isOpen)
    evidence.observe(measured + attitude * hardIron, attitude: attitude, interval: interval)
  }

  @inline(__always)
  private mutating func project(_ m: InlineArray<3, Measurement>) -> InlineArray<3, StateVector> {
    [
      covariance.project(m[0].h, [0, 1, 12, 15, 18, 19, 20, 21], count: 8),
      covariance.project(m[1].h, [0, 1, 13, 16, 18, 19, 20, 21], count: 8),
      covariance.project(m[2].h, [0, 1, 14, 17, 18, 19, 20, 21], count: 8),
    ]
  }

  /// Squared innovations in units of their variances, summed over the three components.
  @inline(__always)
  private func surprise(
    _ m: InlineArray<3, Measurement>, _ projections: InlineArray<3, StateVector>, _ x: StateVector
  ) -> Double {
    var sum = 0.0
    for i in 0..<3 {
      let innovation = m[i].z - x.dot(m[i].h)
      sum += innovation * innovation / max(projections[i].dot(m[i].h) + m[i].variance, 1e-12)
    }
    return sum
  }

  /// A field that jumps is a magnet that came or went, on the device or beside it: both become possible, and the next
  /// rotations tell which it is. Returns whether the covariance changed.
  private mutating func admitIron(_ surprise: Double, _ z: Vector3) -> Bool {
    guard surprise > 60 else { return false }
    sinceJump = 0
    soft.forget()
    evidence.forgetIron()
    noteEvidence()
    let square = z.dot(z)
    covariance.addVariance(min(square, 100), to: ErrorState.hardIron..<ErrorState.hardIron + 3)
    covariance.addVariance(min(square, 10), to: ErrorState.disturbance..<ErrorState.disturbance + 3)
    discardMagnetometerCalibration()
    return true
  }

  /// The intra-block part of the delay's effect, free of everything that is constant during a block.
  @inline(__always)
  private mutating func measureLag(_ x: inout StateVector) {
    let count = Double(block.fieldCount)
    guard block.fieldCount > 3 else { return }
    let square = block.lagSlopeSquare - block.lagSlope.dot(block.lagSlope) / count
    guard square > 1 else { return }
    let product = block.lagProduct - block.lagSlope.dot(block.lagResidual) / count
    var m = InlineArray<1, Measurement>(repeating: Measurement())
    m[0].h[ErrorState.lag] = 1
    m[0].z = product / square
    m[0].variance = Self.square(parameters.magnetometerNoise) / square
    // An outlier counts as one of three deviations.
    let innovation = m[0].z - x[ErrorState.lag]
    let expected = covariance[ErrorState.lag, ErrorState.lag] + m[0].variance
    if innovation * innovation > 9 * expected {
      m[0].variance = innovation * innovation / 9 - covariance[ErrorState.lag, ErrorState.lag]
    }
    covariance.update(&x, m, [covariance.row(ErrorState.lag)])
  }

  /// A disturbance that stays larger than disturbances are may be hard iron: that of a magnet which has just come, or
  /// one that was there from the start and that the mean field has hidden so far.
  private mutating func measureDisturbance(_ interval: Double) {
    let usual = Self.square(parameters.disturbanceDeviation)
    sinceJump += interval
    disturbancePower += (1 - exp(-interval / 0.5)) * (disturbance.dot(disturbance) / 3 - disturbancePower)
    flags.isMagneticallyDisturbed = disturbancePower > 0.7 * usual
    guard disturbancePower > parameters.ironThreshold * usual else { return }
    if sinceJump > 10 {
      covariance.inflate(
        ErrorState.hardIron, by: disturbancePower, among: ErrorState.field..<ErrorState.hardIron + 3)
    } else {
      covariance.addVariance(disturbancePower, to: ErrorState.hardIron..<ErrorState.hardIron + 3)
    }
    disturbancePower = 0
    discardMagnetometerCalibration()
  }
}
