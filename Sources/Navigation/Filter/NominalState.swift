internal import Spatial

/// The estimated state. The covariance describes small errors of this state.
struct NominalState: Hashable, Sendable {
  /// The position in m, east, north and up of the local frame's origin.
  var position = Vector3.zero
  /// The velocity east, north, up, m/s.
  var velocity = Vector3.zero
  /// The rotation from the device frame to east, north, up.
  var attitude = Quaternion.identity
  /// The gyroscope bias in the device frame in rad/s, to be subtracted.
  var gyroscopeBias = Vector3.zero
  /// The accelerometer bias in the device frame in m/s², to be subtracted.
  var accelerometerBias = Vector3.zero
  /// The rotation from the device frame to right, forward, up of the vehicle.
  var mounting = Quaternion.identity
  /// The distance from the device back to the rear axle, m.
  var axleLever = 0.0
  /// The vector from the device to the antenna in the vehicle frame, m.
  var antennaLever = Vector3.zero
  /// The latency of positions in s: a position with the time t was valid at t minus the latency.
  var positionLatency = 0.0
  /// The latency of velocities in addition to that of positions, s.
  var velocityLatency = 0.0
  /// The scale error of the wheel speed: wheels report (1 + error) times the speed.
  var speedScale = 0.0
  /// The scale error of the gyroscope by axis: the rotation is (1 + error) times the reading.
  var gyroscopeScale = Vector3.zero

  /// Corrects the state by estimated errors.
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

  /// The vehicle's attitude: the rotation from the vehicle frame to east, north, up.
  var vehicleAttitude: Quaternion { attitude * mounting.conjugate }

  /// The velocity right, forward, up of the vehicle, m/s.
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
