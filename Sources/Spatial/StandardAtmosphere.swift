internal import Glibc

/// The standard atmosphere (ICAO Doc 7488, 1993) below 11 km: how the pressure of the air falls with height.
public enum StandardAtmosphere {
  /// Pa at mean sea level.
  public static let seaLevelPressure = 101_325.0

  /// K at mean sea level, K less for each metre, and the exponent g M / (R L) of the barometric formula.
  private static let (temperature, lapse, exponent) = (288.15, 0.0065, 5.25588)

  /// The pressure at an altitude (m above mean sea level) as a share of that at sea level.
  public static func pressureRatio(altitude: Double) -> Double {
    pow(max(0.01, 1 - lapse / temperature * altitude), exponent)
  }

  /// Metres above mean sea level at which a pressure (Pa, above zero) is found. In real weather it is some tens of metres more
  /// or less, and a change of height wrong by as many per cent as the air's temperature (K) is.
  public static func altitude(pressure: Double) -> Double {
    temperature / lapse * (1 - pow(pressure / seaLevelPressure, 1 / exponent))
  }
}
