public import Sensors
public import Spatial

/// What the agent can tell about motion and heading.
public enum MotionOutput: String, Hashable, Sendable, CaseIterable, Comparable {
  case gravity
  case userAcceleration
  case rotationRate
  case attitude
  case magneticField
  case magneticHeading
  case trueHeading
  case location

  /// The sensors without which it cannot be told. Gravity and user acceleration come from the accelerometer alone where
  /// there is no gyroscope, less well.
  public var neededSensors: Set<SensorKind> {
    switch self {
    case .gravity, .userAcceleration: [.accelerometer]
    case .rotationRate: [.gyroscope]
    case .attitude: [.accelerometer, .gyroscope]
    case .magneticField: [.magnetometer]
    case .magneticHeading: [.accelerometer, .gyroscope, .magnetometer]
    case .trueHeading: [.accelerometer, .gyroscope, .magnetometer, .positioning]
    case .location: [.positioning]
    }
  }

  public static func < (a: MotionOutput, b: MotionOutput) -> Bool { a.rawValue < b.rawValue }
}

extension AttitudeReferenceFrame {
  /// The frames that a set of sensors can serve. True north needs a position for the declination.
  public static func available(with sensors: Set<SensorKind>) -> Set<AttitudeReferenceFrame> {
    guard sensors.isSuperset(of: [.accelerometer, .gyroscope]) else { return [] }
    guard sensors.contains(.magnetometer) else { return [.xArbitraryZVertical] }
    var frames: Set<AttitudeReferenceFrame> = [
      .xArbitraryZVertical, .xArbitraryCorrectedZVertical, .xMagneticNorthZVertical,
    ]
    if sensors.contains(.positioning) { frames.insert(.xTrueNorthZVertical) }
    return frames
  }
}
