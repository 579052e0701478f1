internal import Spatial

/// What the filter believes, beside which the covariance describes small errors.
struct NominalState: Hashable, Sendable {
  /// m east, north, up of the local frame's origin.
  var position = Vector3.zero
  /// m/s east, north, up.
  var velocity = Vector3.zero
  /// From the device frame to east, north, up.
  var attitude = Quaternion.identity
  /// rad/s, device frame; subtracted from the gyroscope.
  var gyroscopeBias = Vector3.zero
  /// m/s², device frame; subtracted from the accelerometer.
  var accelerometerBias = Vector3.zero
  /// From the device frame to right, forward, up of the vehicle.
  var mounting = Quaternion.identity
  /// m: how far the rear axle is behind the device.
  var axleLever = 0.0
  /// m, vehicle frame: from the device to the antenna.
  var antennaLever = Vector3.zero
  /// s: a position stamped t is of t less this.
  var positionLatency = 0.0
  /// s: a velocity stamped t is of t less this and less the position's latency.
  var velocityLatency = 0.0
  /// The wheels say (1 + this) times the speed.
  var speedScale = 0.0
  /// The rotation is (1 + this) times what the gyroscope says, by axis.
  var gyroscopeScale = Vector3.zero

  /// Puts estimated errors right.
  @inline(__always)
  mutating func add(_ error: ErrorVector) {
    position += error.vector(ErrorState.position)
    velocity += error.vector(ErrorState.velocity)
    attitude = turned(attitude, by: error.vector(ErrorState.attitude))
    gyroscopeBias += error.vector(ErrorState.gyroscopeBias)
    accelerometerBias += error.vector(ErrorState.accelerometerBias)
    mounting = turned(mounting, by: error.vector(ErrorState.mounting))
    axleLever += error[ErrorState.axleLever]
    antennaLever += error.vector(ErrorState.antennaLever)
    positionLatency += error[ErrorState.positionLatency]
    speedScale += error[ErrorState.speedScale]
    gyroscopeScale += error.vector(ErrorState.gyroscopeScale)
    velocityLatency += error[ErrorState.velocityLatency]
  }

  /// From the device frame to the earth's by way of the vehicle: the vehicle's attitude, to east, north, up.
  var vehicleAttitude: Quaternion { attitude * mounting.conjugate }

  /// m/s right, forward, up of the vehicle.
  @inline(__always)
  var vehicleVelocity: Vector3 { mounting.rotate(attitude.conjugate.rotate(velocity)) }

  var isFinite: Bool {
    position.isFinite && velocity.isFinite && attitude.isFinite && mounting.isFinite
      && gyroscopeBias.isFinite && accelerometerBias.isFinite && antennaLever.isFinite
      && gyroscopeScale.isFinite
      && (axleLever + positionLatency + velocityLatency + speedScale).isFinite
  }

  @inline(__always)
  private func turned(_ q: Quaternion, by rotation: Vector3) -> Quaternion {
    rotation == .zero ? q : (Quaternion(rotationVector: rotation) * q).normalized
  }
}
