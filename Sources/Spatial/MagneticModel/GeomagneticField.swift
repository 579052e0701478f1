internal import Glibc

/// The Earth's magnetic field at a place and time, by the World Magnetic Model.
public struct GeomagneticField: Hashable, Sendable {
  /// µT along true north (X), east (Y) and down (Z).
  public let northEastDown: Vector3
  /// Whether the date lies outside the model's validity: the values are extrapolated, less certain with each year.
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

  /// Degrees below the horizontal (I), -90 ... 90.
  public var inclination: Double { atan2(northEastDown.z, horizontalIntensity).degrees }

  /// Degrees by which magnetic north lies east of true north (D), -180 ... 180. At a pole, where true north has no
  /// direction, it is the limit along the coordinate's meridian.
  public var declination: Double { atan2(northEastDown.y, northEastDown.x).degrees }

  /// Degrees, one standard deviation, at most 180: the error model of WMM2025, √(0.26² + (5.417 µT / H)²), which holds
  /// at sea level on open ground and includes what the crust adds on average.
  ///
  /// Outside the model's years 0.03 µT per year are added to the uncertainty of the horizontal field. That is an
  /// assumption of ours, on the safe side of what the yearly change itself changes within a few years.
  public var declinationUncertainty: Double {
    let h = horizontalIntensity
    guard h > 0 else { return 180 }
    let aged = (0.03 * yearsOutside / h).degrees
    return min(180, (0.26 * 0.26 + (5.417 / h) * (5.417 / h) + aged * aged).squareRoot())
  }
}
