internal import Glibc
internal import Sensors
public import Spatial

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

/// Gentle hills along a loop: a few sine waves whose lengths divide the loop's, so that it closes.
struct ElevationProfile: Sendable {
  private struct Wave: Sendable {
    /// rad/m.
    var number: Double
    /// m.
    var amplitude: Double
    /// rad.
    var phase: Double
  }

  private let waves: [Wave]

  /// Rough wave lengths of hills (m), each with its share of the steepest grade.
  private static let shape: [(length: Double, share: Double)] = [(2600, 0.45), (900, 0.35), (330, 0.2)]

  /// - Parameters:
  ///   - length: the loop's, m.
  ///   - steepestGrade: a bound of the slope, metres of height per metre.
  init(length: Double, steepestGrade: Double, generator: inout SeededGenerator) {
    waves = Self.shape.map { wave in
      let count = max(1, (length / wave.length).rounded())
      let number = 2 * Double.pi * count / length
      return Wave(
        number: number, amplitude: steepestGrade * wave.share / number,
        phase: 2 * .pi * generator.nextUniform())
    }
  }

  /// Height (m), its slope (m/m) and the slope's change along the loop (1/m).
  func shape(at distance: Double) -> (height: Double, slope: Double, slopeChange: Double) {
    var (height, slope, change) = (0.0, 0.0, 0.0)
    for wave in waves {
      let angle = wave.number * distance + wave.phase
      let (s, c) = (sin(angle), cos(angle))
      height += wave.amplitude * s
      slope += wave.amplitude * wave.number * c
      change -= wave.amplitude * wave.number * wave.number * s
    }
    return (height, slope, change)
  }
}
