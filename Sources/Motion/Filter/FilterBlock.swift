internal import Spatial

/// Sums over the samples of one block, in the almost inertial frame unless noted otherwise.
struct FilterBlock: Sendable {
  /// Statistics of one sensor over a block.
  struct Spread: Sendable {
    private(set) var sum = Vector3.zero
    private(set) var squares = Vector3.zero
    private(set) var count = 0

    @inline(__always)
    mutating func add(_ v: Vector3) {
      sum += v
      squares += v * v
      count += 1
    }

    var mean: Vector3 { sum / Double(max(1, count)) }

    /// Mean of the squared length.
    var meanSquare: Double { squares.sum() / Double(max(1, count)) }

    /// Standard deviation on the axis that varies most.
    var deviation: Double {
      let m = mean
      let variance = squares / Double(max(1, count)) - m * m
      return max(0, variance.max()).squareRoot()
    }
  }

  /// Duration in s.
  var duration = 0.0
  /// Integral of the attitude matrix: the effect of a bias.
  var attitude = Matrix3.zero
  /// Integral of the attitude matrix times each axis' rate: the effect of scale errors.
  var rotation = Matrix3.zero
  /// Rotation vector of the block, to first order, in rad.
  var turn: Vector3 { rotation.column0 + rotation.column1 + rotation.column2 }
  /// Integral of the squared rate in rad²/s.
  var rateSquare = 0.0
  /// Statistics of the rotation rate, device frame.
  var rate = Spread()
  /// Statistics of the specific force, device frame.
  var force = Spread()
  /// Sum of specific forces in m/s².
  var forceSum = Vector3.zero
  var forceCount = 0
  /// Standard deviation in m/s² of the external acceleration that was subtracted; nil if none was subtracted.
  var aidDeviation: Double?
  /// Time in s of specific force that could not be used.
  var lostForce = 0.0
  /// Velocity variance in (m/s)² added by saturation of the accelerometer.
  var velocityVariance = 0.0
  /// Sum of fields without hard iron in µT.
  var fieldSum = Vector3.zero
  /// Sum of the attitude matrices at the times of the fields in `fieldSum`.
  var fieldAttitude = Matrix3.zero
  var fieldCount = 0
  /// The last measured field and the sum of the measured fields in µT, device frame.
  var lastField = Vector3.zero
  private var measuredFieldSum = Vector3.zero
  /// Mean field as measured in µT, device frame; nil without samples.
  var measuredField: Vector3? { fieldCount > 0 ? measuredFieldSum / Double(fieldCount) : nil }
  /// Sums for the magnetometer's delay: change of the field with the delay (µT/s), residual (µT), and their
  /// products.
  var lagSlope = Vector3.zero
  var lagResidual = Vector3.zero
  var lagSlopeSquare = 0.0
  var lagProduct = 0.0
  /// Variance of the attitude in rad² beyond the gyroscope's noise: from gaps (equal about each axis) and
  /// from saturation.
  var gapVariance = 0.0
  var saturation = Matrix3.zero
  var isSaturated = false
  /// Mean over the axes of the attitude variance in rad² from gaps and saturation.
  var turnVariance: Double { gapVariance + saturation.trace / 3 }
  /// Time in s without gyroscope samples.
  var gap = 0.0

  /// Adds a rotation by `turn` during `interval`; `now` is the attitude at its end.
  @inline(__always)
  mutating func add(
    _ turn: Vector3, rate: Vector3, measured: Vector3, attitude now: Matrix3, interval: Double
  ) {
    attitude += now * interval
    rotation.column0 += now.column0 * turn.x
    rotation.column1 += now.column1 * turn.y
    rotation.column2 += now.column2 * turn.z
    duration += interval
    rateSquare += rate.dot(rate) * interval
    self.rate.add(measured)
  }

  /// Adds a field, as measured and as corrected for iron (`clean`), at the attitude of its own time;
  /// `expected` is the local mean field.
  @inline(__always)
  mutating func add(
    field measured: Vector3, clean: Vector3, at then: AttitudeHistory.Entry, expected: Vector3
  ) {
    let attitude = Matrix3(then.attitude)
    let turned = attitude * clean
    fieldSum += turned
    fieldAttitude += attitude
    fieldCount += 1
    lastField = measured
    measuredFieldSum += measured
    // If a sample is read too early by e, the field appears turned by -e times the rate.
    let slope = (attitude * then.rate).cross(expected)
    let residual = turned - expected
    lagSlope += slope
    lagResidual += residual
    lagSlopeSquare += slope.dot(slope)
    lagProduct += slope.dot(residual)
  }

  /// Subtracts an external acceleration in m/s², device frame, from the forces.
  mutating func subtract(_ acceleration: Vector3, deviation: Double) {
    guard duration > 0 else { return }
    forceSum -= (Double(forceCount) / duration) * (attitude * acceleration)
    aidDeviation = deviation
  }

  /// Rotates the sums of the field together with the almost inertial frame.
  mutating func turnField(by turn: Quaternion) {
    fieldSum = turn.rotate(fieldSum)
    lagSlope = turn.rotate(lagSlope)
    fieldAttitude = Matrix3(turn) * fieldAttitude
  }
}
