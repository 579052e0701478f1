internal import Glibc
public import Sensors
public import Spatial

/// How far navigation has come.
public enum NavigationState: Hashable, Sendable {
  /// It cannot begin yet.
  case waiting(Reason)
  /// It watches how the vehicle moves; 8 to 40 s of driving with a turn or a change of speed are enough.
  case aligning
  /// Attitude and mounting are known, and positions are carried on without a receiver.
  case aligned

  /// Why navigation is not aligned.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// No inertial samples yet.
    case noInertialSamples
    /// There is no gyroscope: nothing can be carried on.
    case noGyroscope
    /// There is no accelerometer.
    case noAccelerometer
    /// The receiver has no position.
    case noFix
    /// The receiver does not say its velocity.
    case noVelocity
    /// The vehicle has not moved yet: yaw and mounting cannot be seen at rest.
    case standing
    /// What was measured contradicts the mounting: the device was turned or taken out.
    case contradicted
    /// The device is carried by a person.
    case walking
    /// Inertial samples were missing for too long.
    case gap
    /// The position without a receiver became too uncertain.
    case uncertain
  }
}

/// Where the vehicle is, how it moves and how it lies, with its accuracy.
public struct NavigationEstimate: Hashable, Sendable {
  /// The time of the newest inertial sample.
  public var timestamp: Timestamp
  /// Position of the device.
  public var coordinate: Coordinate
  /// Position of the receiver's antenna, as far as it was found out where that is: what the receiver would say.
  public var antennaCoordinate: Coordinate
  /// Metres above the surface that the receiver's altitudes refer to; nil before there was one.
  public var altitude: Double?
  /// Whether the altitude is above the WGS 84 ellipsoid; else it is above mean sea level.
  public var isAltitudeEllipsoidal: Bool
  /// m/s east, north, up.
  public var velocity: Vector3
  /// m/s, one deviation of the velocity about its worse axis in the plane.
  public var velocityDeviation: Double
  /// From the device frame to east, north, up.
  public var attitude: Quaternion
  /// From right, forward, up of the vehicle to east, north, up.
  public var vehicleAttitude: Quaternion
  /// From the device frame to right, forward, up of the vehicle.
  public var mounting: Quaternion
  /// Heading of the vehicle, degrees clockwise from true north, 0 ..< 360.
  public var heading: Double
  /// Deviation of attitude about a horizontal axis and about the vertical, degrees.
  public var tiltDeviation: Double
  public var headingDeviation: Double
  /// Deviation of the mounting about the vehicle's right and up axes, degrees.
  public var mountingDeviation: SIMD2<Double>
  /// Metres of circles around the position that hold the true one in 68 and 95 % of cases.
  public var radius68: Double
  public var radius95: Double
  /// m, one deviation of the height.
  public var verticalDeviation: Double
  public var source: PositionSource
  /// s since the last position of the receiver that was believed.
  public var sinceFix: Double
  /// Whether the vehicle stands.
  public var isStopped: Bool
  /// rad/s, device frame: what to subtract from the gyroscope.
  public var gyroscopeBias: Vector3
  /// m/s², device frame: what to subtract from the accelerometer.
  public var accelerometerBias: Vector3
  /// m/s², east, north, up: acceleration without gravity, low-passed over 0.15 s.
  public var acceleration: Vector3
  /// s that positions of the receiver are late by on the inertial sensors' time line.
  public var positionLatency: Double
}

extension NavigationEstimate {
  /// m/s from which a velocity has a direction.
  private static let slowest = 1.0
  /// s over which `acceleration` is low-passed.
  static let accelerationTime = 0.15

  /// m/s over ground; zero while the vehicle stands.
  public var speed: Double { isStopped ? 0 : hypot(velocity.x, velocity.y) }

  /// Direction of travel, degrees clockwise from true north, 0 ..< 360; nil below 1 m/s.
  public var course: Double? {
    speed >= Self.slowest ? normalizedDegrees(atan2(velocity.x, velocity.y).degrees) : nil
  }

  /// Degrees, one deviation of the course.
  public var courseDeviation: Double? {
    course == nil ? nil : min(180, (velocityDeviation / speed).degrees)
  }
}

/// One position of an outage, corrected afterwards.
public struct CorrectedPosition: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Of the device, and of the receiver's antenna.
  public var coordinate: Coordinate
  public var antennaCoordinate: Coordinate
  /// What was known of the device's at the time.
  public var live: Coordinate
  /// Metres of circles that hold the true position in 68 and 95 % of cases.
  public var radius68: Double
  public var radius95: Double
}

/// Forward speed of the wheels, from CAN or OBD.
public struct WheelSpeed: Hashable, Sendable {
  public var timestamp: Timestamp
  /// m/s, at least 0 in either direction.
  public var speed: Double
  /// m/s, one standard deviation; nil for that of `NavigationFilter.Parameters`, which is right for wheels on CAN.
  public var deviation: Double?

  public init(timestamp: Timestamp, speed: Double, deviation: Double? = nil) {
    self.timestamp = timestamp
    self.speed = speed
    self.deviation = deviation
  }
}

/// What happened since the start.
public struct NavigationCounters: Hashable, Sendable {
  /// Samples that were not in order, not finite or absurd.
  public var refusedSamples = 0
  /// Gaps in the inertial samples.
  public var gaps = 0
  /// Fixes that came too late, with a time ahead of the samples, or were not finite.
  public var refusedFixes = 0
  /// Fixes whose position contradicted the motion.
  public var outliers = 0
  /// Times that a contradiction lasted, and the receiver was believed after all.
  public var jumps = 0
  /// Wheel speeds that contradicted the motion.
  public var refusedSpeeds = 0
  /// Alignments, and how often one was given up.
  public var alignments = 0
  public var realignments = 0
  /// Times that the motion or the receiver contradicted what was taken for known.
  public var contradictions = 0
  /// Starts from a kept place without a receiver, and how many of them the first fixes contradicted.
  public var resumptions = 0
  public var contradictedResumptions = 0
}
