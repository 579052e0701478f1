internal import Glibc
public import Spatial

extension AttitudeFilter {
  /// Takes a magnetometer sample, µT, device frame. A sample equal to the last one is taken for the same one, held.
  public mutating func update(magnetometer field: Vector3, at time: Timestamp) {
    switch magnetometer.judge(field, at: time) {
    case .nonFinite:
      counters.nonFinite += 1
      return
    case .outOfOrder:
      counters.outOfOrder += 1
      return
    case .repeated:
      flags.isMagnetometerStuck = magnetometer.isStuck(
        at: time, for: parameters.stuckTime, others: gyroscope, accelerometer)
      if flags.isMagnetometerStuck { counters.stuck += 1 } else { counters.repeated += 1 }
      // A value that came before the filter was level was of no use; held, it is still the only one there is.
      if !hasField, !flags.isMagnetometerStuck, !gyroscope.isSilent { use(field: field, at: seconds(time)) }
      return
    case .good:
      flags.isMagnetometerStuck = false
    }
    let now = seconds(time)
    guard !gyroscope.isSilent else {
      alignment.observe(field: field, at: now)
      publishWithoutGyroscope()
      return
    }
    use(field: field, at: now)
  }

  @inline(__always)
  private mutating func use(field measured: Vector3, at time: Double) {
    guard isLeveled else { return }
    let past = time - lag
    var then = history.state(at: past)
    let clean = corrected(magnetometer: measured)
    if !hasField {
      expectedField = then.attitude.rotate(clean)
      field = level.rotate(expectedField)
      hasField = true
      pointNorth()
    }
    guard past > blindUntil else { return }
    if snapVariance > 0 { then.attitude = snap(then.attitude, to: clean) }
    let attitude = Matrix3(then.attitude)
    let turned = attitude * clean
    block.fieldSum += turned
    block.fieldAttitude += attitude
    block.fieldCount += 1
    block.lastField = measured
    // Read too early by e, the field seems to turn by -e times the rate.
    let slope = (attitude * then.rate).cross(expectedField)
    let residual = turned - expectedField
    block.lagSlope += slope
    block.lagResidual += residual
    block.lagSlopeSquare += slope.dot(slope)
    block.lagProduct += slope.dot(residual)
  }

  /// After a gap in which the device may have turned by any angle, turns the estimate the shortest way to where the field
  /// is as it was. What is left is an unknown rotation about the field.
  private mutating func snap(_ attitude: Quaternion, to clean: Vector3) -> Quaternion {
    let variance = snapVariance
    snapVariance = 0
    let measured = attitude.rotate(clean)
    guard measured.length > 5, expectedField.length > 5, let axis = expectedField.normalized,
      let correction = Quaternion.shortest(from: measured, to: expectedField)
    else { return attitude }
    turnInertialFrame(by: correction)
    let lost = 20 * Double.pi / 180
    if variance > lost * lost {
      alignment.startSearch()
      block.forceSum = .zero
      block.forceCount = 0
    }
    block.gapVariance = max(0, block.gapVariance - variance)
    block.isSaturated = true
    let remaining = 4 * Double.pi / 180
    block.saturation += Matrix3.outer(axis, scale: variance)
    block.saturation += Matrix3.diagonal(remaining * remaining)
    return (correction * attitude).normalized
  }

  mutating func turnInertialFrame(by rotation: Quaternion) {
    strapdown = (rotation * strapdown).normalized
    history.turn(by: rotation)
  }

  /// Heading from the mean field.
  @inline(__always)
  mutating func pointNorth() {
    guard hasField else { return }
    let half = 0.5 * atan2(field.x, field.y)
    north = Quaternion(w: cos(half), x: 0, y: 0, z: sin(half))
  }
}
