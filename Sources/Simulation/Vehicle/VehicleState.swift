internal import Glibc
internal import Sensors
public import Spatial

/// What a simulated vehicle truly does at one moment, without any sensor's error: the answer that an estimate
/// is compared with.
///
/// The world is flat around the route's middle, does not turn, and pulls with standard gravity everywhere.
/// Vibration is left out: it moves the device by less than a millimetre.
public struct VehicleState: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Metres east, north and up of the middle of the route at its base altitude.
  public var position: Vector3
  public var coordinate: Coordinate
  /// Metres above mean sea level.
  public var altitudeMeanSeaLevel: Double
  /// Metres along the loop since it was last begun.
  public var distance: Double
  public var motion: VehicleMotion
  /// Whether a tunnel hides the sky.
  public var isInTunnel: Bool

  /// Metres per second over ground.
  public var speed: Double { motion.speed }
  /// Direction of travel, degrees clockwise from true north, 0 ..< 360; nil at rest.
  public var course: Double? {
    motion.speed > 0 ? normalizedDegrees(atan2(motion.velocity.x, motion.velocity.y).degrees) : nil
  }
}

/// The part of a vehicle's state that inertial sensors feel.
public struct VehicleMotion: Hashable, Sendable {
  /// m/s over ground, at least 0.
  public var speed: Double
  /// m/s, east-north-up.
  public var velocity: Vector3
  /// m/s², east-north-up.
  public var acceleration: Vector3
  /// Turns the device frame (x right, y ahead, z to the roof) into east-north-up.
  public var quaternion: Quaternion
  /// rad/s, device frame.
  public var rotationRate: Vector3

  /// m/s², device frame: what an ideal accelerometer feels, pointing up at rest.
  public var specificForce: Vector3 {
    quaternion.conjugate.rotate(acceleration + Vector3(0, 0, standardGravity))
  }
}
