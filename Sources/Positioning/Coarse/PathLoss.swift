internal import Glibc
internal import Sensors

extension Beacon.Technology {
  /// Typical reach in m (per axis, like `MappedBeacon.reach`) of a transmitter without further information.
  /// Examples are an access point in a town, and a cell of one or a few kilometres.
  var usualReach: Double {
    switch self {
    case .wifi: 60
    case .gsm: 1500
    case .umts, .lte: 1000
    case .nr: 500
    }
  }

  /// Maximum distance in m between a position where a transmitter is heard and the centre of all such
  /// positions. Wi-Fi is heard over some hundred metres in the open. The timing of GSM limits a cell to 35
  /// km.
  var farthest: Double {
    switch self {
    case .wifi: 400
    case .gsm: 35_000
    case .umts, .lte: 20_000
    case .nr: 10_000
    }
  }

  /// Minimum assumed reach in m; sightings at a single position would underestimate the reach.
  var leastReach: Double { isCell ? 150 : 15 }
}

/// Distance of a transmitter by its signal, relative to its usual distance: log-distance path loss (T.
/// Rappaport, "Wireless Communications", 2nd ed., section 4.9) with the exponent of streets.
enum PathLoss {
  static let exponent = 3.0
  /// Returns the signal in dBm at the usual distance of a transmitter, where `ratio` is 1.
  private static func usualSignal(_ technology: Beacon.Technology) -> Double { technology.isCell ? -95 : -78 }
  /// Limits of the ratio of a distance to the usual distance. A strong signal may include reflections, and a
  /// weak one may come from a near transmitter behind a wall.
  private static let bounds = 0.35...1.5

  /// Returns the ratio of the distance that the signal indicates to the usual distance; 1 for unknown or
  /// invalid signals.
  static func ratio(_ sighting: BeaconSighting) -> Double {
    guard let signal = sighting.soundSignal else { return 1 }
    let ratio = pow(10, (usualSignal(sighting.beacon.technology) - signal) / (10 * exponent))
    return min(max(ratio, bounds.lowerBound), bounds.upperBound)
  }
}
