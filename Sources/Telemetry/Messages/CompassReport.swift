internal import JSON
public import Spatial
public import VehicleData

/// State of the magnetometer's calibration, with an instruction if it is insufficient. The message `heading`
/// contains its members directly, the message `status` in the member `compass`.
public struct CompassReport: Hashable, Sendable {
  /// Field in µT, corrected for the device's own magnetism as far as the calibration has determined it; nil
  /// without a magnetometer. The field is in the device frame, or if a level is set in the frame of the level
  /// vehicle.
  public var magneticField: Vector3?
  /// Accuracy of the calibration; nil if not reported.
  public var calibration: MagneticFieldCalibrationAccuracy?
  /// True if the magnetometer needs a calibration.
  public var isCalibrationWanted = false
  /// Instruction for the user; nil if none is required.
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
  /// Name on the wire.
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
