internal import Glibc
public import Spatial

/// What is worth keeping of one device in one vehicle across restarts: a plain value.
///
/// The next start then needs no driving, and with `lastState` not even a receiver. It is discarded where the samples or the
/// fixes contradict it. `text` is its form in a file.
public struct NavigationCalibration: Hashable, Sendable {
  /// When it was kept; nil where nobody has said so. The filter knows no civil time: the caller sets it.
  public var made: UTCTime?
  /// The same moment on the device's time line, and which one that is; nil where nobody has said so.
  public var moment: Moment?
  /// From the device frame to right, forward, up of the vehicle.
  public var mounting: Quaternion
  /// rad: its deviation about the vehicle's right and up axes.
  public var mountingDeviation: SIMD2<Double>
  /// rad/s and m/s², device frame: what to subtract.
  public var gyroscopeBias: Vector3
  public var accelerometerBias: Vector3
  /// rad/s and m/s²: one deviation of these about the worst axis.
  public var gyroscopeBiasDeviation: Double
  public var accelerometerBiasDeviation: Double
  /// Scale of the gyroscope less one, by axis.
  public var gyroscopeScale: Vector3
  /// m: how far the rear axle is behind the device.
  public var axleLever: Double
  /// m, vehicle frame: from the device to the antenna.
  public var antennaLever: Vector3
  /// s that positions are late, and velocities beyond that.
  public var positionLatency: Double
  public var velocityLatency: Double
  /// Scale of the wheel speed less one.
  public var speedScale: Double
  /// How the device shakes while the vehicle stands and while it drives.
  public var standing: Shaking
  public var driving: Shaking
  /// Where the vehicle was and how it moved; nil where that may not be kept.
  public var lastState: LastState?

  /// A moment on a time line that begins anew with each start of the machine.
  public struct Moment: Hashable, Sendable {
    /// Identity of the time line, one word without spaces, such as the kernel's `boot_id`.
    public var timeline: String
    public var timestamp: Timestamp

    public init(timeline: String, timestamp: Timestamp) {
      self.timeline = timeline
      self.timestamp = timestamp
    }
  }

  /// What stops are told by: mean and variance of four logarithms of deviations, learned while there was a receiver.
  public struct Shaking: Hashable, Sendable {
    /// Of the force's and the rate's differences between neighbours, and of the force and the rate themselves.
    public var mean = SIMD4<Double>.zero
    public var variance = SIMD4<Double>.zero
    /// s of evidence; 0 where nothing was learned.
    public var seconds = 0.0
  }

  /// The vehicle at the moment when the calibration was kept, and how well that was known.
  public struct LastState: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Metres above the surface that the receiver's altitudes refer to; nil before there was one.
    public var altitude: Double?
    /// Whether the altitude is above the WGS 84 ellipsoid; else it is above mean sea level.
    public var isAltitudeEllipsoidal: Bool
    /// From the device frame to east, north, up.
    public var attitude: Quaternion
    /// m/s east, north, up.
    public var velocity: Vector3
    /// m: one deviation about the worse axis in the plane, and of the height.
    public var positionDeviation: Double
    public var heightDeviation: Double
    /// m/s: one deviation about the worst axis.
    public var velocityDeviation: Double
    /// rad: one deviation of the attitude about a horizontal axis and about the vertical.
    public var tiltDeviation: Double
    public var headingDeviation: Double
    /// s since the last position of the receiver that was believed.
    public var sinceFix: Double
    /// Whether the vehicle stood.
    public var isStopped: Bool
  }

  /// Heading of the vehicle when this was kept, degrees clockwise from true north, 0 ..< 360; nil without a last state.
  public var heading: Double? {
    guard let lastState else { return nil }
    let forward = (lastState.attitude * mounting.conjugate).rotate(Vector3(0, 1, 0))
    return normalizedDegrees(atan2(forward.x, forward.y).degrees)
  }

  /// Whether all numbers are finite and possible.
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
