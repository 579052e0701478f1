internal import Glibc
public import Sensors
public import Spatial

/// The state of navigation.
public enum NavigationState: Hashable, Sendable {
  /// Not started.
  case waiting(Reason)
  /// Observing the vehicle's motion. A drive of 8 to 40 s with a turn or a change of speed is sufficient.
  case aligning
  /// Attitude and mounting are known, and positions continue without a receiver.
  case aligned

  /// The reason why navigation is not aligned.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// No inertial samples have arrived.
    case noInertialSamples
    /// The gyroscope is missing, so dead reckoning is impossible.
    case noGyroscope
    /// The accelerometer is missing.
    case noAccelerometer
    /// The receiver has no position.
    case noFix
    /// The receiver does not report a velocity.
    case noVelocity
    /// The vehicle has not moved: yaw and mounting are not observable at rest.
    case standing
    /// Measurements contradict the mounting: the device was turned or removed.
    case contradicted
    /// The device is carried by a person.
    case walking
    /// Inertial samples were missing for too long.
    case gap
    /// The position without a receiver has become too uncertain.
    case uncertain
  }
}

/// The kind of motion of a vehicle, which selects the constraints of the filter.
public enum VehicleMotion: String, Hashable, Sendable, CaseIterable {
  /// Wheels or rails: the vehicle moves in the direction of its axis, and its vibration shows rest.
  case wheeled
  /// A truck or a long bus, whose tyres slip more in curves.
  case truck
  /// A boat: currents, wind and curves move it sideways.
  case boat
}

/// Position, motion and attitude of the vehicle, with their accuracy.
public struct NavigationEstimate: Hashable, Sendable {
  /// The time of the last inertial sample.
  public var timestamp: Timestamp
  /// The position of the device.
  public var coordinate: Coordinate
  /// The position of the receiver's antenna, as far as the lever arm is known. It is comparable with the
  /// receiver's fixes.
  public var antennaCoordinate: Coordinate
  /// The altitude in m above the reference surface of the receiver's altitudes; nil before the receiver's
  /// first altitude.
  public var altitude: Double?
  /// True if the altitude is above the WGS 84 ellipsoid, false if above mean sea level.
  public var isAltitudeEllipsoidal: Bool
  /// The velocity east, north, up in m/s.
  public var velocity: Vector3
  /// The standard deviation of the horizontal velocity about its worse axis, m/s.
  public var velocityDeviation: Double
  /// The rotation from the device frame to east, north, up.
  public var attitude: Quaternion
  /// The rotation from right, forward, up of the vehicle to east, north, up.
  public var vehicleAttitude: Quaternion
  /// The rotation from the device frame to right, forward, up of the vehicle.
  public var mounting: Quaternion
  /// The heading of the vehicle in degrees clockwise from true north, 0 ..< 360.
  public var heading: Double
  /// The standard deviation of the attitude about a horizontal axis, degrees.
  public var tiltDeviation: Double
  /// The standard deviation of the attitude about the vertical, degrees.
  public var headingDeviation: Double
  /// The standard deviations of the mounting about the vehicle's right and up axes, degrees.
  public var mountingDeviation: SIMD2<Double>
  /// The radius in m of the circle around the position that contains the true position with 68 % probability.
  public var radius68: Double
  /// The radius in m of the circle around the position that contains the true position with 95 % probability.
  public var radius95: Double
  /// The standard deviation of the height, m.
  public var verticalDeviation: Double
  public var source: PositionSource
  /// The time since the last accepted position of the receiver, s.
  public var sinceFix: Double
  /// True if the vehicle is at rest.
  public var isStopped: Bool
  /// The gyroscope bias in the device frame in rad/s, to be subtracted.
  public var gyroscopeBias: Vector3
  /// The accelerometer bias in the device frame in m/s², to be subtracted.
  public var accelerometerBias: Vector3
  /// The acceleration east, north, up without gravity in m/s², low-passed over 0.15 s.
  public var acceleration: Vector3
  /// The latency of the receiver's positions relative to the inertial sensors, s.
  public var positionLatency: Double
}

extension NavigationEstimate {
  /// The speed in m/s from which the course is defined.
  private static let slowest = 1.0
  /// The time constant of the low-pass of `acceleration`, s.
  static let accelerationTime = 0.15

  /// The ground speed in m/s; zero if the vehicle is at rest.
  public var speed: Double { isStopped ? 0 : hypot(velocity.x, velocity.y) }

  /// The course in degrees clockwise from true north, 0 ..< 360; nil below 1 m/s.
  public var course: Double? {
    speed >= Self.slowest ? normalizedDegrees(atan2(velocity.x, velocity.y).degrees) : nil
  }

  /// The standard deviation of the course in degrees; nil without a course.
  public var courseDeviation: Double? {
    course == nil ? nil : min(180, (velocityDeviation / speed).degrees)
  }
}

/// A position during an outage, corrected by later measurements.
public struct CorrectedPosition: Hashable, Sendable {
  public var timestamp: Timestamp
  /// The position of the device.
  public var coordinate: Coordinate
  /// The position of the receiver's antenna.
  public var antennaCoordinate: Coordinate
  /// The position of the device as estimated during the outage.
  public var live: Coordinate
  /// The radius in m of the circle that contains the true position of the device with 68 % probability.
  public var radius68: Double
  /// The radius in m of the circle that contains the true position of the device with 95 % probability.
  public var radius95: Double
}

/// The speed of the wheels, from CAN or OBD.
public struct WheelSpeed: Hashable, Sendable {
  public var timestamp: Timestamp
  /// The speed in m/s, at least 0 in either direction.
  public var speed: Double
  /// The standard deviation in m/s; nil for the value in `NavigationFilter.Parameters`, which applies to
  /// wheels on CAN.
  public var deviation: Double?

  public init(timestamp: Timestamp, speed: Double, deviation: Double? = nil) {
    self.timestamp = timestamp
    self.speed = speed
    self.deviation = deviation
  }
}

/// Counters since the start.
public struct NavigationCounters: Hashable, Sendable {
  /// Number of samples that were out of order, not finite or implausible.
  public var refusedSamples = 0
  /// Number of gaps in the inertial samples.
  public var gaps = 0
  /// Number of fixes that were too late, ahead of the samples or not finite.
  public var refusedFixes = 0
  /// Number of fixes whose position contradicted the motion.
  public var outliers = 0
  /// Number of persistent contradictions after which the receiver was accepted again.
  public var jumps = 0
  /// Number of wheel speeds that contradicted the motion.
  public var refusedSpeeds = 0
  /// Number of alignments.
  public var alignments = 0
  /// Number of alignments that were revoked.
  public var realignments = 0
  /// Number of contradictions between the alignment and the motion or the receiver.
  public var contradictions = 0
  /// Number of starts from a stored position without a receiver.
  public var resumptions = 0
  /// Number of starts from a stored position that the first fixes contradicted.
  public var contradictedResumptions = 0
}
