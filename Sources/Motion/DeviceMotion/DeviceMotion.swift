public import Spatial
public import VehicleData

/// The magnetic field around the device, corrected for the device's own magnetism as far as a calibration is
/// available.
@frozen
public struct CalibratedMagneticField: Hashable, Sendable {
  /// Field in µT, device frame.
  public var field: Vector3
  public var accuracy: MagneticFieldCalibrationAccuracy
}

/// Fused motion of the device at one time.
///
/// Without a gyroscope the motion is degraded. The attitude then comes from the magnetometer; without a
/// magnetometer, only gravity and user acceleration are available. `unavailableOutputs` lists the missing
/// outputs, and `degradation` describes the cause.
@frozen
public struct DeviceMotion: Hashable, Sendable {
  /// Hardware time of the newest inertial sample included.
  public var timestamp: Timestamp
  public var frame: AttitudeReferenceFrame
  /// Attitude in `frame`; nil without both gyroscope and magnetometer.
  public var attitude: Attitude?
  /// Rotation rate in rad/s, device frame, bias removed; nil without a gyroscope.
  public var rotationRate: Vector3?
  /// Direction of gravity in g, device frame, length one: (0, 0, -1) if the device lies flat.
  public var gravity: Vector3
  /// Acceleration in g, device frame, without gravity, in Core Motion's sign convention: the direction in
  /// which loose objects move. Speeding up gives (0, -, 0), braking (0, +, 0), a left curve (+, 0, 0).
  public var userAcceleration: Vector3
  /// Calibrated magnetic field; nil without a magnetometer.
  public var magneticField: CalibratedMagneticField?
  /// Direction of the device's top in degrees clockwise from the frame's north, 0 ..< 360; nil in frames
  /// without a north.
  public var heading: Double?
  /// The reason for reduced quality or for another frame than the requested one, and the remedy; nil with all
  /// sensors.
  public var degradation: String?

  /// Outputs that are unavailable because a sensor is missing.
  public var unavailableOutputs: Set<MotionOutput> {
    var outputs: Set<MotionOutput> = []
    if attitude == nil { outputs.insert(.attitude) }
    if rotationRate == nil { outputs.insert(.rotationRate) }
    if magneticField == nil { outputs.insert(.magneticField) }
    if heading == nil { outputs.insert(frame == .xTrueNorthZVertical ? .trueHeading : .magneticHeading) }
    return outputs
  }
}

extension DeviceMotion {
  /// Returns the same motion in device axes rotated by `rotation`.
  func turned(by rotation: Quaternion) -> DeviceMotion {
    var turned = self
    turned.attitude = attitude?.turned(by: rotation)
    turned.rotationRate = rotationRate.map(rotation.rotate)
    turned.gravity = rotation.rotate(gravity)
    turned.userAcceleration = rotation.rotate(userAcceleration)
    turned.magneticField?.field = rotation.rotate(magneticField?.field ?? .zero)
    turned.heading = frame.hasNorth ? turned.attitude.flatMap { $0.heading() } : nil
    return turned
  }
}

extension Attitude {
  /// Returns the attitude of axes obtained by rotating the device's coordinates by `rotation`.
  func turned(by rotation: Quaternion) -> Attitude {
    Attitude(quaternion: (quaternion * rotation.conjugate).normalized)
  }
}

extension MagneticFieldCalibrationAccuracy {
  /// - Parameter bound: observed bound of the heading error in rad. It must be well below a level's limit:
  ///   after few observations, the true error exceeds the bound by up to 50 % in simulations.
  init(headingBound bound: Double) {
    switch bound * 180 / .pi {
    case ...3: self = .high
    case ...6: self = .medium
    case ...12: self = .low
    default: self = .uncalibrated
    }
  }
}
