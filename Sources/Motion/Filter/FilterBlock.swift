internal import Spatial

/// Sums over the samples of one block, in the almost inertial frame unless said otherwise.
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

    /// Largest deviation of an axis.
    var deviation: Double {
      let m = mean
      let variance = squares / Double(max(1, count)) - m * m
      return max(0, variance.max()).squareRoot()
    }
  }

  /// s
  var duration = 0.0
  /// Integral of the attitude matrix: what a bias does.
  var attitude = Matrix3.zero
  /// Integral of the attitude matrix times each axis' rate: what scale errors do.
  var rotation = Matrix3.zero
  /// Integral of the squared rate, rad²/s.
  var rateSquare = 0.0
  /// Device frame.
  var rate = Spread()
  /// Device frame.
  var force = Spread()
  /// Sum of specific forces, m/s².
  var forceSum = Vector3.zero
  var forceCount = 0
  /// Deviation of the acceleration that was known and is no longer in the forces, m/s²; nil where none was.
  var aidDeviation: Double?
  /// s of acceleration that could not be used.
  var lostForce = 0.0
  /// Variance of velocity that saturation adds, (m/s)².
  var velocityVariance = 0.0
  /// Sum of fields without hard iron, µT.
  var fieldSum = Vector3.zero
  /// Sum of the attitude matrices that belong to them.
  var fieldAttitude = Matrix3.zero
  var fieldCount = 0
  /// The last field as it was measured, device frame, µT.
  var lastField = Vector3.zero
  /// For the delay of the magnetometer: how the field would move with the delay (µT/s), what is left over (µT), and
  /// their products.
  var lagSlope = Vector3.zero
  var lagResidual = Vector3.zero
  var lagSlopeSquare = 0.0
  var lagProduct = 0.0
  /// Variance of the attitude on top of the gyroscope's noise, rad²: of gaps, the same about each axis, and of saturation.
  var gapVariance = 0.0
  var saturation = Matrix3.zero
  var isSaturated = false
  /// The same, as a mean of the axes.
  var turnVariance: Double { gapVariance + saturation.trace / 3 }
  /// s without gyroscope samples.
  var gap = 0.0

  /// A rotation by `turn` during `interval`, at whose end the attitude is `now`.
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

  /// A field as it was measured and as it is `clean` of iron, at the attitude of its own time; `expected` is the field here.
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
    // Read too early by e, the field seems to turn by -e times the rate.
    let slope = (attitude * then.rate).cross(expected)
    let residual = turned - expected
    lagSlope += slope
    lagResidual += residual
    lagSlopeSquare += slope.dot(slope)
    lagProduct += slope.dot(residual)
  }

  /// Takes a known acceleration, m/s², device frame, out of the forces.
  mutating func subtract(_ acceleration: Vector3, deviation: Double) {
    guard duration > 0 else { return }
    forceSum -= (Double(forceCount) / duration) * (attitude * acceleration)
    aidDeviation = deviation
  }

  /// Turns what was summed of the field with the almost inertial frame.
  mutating func turnField(by turn: Quaternion) {
    fieldSum = turn.rotate(fieldSum)
    lagSlope = turn.rotate(lagSlope)
    fieldAttitude = Matrix3(turn) * fieldAttitude
  }
}
