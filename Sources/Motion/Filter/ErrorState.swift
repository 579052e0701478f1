internal import Spatial

/// Indices of the attitude filter's error state and covariance.
enum ErrorState {
  /// Inclination: rotation of the estimated level frame about its x and y axes in rad.
  static let tilt = 0
  /// Gyroscope bias in rad/s, device frame.
  static let bias = 2
  /// Relative error of the gyroscope's scale per axis; the common part includes the clock rate.
  static let scale = 5
  /// Horizontal velocity in m/s, level frame.
  static let velocity = 8
  /// Horizontal position in m, level frame.
  static let position = 10
  /// Earth's magnetic field in µT, level frame: its horizontal direction is the heading.
  static let field = 12
  /// Local deviation of the field in µT, level frame.
  static let disturbance = 15
  /// Hard iron in µT, device frame.
  static let hardIron = 18
  /// Delay of the magnetometer relative to the gyroscope in s.
  static let lag = 21
  static let count = 22

  /// Returns whether a state is not corrected by the magnetic field: inclination, scale, velocity and
  /// position.
  @inline(__always)
  static func isConsidered(_ i: Int) -> Bool { i < bias || (i >= scale && i < field) }

  /// Mask with ones at states where `isConsidered` is true.
  @inline(__always)
  static var considered: StateVector {
    StateVector(
      a: SIMD8(1, 1, 0, 0, 0, 1, 1, 1), b: SIMD8(1, 1, 1, 1, 0, 0, 0, 0), c: .zero)
  }
}

/// Vector with one value per error state; the last two lanes are always zero.
struct StateVector: Sendable {
  var a: SIMD8<Double> = .zero
  var b: SIMD8<Double> = .zero
  var c: SIMD8<Double> = .zero

  subscript(i: Int) -> Double {
    @inline(__always)
    get {
      switch i >> 3 {
      case 0: a[i & 7]
      case 1: b[i & 7]
      default: c[i & 7]
      }
    }
    @inline(__always)
    set {
      switch i >> 3 {
      case 0: a[i & 7] = newValue
      case 1: b[i & 7] = newValue
      default: c[i & 7] = newValue
      }
    }
  }

  @inline(__always)
  mutating func add(_ other: StateVector, times factor: Double) {
    a += other.a * factor
    b += other.b * factor
    c += other.c * factor
  }

  @inline(__always)
  mutating func scale(by factor: Double) {
    a *= factor
    b *= factor
    c *= factor
  }

  @inline(__always)
  func scaled(by factor: Double) -> StateVector {
    StateVector(a: a * factor, b: b * factor, c: c * factor)
  }

  @inline(__always)
  func dot(_ other: StateVector) -> Double {
    (a * other.a + b * other.b + c * other.c).sum()
  }

  @inline(__always)
  static func * (x: StateVector, y: StateVector) -> StateVector {
    StateVector(a: x.a * y.a, b: x.b * y.b, c: x.c * y.c)
  }

  @inline(__always)
  func vector(at i: Int) -> Vector3 { Vector3(self[i], self[i + 1], self[i + 2]) }

  var isFinite: Bool { (a.sum() + b.sum() + c.sum()).isFinite }
}

/// A scalar measurement `z = h x + noise`.
struct Measurement: Sendable {
  /// Row of the measurement matrix.
  var h = StateVector()
  /// Measured minus predicted value at x = 0.
  var z = 0.0
  /// Variance of the noise.
  var variance = 1.0
}
