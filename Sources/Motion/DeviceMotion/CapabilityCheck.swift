public import Sensors
public import Spatial

/// Holds the sensors that a vehicle must have against those that are there.
public struct CapabilityCheck: Hashable, Sendable {
  /// Required but not there, in order: the agent must not start without them.
  public let missing: [SensorKind]
  /// What cannot be told with what is there, in order.
  public let unavailableOutputs: [MotionOutput]
  /// What can be told only with less certainty, with the reason.
  public let degradedOutputs: [MotionOutput: String]

  public init(required: Set<SensorKind>, present: Set<SensorKind>) {
    missing = required.subtracting(present).sorted()
    let unavailable = MotionOutput.allCases.filter { !$0.neededSensors.isSubset(of: present) }
    unavailableOutputs = unavailable.sorted()
    var degraded: [MotionOutput: String] = [:]
    if present.contains(.accelerometer), !present.contains(.gyroscope) {
      for output in [MotionOutput.gravity, .userAcceleration] {
        degraded[output] = "no gyroscope: a long, even acceleration is taken for a slope"
      }
    }
    if present.isSuperset(of: [.accelerometer, .gyroscope]), !present.contains(.magnetometer) {
      degraded[.attitude] = "no magnetometer: yaw drifts with the gyroscope"
    }
    degradedOutputs = degraded
  }

  /// Whether all required sensors are there.
  public var isSatisfied: Bool { missing.isEmpty }

  /// One sentence for the person on call; nil when nothing is missing.
  public var complaint: String? {
    guard !isSatisfied else { return nil }
    let names = missing.map(\.rawValue).joined(separator: ", ")
    return "required sensors are missing: \(names); attach them or take them out of the required sensors"
  }
}

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
