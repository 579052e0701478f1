internal import Glibc
internal import Sensors
public import Spatial

extension SimulatedDrive {
  /// The lean of a vehicle's body on its suspension.
  public struct Suspension: Hashable, Sendable {
    /// Outward lean in a turn in rad per m/s² of lateral acceleration; 0.006 is 3.4° per g, a passenger car.
    public var rollGradient = 0.006
    /// Pitch by acceleration and braking in rad per m/s²; 0.004 is 2.2° per g.
    public var pitchGradient = 0.004

    public init() {}
  }
}

/// The motion of a vehicle on a lap in closed form. It can be evaluated at any time, and rates are exact
/// derivatives.
///
/// Yaw follows the path. Pitch is the slope plus the suspension's response to acceleration. Roll is the
/// suspension's response to lateral acceleration. Angles follow Core Motion: yaw about z, then pitch about x,
/// then roll about y.
struct VehicleDynamics: Sendable {
  let path: RoutePath
  let profile: SpeedProfile
  let elevation: ElevationProfile
  let suspension: SimulatedDrive.Suspension

  func motion(at lapTime: Double) -> VehicleMotion {
    motion(along: profile.motion(at: lapTime))
  }

  func state(at lapTime: Double, baseAltitude: Double, timestamp: Timestamp) -> SimulatedState {
    let along = profile.motion(at: lapTime)
    let distance = max(0, min(path.length, along.distance))
    let position = path.position(at: distance)
    let height = elevation.shape(at: distance).height
    return SimulatedState(
      timestamp: timestamp, position: Vector3(position.x, position.y, height),
      coordinate: path.frame.coordinate(at: position), altitudeMeanSeaLevel: baseAltitude + height,
      distance: distance, motion: motion(along: along), isInTunnel: path.isTunnel(at: distance))
  }

  /// Returns the height above the route's base altitude in m.
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
    // In a left turn the body leans to the right, which lowers its right side.
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

/// The true state of a simulated vehicle at one time, as the reference for estimates.
///
/// The world is flat around the route's middle, does not rotate, and has standard gravity everywhere.
/// VibrationNoise is omitted: it moves the device by less than a millimetre.
public struct SimulatedState: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Position east, north and up of the middle of the route at its base altitude, m.
  public var position: Vector3
  public var coordinate: Coordinate
  /// Altitude above mean sea level in m.
  public var altitudeMeanSeaLevel: Double
  /// Distance along the current lap in m.
  public var distance: Double
  public var motion: VehicleMotion
  /// True if the vehicle is in a tunnel.
  public var isInTunnel: Bool

  /// Ground speed in m/s.
  public var speed: Double { motion.speed }
  /// Course in degrees clockwise from true north, 0 ..< 360; nil at rest.
  public var course: Double? {
    motion.speed > 0 ? normalizedDegrees(atan2(motion.velocity.x, motion.velocity.y).degrees) : nil
  }
}

/// The part of a vehicle's state that inertial sensors measure.
public struct VehicleMotion: Hashable, Sendable {
  /// Ground speed in m/s, at least 0.
  public var speed: Double
  /// Velocity east, north, up in m/s.
  public var velocity: Vector3
  /// Acceleration east, north, up in m/s².
  public var acceleration: Vector3
  /// The rotation from the device frame (x right, y forward, z to the roof) to east, north, up.
  public var quaternion: Quaternion
  /// Rotation rate in the device frame, rad/s.
  public var rotationRate: Vector3

  /// Specific force in the device frame in m/s²: the reading of an ideal accelerometer, pointing up at rest.
  public var specificForce: Vector3 {
    quaternion.conjugate.rotate(acceleration + Vector3(0, 0, standardGravity))
  }
}

/// Gentle hills along a loop: the sum of three sine waves whose lengths divide that of the loop, so that
/// start and end have the same height.
struct ElevationProfile: Sendable {
  private struct Wave: Sendable {
    /// Wave number in rad/m.
    var number: Double
    /// Amplitude in m.
    var amplitude: Double
    /// Phase in rad.
    var phase: Double
  }

  private let waves: [Wave]

  /// Approximate wave lengths of the hills (m), with their share of the steepest slope.
  private static let shape: [(length: Double, share: Double)] = [(2600, 0.45), (900, 0.35), (330, 0.2)]

  /// Creates a profile.
  ///
  /// - Parameters:
  ///   - length: length of the loop, m.
  ///   - steepestGrade: maximum slope in metres of height per metre.
  init(length: Double, steepestGrade: Double, generator: inout SeededGenerator) {
    waves = Self.shape.map { wave in
      let count = max(1, (length / wave.length).rounded())
      let number = 2 * Double.pi * count / length
      return Wave(
        number: number, amplitude: steepestGrade * wave.share / number,
        phase: 2 * .pi * generator.nextUniform())
    }
  }

  /// Returns height (m), slope (m/m) and the derivative of the slope along the loop (1/m).
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
