internal import Glibc
public import Spatial

/// The parameters of one device in one vehicle that are stored across restarts. A plain value.
///
/// With it, the next start of the filter requires no driving, and with `lastState` no receiver. The
/// calibration is discarded if samples or fixes contradict it. `text` is its file format.
public struct NavigationCalibration: Hashable, Sendable {
  /// The civil time of the calibration; nil if unset. The filter has no civil time, so the caller sets it.
  public var made: UTCTime?
  /// The time of the calibration by a monotonic clock, with the identity of that clock; nil if unset.
  public var moment: Moment?
  /// The rotation from the device frame to right, forward, up of the vehicle.
  public var mounting: Quaternion
  /// The standard deviations of the mounting about the vehicle's right and up axes, rad.
  public var mountingDeviation: SIMD2<Double>
  /// The gyroscope bias in the device frame in rad/s, to be subtracted.
  public var gyroscopeBias: Vector3
  /// The accelerometer bias in the device frame in m/s², to be subtracted.
  public var accelerometerBias: Vector3
  /// The standard deviation of the gyroscope bias in its worst direction, rad/s.
  public var gyroscopeBiasDeviation: Double
  /// The standard deviation of the accelerometer bias in its worst direction, m/s².
  public var accelerometerBiasDeviation: Double
  /// The scale error of the gyroscope by axis (scale minus one).
  public var gyroscopeScale: Vector3
  /// The distance from the device back to the rear axle, m.
  public var axleLever: Double
  /// The vector from the device to the antenna in the vehicle frame, m.
  public var antennaLever: Vector3
  /// The latency of positions, s.
  public var positionLatency: Double
  /// The latency of velocities in addition to that of positions, s.
  public var velocityLatency: Double
  /// The scale error of the wheel speed (scale minus one).
  public var speedScale: Double
  /// The vibration of the device while the vehicle is at rest.
  public var standing: Shaking
  /// The vibration of the device while the vehicle drives.
  public var driving: Shaking
  /// The vehicle's position and motion; nil if it must not be stored.
  public var lastState: LastState?

  /// A time by a monotonic clock that restarts when the machine boots.
  public struct Moment: Hashable, Sendable {
    /// The identity of the clock's run since boot: one word without spaces, such as the kernel's `boot_id`.
    public var timeline: String
    /// The time of the clock `timeline`.
    public var timestamp: Timestamp

    public init(timeline: String, timestamp: Timestamp) {
      self.timeline = timeline
      self.timestamp = timestamp
    }
  }

  /// Vibration statistics for the detection of stops, learned while a receiver was available: mean and
  /// variance of the logarithms of four standard deviations.
  public struct Shaking: Hashable, Sendable {
    /// The means of the logarithms. The four deviations are those of the differences between consecutive
    /// samples of force and rate, and of force and rate themselves.
    public var mean = SIMD4<Double>.zero
    /// The variances of the logarithms, in the same order.
    public var variance = SIMD4<Double>.zero
    /// The duration in s of the data from which the statistics were learned; 0 if nothing was learned.
    public var seconds = 0.0
  }

  /// The state of the vehicle when the calibration was stored, with its accuracy.
  public struct LastState: Hashable, Sendable {
    public var coordinate: Coordinate
    /// The altitude in m above the reference surface of the receiver's altitudes; nil if the receiver
    /// reported no altitude.
    public var altitude: Double?
    /// True if the altitude is above the WGS 84 ellipsoid, false if above mean sea level.
    public var isAltitudeEllipsoidal: Bool
    /// The rotation from the device frame to east, north, up.
    public var attitude: Quaternion
    /// The velocity east, north, up in m/s.
    public var velocity: Vector3
    /// The standard deviation of the horizontal position in its worst direction, m.
    public var positionDeviation: Double
    /// The standard deviation of the height, m.
    public var heightDeviation: Double
    /// The standard deviation of the velocity about the worst axis, m/s.
    public var velocityDeviation: Double
    /// The standard deviation of the attitude about the worst horizontal axis, rad.
    public var tiltDeviation: Double
    /// The standard deviation of the attitude about the vertical axis, rad.
    public var headingDeviation: Double
    /// The time since the last accepted position of the receiver, s.
    public var sinceFix: Double
    /// True if the vehicle was at rest.
    public var isStopped: Bool
  }

  /// The vehicle's heading in the last state, degrees clockwise from true north, 0 ..< 360; nil without a
  /// last state.
  public var heading: Double? {
    guard let lastState else { return nil }
    let forward = (lastState.attitude * mounting.conjugate).rotate(Vector3(0, 1, 0))
    return normalizedDegrees(atan2(forward.x, forward.y).degrees)
  }

  /// True if all numbers are finite and plausible.
  public var isValid: Bool {
    mounting.isUnit && mountingDeviation.x >= 0 && mountingDeviation.y >= 0
      && mountingDeviation.x < 1 && mountingDeviation.y < 1 && gyroscopeBias.isFinite
      && gyroscopeBias.length < 0.5
      && accelerometerBias.isFinite && accelerometerBias.length < 5 && gyroscopeScale.isFinite
      && gyroscopeScale.length < 0.2 && abs(axleLever) < 30 && antennaLever.isFinite
      && antennaLever.length < 30
      && abs(positionLatency) < 2 && abs(velocityLatency) < 2 && abs(speedScale) < 0.5
      && (0..<0.5).contains(gyroscopeBiasDeviation) && (0..<5).contains(accelerometerBiasDeviation)
      && standing.isValid && driving.isValid && lastState?.isValid != false
  }
}

extension NavigationCalibration.Shaking {
  fileprivate var isValid: Bool {
    for index in 0..<4 where !(abs(mean[index]) < 100 && variance[index] >= 0 && variance[index] < 1e4) {
      return false
    }
    return seconds >= 0 && seconds < 1e6
  }
}

extension NavigationCalibration.LastState {
  fileprivate var isValid: Bool {
    coordinate.isValid && abs(coordinate.latitude) < 89.9 && abs(altitude ?? 0) < 1e5 && attitude.isUnit
      && velocity.isFinite
      && velocity.length < 200 && (0..<1e5).contains(positionDeviation) && (0..<1e5).contains(heightDeviation)
      && (0..<200).contains(velocityDeviation) && (0..<4).contains(tiltDeviation)
      && (0..<7).contains(headingDeviation) && sinceFix >= 0 && sinceFix.isFinite
  }
}

extension Quaternion {
  fileprivate var isUnit: Bool { isFinite && abs(norm - 1) < 1e-3 }
}
