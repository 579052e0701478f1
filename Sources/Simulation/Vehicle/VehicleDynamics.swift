internal import Glibc
internal import Spatial

extension SimulatedDrive {
  /// How a vehicle's body leans on its suspension.
  public struct Suspension: Hashable, Sendable {
    /// Outward lean in a turn, rad per m/s² of lateral acceleration (0.006 is 3.4° per g, a passenger car).
    public var rollGradient = 0.006
    /// Nose lifted by acceleration and dipped by braking, rad per m/s² (0.004 is 2.2° per g).
    public var pitchGradient = 0.004

    public init() {}
  }
}

/// The motion of a vehicle on a lap in closed form: no step of it depends on the one before, so any moment can
/// be asked for, and rates are the exact derivatives of what they are rates of.
///
/// Yaw follows the path; pitch is the slope plus the suspension's answer to acceleration; roll is its answer
/// to lateral acceleration. Angles are Core Motion's: yaw about z, then pitch about x, then roll about y.
struct VehicleDynamics: Sendable {
  let path: RoutePath
  let profile: SpeedProfile
  let elevation: ElevationProfile
  let suspension: SimulatedDrive.Suspension

  func motion(at lapTime: Double) -> VehicleMotion {
    motion(along: profile.motion(at: lapTime))
  }

  func state(at lapTime: Double, baseAltitude: Double, timestamp: Timestamp) -> VehicleState {
    let along = profile.motion(at: lapTime)
    let distance = max(0, min(path.length, along.distance))
    let position = path.position(at: distance)
    let height = elevation.shape(at: distance).height
    return VehicleState(
      timestamp: timestamp, position: Vector3(position.x, position.y, height),
      coordinate: path.frame.coordinate(at: position), altitudeMeanSeaLevel: baseAltitude + height,
      distance: distance, motion: motion(along: along), isInTunnel: path.isTunnel(at: distance))
  }

  /// Metres above the route's base altitude.
  func height(at lapTime: Double) -> Double {
    elevation.shape(at: profile.motion(at: lapTime).distance).height
  }

  private func motion(along: SpeedProfile.Motion) -> VehicleMotion {
    let (v, a, jerk) = (along.speed, along.acceleration, along.jerk)
    let direction = path.direction(at: along.distance)
    let hill = elevation.shape(at: along.distance)
    let (c, s) = (cos(direction.heading), sin(direction.heading))
    let lateral = v * v * direction.curvature
    let lateralChange = v * (2 * a * direction.curvature + v * v * direction.curvatureChange)

    let yaw = direction.heading - .pi / 2
    let yawRate = v * direction.curvature
    let pitch = atan(hill.slope) + suspension.pitchGradient * a
    let pitchRate =
      hill.slopeChange * v / (1 + hill.slope * hill.slope) + suspension.pitchGradient * jerk
    // The body leans out of a turn to the left, which lowers its right side.
    let roll = suspension.rollGradient * lateral
    let rollRate = suspension.rollGradient * lateralChange

    let (sinPitch, cosPitch) = (sin(pitch), cos(pitch))
    let (sinRoll, cosRoll) = (sin(roll), cos(roll))
    let (sy, cy) = (sin(yaw / 2), cos(yaw / 2))
    let (sp, cp) = (sin(pitch / 2), cos(pitch / 2))
    let (sr, cr) = (sin(roll / 2), cos(roll / 2))
    return VehicleMotion(
      speed: v, velocity: Vector3(v * c, v * s, v * hill.slope),
      acceleration: Vector3(
        a * c - lateral * s, a * s + lateral * c, a * hill.slope + v * v * hill.slopeChange),
      quaternion: Quaternion(
        w: cy * cp * cr - sy * sp * sr, x: cy * sp * cr - sy * cp * sr,
        y: cy * cp * sr + sy * sp * cr, z: cy * sp * sr + sy * cp * cr),
      rotationRate: Vector3(
        cosRoll * pitchRate - sinRoll * yawRate * cosPitch, yawRate * sinPitch + rollRate,
        sinRoll * pitchRate + cosRoll * yawRate * cosPitch))
  }
}
