/// The errors of the filter's state, in the order of its covariance.
///
/// Angles are small rotations on the left: of the attitude in the east-north-up frame, of the mounting in the vehicle's.
enum ErrorState {
  /// m, east, north, up.
  static let position = 0
  /// m/s, east, north, up.
  static let velocity = 3
  /// rad, about east, north, up.
  static let attitude = 6
  /// rad/s, device frame.
  static let gyroscopeBias = 9
  /// m/s², device frame.
  static let accelerometerBias = 12
  /// rad, about right, forward, up of the vehicle.
  static let mounting = 15
  /// m: how far the rear axle is behind the device.
  static let axleLever = 18
  /// m, right, forward, up of the vehicle: from the device to the antenna.
  static let antennaLever = 19
  /// s: how late a position is stamped.
  static let positionLatency = 22
  /// Error of the wheel speed's scale, without unit.
  static let speedScale = 23
  /// Error of the gyroscope's scale by axis, without unit.
  static let gyroscopeScale = 24
  /// s: how late a velocity is stamped beyond the position.
  static let velocityLatency = 27

  static let count = 28
}

/// One number for every error.
typealias ErrorVector = InlineArray<28, Double>

extension InlineArray where Element == Double, count == 28 {
  @inline(__always)
  static var zero: Self { Self(repeating: 0) }

  @inline(__always)
  func vector(_ start: Int) -> SIMD3<Double> { SIMD3(self[start], self[start + 1], self[start + 2]) }

  @inline(__always)
  mutating func set(_ start: Int, _ vector: SIMD3<Double>) {
    self[start] = vector.x
    self[start + 1] = vector.y
    self[start + 2] = vector.z
  }
}
