internal import Glibc

/// The ICAO standard atmosphere (Doc 7488, 1993) below 11 km: pressure as a function of altitude.
public enum StandardAtmosphere {
  /// The pressure at mean sea level, Pa.
  public static let seaLevelPressure = 101_325.0

  /// The temperature at mean sea level (K), the lapse rate (K/m) and the exponent g M / (R L) of the
  /// barometric formula.
  private static let (temperature, lapse, exponent) = (288.15, 0.0065, 5.25588)

  /// Returns the ratio of the pressure at an altitude (m above mean sea level) to the pressure at sea level.
  public static func pressureRatio(altitude: Double) -> Double {
    pow(max(0.01, 1 - lapse / temperature * altitude), exponent)
  }

  /// Returns the altitude in metres above mean sea level at which a pressure (Pa, above zero) occurs. In real
  /// weather this altitude is off by tens of metres. A difference of two altitudes is off by the percentage
  /// by which the air temperature (K) deviates from the standard.
  public static func altitude(pressure: Double) -> Double {
    temperature / lapse * (1 - pow(pressure / seaLevelPressure, 1 / exponent))
  }
}
