internal import Glibc
public import Sensors
public import Spatial

/// A map entry: position and reach of a transmitter.
public struct MappedBeacon: Hashable, Sendable {
  public var beacon: Beacon
  /// Centre of the positions where the beacon is heard. For an access point it is close to the transmitter;
  /// for a cell that is a sector, it is in front of the mast.
  public var coordinate: Coordinate
  /// Standard deviation (per axis) in m of the positions of vehicles that hear the beacon.
  public var reach: Double
  /// Number of sightings with accurate fixes, 1 ... 65535.
  public var sightings: Int
  /// Day of the last sighting, in days since 1970.
  public var lastSeen: Int
  /// Strongest signal in dBm heard with an accurate fix, which indicates how near the vehicles were. Nil if
  /// unknown, for example in a fleet's map.
  public var strongest: Double?

  public init(
    beacon: Beacon, coordinate: Coordinate, reach: Double, sightings: Int, lastSeen: Int,
    strongest: Double? = nil
  ) {
    self.beacon = beacon
    self.coordinate = coordinate
    self.reach = reach
    self.sightings = sightings
    self.lastSeen = lastSeen
    self.strongest = strongest
  }

  /// Valid range of a reach in m: less cannot be measured in traffic, and more is beyond a mast's horizon.
  public static let reaches = 1.0...50_000

  /// True if all values are plausible. Implausible entries are not used.
  public var isSound: Bool {
    coordinate.isValid && Self.reaches.contains(reach) && (1...65_535).contains(sightings) && lastSeen >= 0
      && strongest.map { PathLoss.signals.contains($0) } ?? true
  }
}

/// A source of beacon positions. It must answer without delay, because it is called on the pipeline's thread.
public protocol BeaconMap: Sendable {
  /// - Returns: the known entries in any order; they may be wrong, and the caller must validate them.
  func lookUp(_ beacons: [Beacon]) -> [MappedBeacon]
}

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
  /// Range of possible signals in dBm.
  static let signals = -150.0...0

  /// Returns the ratio of the distance that the signal indicates to the usual distance; 1 for unknown or
  /// invalid signals.
  static func ratio(_ sighting: BeaconSighting) -> Double {
    guard let signal = sighting.soundSignal else { return 1 }
    let ratio = pow(10, (usualSignal(sighting.beacon.technology) - signal) / (10 * exponent))
    return min(max(ratio, bounds.lowerBound), bounds.upperBound)
  }
}
