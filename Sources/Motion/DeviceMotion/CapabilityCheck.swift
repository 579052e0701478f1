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

  /// The sensors without which it cannot be told at all. With these alone it may be told less well: see `limitation`.
  public var neededSensors: Set<SensorKind> {
    switch self {
    case .gravity, .userAcceleration: [.accelerometer]
    case .rotationRate: [.gyroscope]
    // With a gyroscope, or with a magnetometer in its place.
    case .attitude: [.accelerometer]
    case .magneticField: [.magnetometer]
    case .magneticHeading: [.accelerometer, .magnetometer]
    case .trueHeading: [.accelerometer, .magnetometer, .positioning]
    case .location: [.positioning]
    }
  }

  /// What keeps a device with these sensors from telling it well; nil when nothing does.
  public func limitation(with sensors: Set<SensorKind>) -> MotionLimitation? {
    let missing = neededSensors.subtracting(sensors).sorted()
    if !missing.isEmpty {
      return .unavailable(reason: "no \(missing.map(\.rawValue).joined(separator: " and no ")); attach one")
    }
    let (hasGyroscope, hasMagnetometer) = (sensors.contains(.gyroscope), sensors.contains(.magnetometer))
    switch self {
    case .gravity, .userAcceleration:
      return hasGyroscope
        ? nil : .degraded(reason: "no gyroscope: a long, even acceleration is taken for a slope; attach one")
    case .attitude:
      if hasGyroscope {
        return hasMagnetometer
          ? nil : .degraded(reason: "no magnetometer: yaw drifts with the gyroscope; attach one")
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

  public static func < (a: MotionOutput, b: MotionOutput) -> Bool { a.rawValue < b.rawValue }
}

/// Why an output is told less well than it could be, or not at all, with what would help.
public enum MotionLimitation: Hashable, Sendable {
  case degraded(reason: String)
  case unavailable(reason: String)
}

extension AttitudeReferenceFrame {
  /// The frames that a set of sensors can serve. True north needs a position for the declination; a magnetometer stands in
  /// for a gyroscope, less well.
  public static func available(with sensors: Set<SensorKind>) -> Set<AttitudeReferenceFrame> {
    guard sensors.contains(.accelerometer) else { return [] }
    var frames: Set<AttitudeReferenceFrame> = sensors.contains(.gyroscope) ? [.xArbitraryZVertical] : []
    guard sensors.contains(.magnetometer) else { return frames }
    frames.formUnion([.xArbitraryCorrectedZVertical, .xMagneticNorthZVertical])
    if sensors.contains(.positioning) { frames.insert(.xTrueNorthZVertical) }
    return frames
  }

  /// This frame and those that take its place while it cannot be served, the best first.
  public var withFallbacks: [AttitudeReferenceFrame] {
    let all: [AttitudeReferenceFrame] = [
      .xTrueNorthZVertical, .xMagneticNorthZVertical, .xArbitraryCorrectedZVertical, .xArbitraryZVertical,
    ]
    // Where there is no gyroscope, nothing but the magnetometer holds an arbitrary frame.
    return self == .xArbitraryZVertical
      ? [.xArbitraryZVertical, .xArbitraryCorrectedZVertical] : Array(all.drop { $0 != self })
  }
}

/// Holds the sensors that a vehicle must have against those that are there.
public struct CapabilityCheck: Hashable, Sendable {
  /// Required but not there, in order: the agent must not start without them.
  public let missing: [SensorKind]
  /// What cannot be told with what is there, or only less well.
  public let limitations: [MotionOutput: MotionLimitation]

  public init(required: Set<SensorKind>, present: Set<SensorKind>) {
    missing = required.subtracting(present).sorted()
    limitations = Dictionary(
      uniqueKeysWithValues: MotionOutput.allCases.compactMap { output in
        output.limitation(with: present).map { (output, $0) }
      })
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
