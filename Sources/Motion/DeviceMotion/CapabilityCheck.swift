public import Sensors
public import Spatial

/// An output that depends on motion sensors.
public enum MotionOutput: String, Hashable, Sendable, CaseIterable, Comparable {
  case gravity
  case userAcceleration
  case rotationRate
  case attitude
  case magneticField
  case magneticHeading
  case trueHeading
  case location

  /// Sensors required for this output. With only these sensors, the quality of the output may be reduced: see
  /// `limitation`.
  public var neededSensors: Set<SensorKind> {
    switch self {
    case .gravity, .userAcceleration: [.accelerometer]
    case .rotationRate: [.gyroscope]
    // An attitude also requires a gyroscope or a magnetometer; `limitation` checks that.
    case .attitude: [.accelerometer]
    case .magneticField: [.magnetometer]
    case .magneticHeading: [.accelerometer, .magnetometer]
    case .trueHeading: [.accelerometer, .magnetometer, .positioning]
    case .location: [.positioning]
    }
  }

  /// Returns why these sensors provide this output with reduced quality or not at all; nil if they provide it
  /// fully.
  public func limitation(with sensors: Set<SensorKind>) -> MotionLimitation? {
    let missing = neededSensors.subtracting(sensors).sorted()
    if !missing.isEmpty {
      return .unavailable(reason: "no \(missing.map(\.rawValue).joined(separator: " and no ")); attach one")
    }
    let (hasGyroscope, hasMagnetometer) = (sensors.contains(.gyroscope), sensors.contains(.magnetometer))
    switch self {
    case .gravity, .userAcceleration:
      return hasGyroscope
        ? nil : .degraded(reason: "no gyroscope: a long, even acceleration looks like a slope; attach one")
    case .attitude:
      if hasGyroscope {
        return hasMagnetometer ? nil : .degraded(reason: Self.driftingYaw)
      }
      return hasMagnetometer
        ? .degraded(reason: "no gyroscope: it follows slowly and swings with every acceleration; attach one")
        : .unavailable(reason: "no gyroscope and no magnetometer; attach one of them")
    case .magneticHeading, .trueHeading:
      return hasGyroscope
        ? nil
        : .degraded(reason: "no gyroscope: it follows slowly and swings with every acceleration; attach one")
    case .rotationRate, .magneticField, .location: return nil
    }
  }

  static let driftingYaw = "no magnetometer: yaw drifts with the gyroscope; attach one"

  public static func < (a: MotionOutput, b: MotionOutput) -> Bool { a.rawValue < b.rawValue }
}

/// The reason why an output is degraded or unavailable, and the remedy.
public enum MotionLimitation: Hashable, Sendable {
  case degraded(reason: String)
  case unavailable(reason: String)
}

extension AttitudeReferenceFrame {
  /// Returns the frames that a set of sensors supports. True north requires a position for the declination. A
  /// magnetometer can replace a gyroscope, at lower quality.
  public static func available(with sensors: Set<SensorKind>) -> Set<AttitudeReferenceFrame> {
    guard sensors.contains(.accelerometer) else { return [] }
    var frames: Set<AttitudeReferenceFrame> = sensors.contains(.gyroscope) ? [.xArbitraryZVertical] : []
    guard sensors.contains(.magnetometer) else { return frames }
    frames.formUnion([.xArbitraryCorrectedZVertical, .xMagneticNorthZVertical])
    if sensors.contains(.positioning) { frames.insert(.xTrueNorthZVertical) }
    return frames
  }

  /// The requested frame and its fallbacks, in order of preference.
  public var withFallbacks: [AttitudeReferenceFrame] {
    let all: [AttitudeReferenceFrame] = [
      .xTrueNorthZVertical, .xMagneticNorthZVertical, .xArbitraryCorrectedZVertical, .xArbitraryZVertical,
    ]
    // Without a gyroscope, `xArbitraryZVertical` is unavailable. The frame corrected by the magnetometer
    // replaces it.
    return self == .xArbitraryZVertical
      ? [.xArbitraryZVertical, .xArbitraryCorrectedZVertical] : Array(all.drop { $0 != self })
  }
}

/// Compares the sensors that the configuration requires with those present.
public struct CapabilityCheck: Hashable, Sendable {
  /// Required sensors that are missing, in order. If any are missing, the agent must not start.
  public let missing: [SensorKind]
  /// Outputs that are degraded or unavailable with the present sensors.
  public let limitations: [MotionOutput: MotionLimitation]

  public init(required: Set<SensorKind>, present: Set<SensorKind>) {
    missing = required.subtracting(present).sorted()
    limitations = Dictionary(
      uniqueKeysWithValues: MotionOutput.allCases.compactMap { output in
        output.limitation(with: present).map { (output, $0) }
      })
  }

  /// True if all required sensors are present.
  public var isSatisfied: Bool { missing.isEmpty }

  /// Error message for the operator; nil if no sensor is missing.
  public var complaint: String? {
    guard !isSatisfied else { return nil }
    let names = missing.map(\.rawValue).joined(separator: ", ")
    return "required sensors are missing: \(names); attach them or take them out of the required sensors"
  }
}
