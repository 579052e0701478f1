internal import JSON
public import Motion
public import Spatial

/// What the magnetometer measures, how well it is calibrated, and what to do where that is not enough: members of `heading`,
/// and `compass` in `status`.
public struct CompassReport: Hashable, Sendable {
  /// µT, device frame or, while a level is in force, that of the level vehicle, free of the device's own magnetism as far as that
  /// is known; nil without a magnetometer.
  public var magneticField: Vector3?
  /// Nil when it is not told.
  public var calibration: MagneticFieldCalibrationAccuracy?
  /// Whether the magnetometer needs a calibration.
  public var isCalibrationWanted = false
  /// What a person can do for it; nil when nothing is wanted.
  public var instruction: String?

  public init() {}

  func write(to json: inout JSONWriter) {
    json.field("magneticField", magneticField, decimals: 1)
    json.field("calibration", calibration?.name)
    if isCalibrationWanted { json.field("calibrationWanted", true) }
    json.field("calibrationInstruction", instruction)
  }

  init(json: JSONValue?) {
    magneticField = json?["magneticField"]?.vector
    calibration = json?["calibration"]?.string.flatMap(MagneticFieldCalibrationAccuracy.init(name:))
    isCalibrationWanted = json?["calibrationWanted"]?.bool ?? false
    instruction = json?["calibrationInstruction"]?.string
  }
}

extension MagneticFieldCalibrationAccuracy {
  /// As it is written.
  public var name: String {
    switch self {
    case .uncalibrated: "uncalibrated"
    case .low: "low"
    case .medium: "medium"
    case .high: "high"
    }
  }

  init?(name: String) {
    guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = level
  }
}
