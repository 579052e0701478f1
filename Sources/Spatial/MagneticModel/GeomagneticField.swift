internal import Glibc

/// The earth's magnetic field at a position and time, from the World Magnetic Model.
public struct GeomagneticField: Hashable, Sendable {
  /// The field in µT along true north (X), east (Y) and down (Z).
  public let northEastDown: Vector3
  /// True if the date lies outside the model's validity. The values are then extrapolated, and their
  /// uncertainty grows with each year.
  public let isExpired: Bool

  private let yearsOutside: Double

  init(nanotesla: Vector3, isExpired: Bool, yearsOutside: Double) {
    northEastDown = nanotesla / 1000
    self.isExpired = isExpired
    self.yearsOutside = yearsOutside
  }

  /// Horizontal intensity (H), µT.
  public var horizontalIntensity: Double {
    (northEastDown.x * northEastDown.x + northEastDown.y * northEastDown.y).squareRoot()
  }

  /// Total intensity (F), µT.
  public var totalIntensity: Double { northEastDown.length }

  /// Inclination (I) in degrees below the horizontal, -90 ... 90.
  public var inclination: Double { atan2(northEastDown.z, horizontalIntensity).degrees }

  /// Declination (D): degrees by which magnetic north lies east of true north, -180 ... 180. At a pole, where
  /// true north is undefined, the value is the limit along the coordinate's meridian.
  public var declination: Double { atan2(northEastDown.y, northEastDown.x).degrees }

  /// The standard deviation of the declination in degrees, at most 180. The error model of WMM2025 is √(0.26²
  /// + (5.417 µT / H)²). It applies at sea level on open ground and includes the average contribution of the
  /// crust.
  ///
  /// Outside the model's years the uncertainty of the horizontal field grows by 0.03 µT per year. This is a
  /// conservative assumption of this project: it exceeds the change of the secular variation within a few
  /// years.
  public var declinationUncertainty: Double {
    let h = horizontalIntensity
    guard h > 0 else { return 180 }
    let aged = (0.03 * yearsOutside / h).degrees
    return min(180, (0.26 * 0.26 + (5.417 / h) * (5.417 / h) + aged * aged).squareRoot())
  }
}
