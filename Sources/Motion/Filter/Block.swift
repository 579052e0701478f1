internal import Spatial

extension AttitudeFilter {
  /// Sums over the samples of one block, in the almost inertial frame unless said otherwise.
  struct Block: Sendable {
    /// s
    var duration = 0.0
    /// Integral of the attitude matrix: what a bias does.
    var attitude = Matrix3.zero
    /// Integral of the attitude matrix times each axis' rate: what scale errors do.
    var rotation = Matrix3.zero
    /// Integral of the squared rate, rad²/s.
    var rateSquare = 0.0
    var rate = RestDetector.Spread()
    /// Device frame.
    var force = RestDetector.Spread()
    /// Sum of specific forces, m/s².
    var forceSum = Vector3.zero
    var forceCount = 0
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
    /// s without gyroscope samples.
    var gap = 0.0
  }
}
