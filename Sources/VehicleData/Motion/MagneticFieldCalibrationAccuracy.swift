/// Accuracy of the magnetometer's calibration, expressed as the heading error that the device's own magnetism
/// and an uneven field may cause. A level is reported only if observations support it: a device that has not
/// been rotated since its magnetism became unknown is `uncalibrated`, even if its readings are steady.
public enum MagneticFieldCalibrationAccuracy: Int, Hashable, Sendable, CaseIterable, Comparable {
  case uncalibrated = -1
  /// Heading error of at most 20°.
  case low = 0
  /// Heading error of at most 10°.
  case medium = 1
  /// Heading error of at most 5°.
  case high = 2

  /// Maximum heading error in degrees; nil if uncalibrated.
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
