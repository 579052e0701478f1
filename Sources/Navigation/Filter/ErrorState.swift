/// The indices of the errors of the filter's state, in the order of its covariance.
///
/// Angles are small rotations applied on the left: those of the attitude in the east-north-up frame, those of
/// the mounting in the vehicle frame.
enum ErrorState {
  /// Position east, north, up, m.
  static let position = 0
  /// Velocity east, north, up, m/s.
  static let velocity = 3
  /// Attitude about east, north, up, rad.
  static let attitude = 6
  /// Gyroscope bias in the device frame, rad/s.
  static let gyroscopeBias = 9
  /// Accelerometer bias in the device frame, m/s².
  static let accelerometerBias = 12
  /// Mounting about right, forward, up of the vehicle, rad.
  static let mounting = 15
  /// Distance from the device back to the rear axle, m.
  static let axleLever = 18
  /// Vector from the device to the antenna: right, forward, up of the vehicle, m.
  static let antennaLever = 19
  /// Latency of a position, s.
  static let positionLatency = 22
  /// Scale error of the wheel speed, dimensionless.
  static let speedScale = 23
  /// Scale error of the gyroscope by axis, dimensionless.
  static let gyroscopeScale = 24
  /// Latency of a velocity in addition to the latency of a position, s.
  static let velocityLatency = 27

  static let count = 28
}

/// A vector with one number for every error.
typealias ErrorVector = InlineArray<28, Double>

extension InlineArray where Element == Double, count == 28 {
  @inline(__always)
  static var zero: Self { Self(repeating: 0) }

  @inline(__always)
  func vector(_ start: Int) -> SIMD3<Double> { SIMD3(self[start], self[start + 1], self[start + 2]) }

  @inline(__always)
  func scaled(by factor: Double) -> Self {
    var result = self
    var elements = result.mutableSpan
    for index in elements.indices { elements[index] *= factor }
    return result
  }

  @inline(__always)
  mutating func set(_ start: Int, _ vector: SIMD3<Double>) {
    self[start] = vector.x
    self[start + 1] = vector.y
    self[start + 2] = vector.z
  }
}
