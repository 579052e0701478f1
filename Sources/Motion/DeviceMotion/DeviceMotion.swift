public import Spatial

/// How well the magnetometer is calibrated, by the error that the device's own magnetism and an uneven field may leave in
/// a heading. A level is claimed only for what was observed: a device that has not been turned since its magnetism became
/// unknown is uncalibrated, however steady its readings.
public enum MagneticFieldCalibrationAccuracy: Int, Hashable, Sendable, CaseIterable, Comparable {
  case uncalibrated = -1
  /// The heading is right within 20°.
  case low = 0
  /// The heading is right within 10°.
  case medium = 1
  /// The heading is right within 5°.
  case high = 2

  /// - Parameter bound: rad, within which the heading is right by the evidence. It must be well inside the level's promise:
  ///   in simulations the true error exceeds it by up to a half where the evidence itself is young.
  init(headingBound bound: Double) {
    switch bound * 180 / .pi {
    case ...3: self = .high
    case ...6: self = .medium
    case ...12: self = .low
    default: self = .uncalibrated
    }
  }

  /// Degrees within which a heading is right; nil when uncalibrated.
  public var headingError: Double? {
    switch self {
    case .uncalibrated: nil
    case .low: 20
    case .medium: 10
    case .high: 5
    }
  }

  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// The field around the device, free of the device's own magnetism as far as that is known.
@frozen
public struct CalibratedMagneticField: Hashable, Sendable {
  /// µT, device frame.
  public var field: Vector3
  public var accuracy: MagneticFieldCalibrationAccuracy
}

/// The fused motion of the device at one moment.
///
/// Without a gyroscope it is degraded: a magnetometer gives the attitude in its place, and without one gravity and user
/// acceleration are all there is; `unavailableOutputs` names the rest, and `degradation` says so in words.
@frozen
public struct DeviceMotion: Hashable, Sendable {
  /// Of the newest inertial sample that went in, from the hardware.
  public var timestamp: Timestamp
  public var frame: AttitudeReferenceFrame
  /// In `frame`; nil without a gyroscope and a magnetometer.
  public var attitude: Attitude?
  /// rad/s, device frame, bias removed; nil without a gyroscope.
  public var rotationRate: Vector3?
  /// g, device frame, length one: (0, 0, -1) when flat.
  public var gravity: Vector3
  /// g, device frame: what the user or the vehicle adds to gravity, with Core Motion's sign: what loose things inside
  /// would do. Speeding up reads (0, -, 0), braking (0, +, 0), a curve to the left (+, 0, 0).
  public var userAcceleration: Vector3
  /// Nil without a magnetometer.
  public var magneticField: CalibratedMagneticField?
  /// Degrees clockwise from the frame's north, 0 ..< 360, to which the device's top points; nil in frames
  /// that have no north.
  public var heading: Double?
  /// Why this is less well known than with all sensors, and what would help; nil when it is not.
  public var degradation: String?

  /// What could not be told, for want of a sensor.
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
  /// The same motion in other axes of the device: those to which `rotation` turns the coordinates of its own.
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
  /// The attitude of axes to which `rotation` turns the device's coordinates.
  func turned(by rotation: Quaternion) -> Attitude {
    Attitude(quaternion: (quaternion * rotation.conjugate).normalized)
  }
}
