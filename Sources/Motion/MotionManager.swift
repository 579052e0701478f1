internal import Glibc
public import Sensors
public import Spatial

/// Fuses the inertial sensors into `DeviceMotion`.
///
/// A value type without I/O: samples go in with their time, in order of time for each sensor; the motion can be asked
/// for at any moment. The filter behind it can be replaced without any caller noticing.
public struct MotionManager: Sendable {
  /// The frame that attitudes are expressed in.
  public var frame: AttitudeReferenceFrame
  /// Degrees by which magnetic north lies east of true north here; nil when unknown.
  public var declination: Double?

  private var filter = AttitudeFilter()
  private var accelerometer: AccelerometerData?
  private var gyro: GyroData?
  private var magnetometer: MagnetometerData?

  public init(frame: AttitudeReferenceFrame) {
    self.frame = frame
  }

  public mutating func process(_ block: [AccelerometerData]) {
    for sample in block { filter.update(accelerometer: sample.specificForce, at: sample.timestamp) }
    accelerometer = block.last ?? accelerometer
  }

  public mutating func process(_ block: [GyroData]) {
    for sample in block { filter.update(gyroscope: sample.rotationRate, at: sample.timestamp) }
    gyro = block.last ?? gyro
  }

  public mutating func process(_ block: [MagnetometerData]) {
    for sample in block { filter.update(magnetometer: sample.magneticField, at: sample.timestamp) }
    magnetometer = block.last ?? magnetometer
  }

  /// The newest samples as they came in; nil before the first.
  public var accelerometerData: AccelerometerData? { accelerometer }
  public var gyroData: GyroData? { gyro }
  public var magnetometerData: MagnetometerData? { magnetometer }

  /// The fused motion now; nil until accelerometer and gyroscope have spoken, and in a north frame until the
  /// magnetometer has (and, for true north, until a declination is known).
  public var deviceMotion: DeviceMotion? {
    guard let accelerometer, let gyro, let attitude = attitude(in: frame) else { return nil }
    let gravity = attitude.rotationMatrix * Vector3(0, 0, -1)
    var motion = DeviceMotion(
      timestamp: max(accelerometer.timestamp, gyro.timestamp), frame: frame, attitude: attitude,
      rotationRate: gyro.rotationRate - filter.gyroscopeBias, gravity: gravity,
      userAcceleration: accelerometer.acceleration - gravity)
    if let magnetometer {
      motion.magneticField = CalibratedMagneticField(
        field: magnetometer.magneticField, accuracy: .uncalibrated)
    }
    switch frame {
    case .xMagneticNorthZVertical, .xTrueNorthZVertical: motion.heading = Self.heading(of: attitude)
    case .xArbitraryZVertical, .xArbitraryCorrectedZVertical: break
    }
    return motion
  }

  /// Degrees clockwise from magnetic north to which the device's top points; nil without a magnetometer, or when the
  /// top points straight up or down.
  public var magneticHeading: Double? {
    attitude(in: .xMagneticNorthZVertical).flatMap(Self.heading)
  }

  private func attitude(in frame: AttitudeReferenceFrame) -> Attitude? {
    guard accelerometer != nil, gyro != nil else { return nil }
    // The filter's earth frame has y to the north; Core Motion's north frames have x there.
    let northToX = Quaternion(angle: -.pi / 2, axis: Vector3(0, 0, 1))
    switch frame {
    case .xArbitraryZVertical: return Attitude(quaternion: filter.quaternion6D)
    case .xArbitraryCorrectedZVertical: return filter.quaternion9D.map(Attitude.init)
    case .xMagneticNorthZVertical:
      return filter.quaternion9D.map { Attitude(quaternion: (northToX * $0).normalized) }
    case .xTrueNorthZVertical:
      guard let declination, let quaternion = filter.quaternion9D else { return nil }
      let turn = Quaternion(angle: -declination.radians, axis: Vector3(0, 0, 1))
      return Attitude(quaternion: (turn * northToX * quaternion).normalized)
    }
  }

  /// The compass direction of the device's y axis in a frame whose x axis points north.
  private static func heading(of attitude: Attitude) -> Double? {
    let top = attitude.quaternion.rotate(Vector3(0, 1, 0))
    guard top.x * top.x + top.y * top.y > 1e-6 else { return nil }
    return normalizedDegrees(-atan2(top.y, top.x).degrees)
  }
}
