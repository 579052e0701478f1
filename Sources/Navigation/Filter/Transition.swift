internal import Spatial

/// The propagation of errors in one step of the covariance: integrals of force and rotation.
///
/// The equations are those of the error state with a global angular error (J. Solà, "Quaternion kinematics
/// for the error-state Kalman filter", 2017, section 7), summed over the samples of the step.
struct Transition: Hashable, Sendable {
  /// The duration in s.
  private(set) var duration = 0.0
  /// The integral of the specific force in the earth frame, m/s.
  private var force = Vector3.zero
  /// The east row of the integral of the attitude matrix, s; the rows of north and up follow.
  private var east = Vector3.zero
  private var north = Vector3.zero
  private var up = Vector3.zero
  /// The east row of the integral of the attitude matrix times the rate about each device axis, rad; the rows
  /// of north and up follow.
  private var turnedEast = Vector3.zero
  private var turnedNorth = Vector3.zero
  private var turnedUp = Vector3.zero

  /// Adds a sample: force (earth frame, m/s²), attitude matrix and rate (device frame, rad/s).
  @inline(__always)
  mutating func add(force: Vector3, attitude: RotationMatrix, rate: Vector3, seconds: Double) {
    let (e, n, u) = attitude.rows
    let turn = rate * seconds
    self.force += force * seconds
    east += e * seconds
    north += n * seconds
    up += u * seconds
    turnedEast += e * turn
    turnedNorth += n * turn
    turnedUp += u * turn
    duration += seconds
  }

  /// The elements of one of the first nine rows that are not on the diagonal: two blocks of three, and one
  /// number.
  struct Row {
    var first: Int
    var firstFactors: Vector3
    var second: Int
    var secondFactors: Vector3
    var single = 0
    var singleFactor = 0.0

    /// Adds the product of this row and `matrix` to `target`.
    @inline(__always)
    func apply(
      to target: UnsafeMutablePointer<Double>, of matrix: UnsafeMutablePointer<Double>, stride n: Int
    ) {
      let (a, b, s) = (matrix + first * n, matrix + second * n, matrix + single * n)
      let (f, g, h) = (firstFactors, secondFactors, singleFactor)
      for i in 0..<n {
        target[i] += f.x * a[i] + f.y * a[n + i] + f.z * a[2 * n + i]
        target[i] += g.x * b[i] + g.y * b[n + i] + g.z * b[2 * n + i]
        target[i] += h * s[i]
      }
    }

    /// Returns one element of the product of the transition and a column vector.
    @inline(__always)
    func applied(to row: UnsafeMutablePointer<Double>, at index: Int) -> Double {
      let (a, b) = (row + first, row + second)
      var sum = row[index] + firstFactors.x * a[0] + firstFactors.y * a[1] + firstFactors.z * a[2]
      sum += secondFactors.x * b[0] + secondFactors.y * b[1] + secondFactors.z * b[2]
      return sum + singleFactor * row[single]
    }
  }

  /// The rows of position, velocity and attitude, in this order. No row depends on an earlier one.
  var rows: InlineArray<9, Row> {
    InlineArray { index in
      let axis = index % 3
      let attitude = axis == 0 ? east : axis == 1 ? north : up
      switch index / 3 {
      case 0:
        return Row(
          first: ErrorState.attitude, firstFactors: force.crossRow(axis) * (0.5 * duration),
          second: ErrorState.accelerometerBias, secondFactors: attitude * (-0.5 * duration),
          single: ErrorState.velocity + axis, singleFactor: duration)
      case 1:
        return Row(
          first: ErrorState.attitude, firstFactors: force.crossRow(axis),
          second: ErrorState.accelerometerBias, secondFactors: -attitude)
      default:
        return Row(
          first: ErrorState.gyroscopeBias, firstFactors: -attitude,
          second: ErrorState.gyroscopeScale,
          secondFactors: axis == 0 ? turnedEast : axis == 1 ? turnedNorth : turnedUp)
      }
    }
  }
}

extension RotationMatrix {
  @inline(__always)
  var rows: (Vector3, Vector3, Vector3) {
    (Vector3(m11, m12, m13), Vector3(m21, m22, m23), Vector3(m31, m32, m33))
  }

  @inline(__always)
  var columns: (Vector3, Vector3, Vector3) {
    (Vector3(m11, m21, m31), Vector3(m12, m22, m32), Vector3(m13, m23, m33))
  }
}
