internal import Glibc
public import Sensors
public import Spatial

/// Where a transmitter stands and how far it is heard, as the map has it.
public struct MappedBeacon: Hashable, Sendable {
  public var beacon: Beacon
  /// Of the places where it is heard, the middle: an access point's own place, and that of a cell which is one sector of a mast's
  /// in front of the mast.
  public var coordinate: Coordinate
  /// Metres: one standard deviation (per axis) of where a vehicle is that hears it.
  public var reach: Double
  /// How often it was heard beside a good fix, 1 ... 65535.
  public var sightings: Int
  /// The day it was last heard, days since 1970.
  public var lastSeen: Int
  /// dBm: the strongest signal with which it was heard beside a good fix, so how near the places are where it was learned; nil where
  /// that is not known: a fleet's map does not tell it.
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

  /// Metres that a reach may have: less is not measured in the traffic, and more is beyond the horizon of a mast.
  public static let reaches = 1.0...50_000

  /// Whether all of it can be true. What is not, no locator uses.
  public var isSound: Bool {
    coordinate.isValid && Self.reaches.contains(reach) && (1...65_535).contains(sightings) && lastSeen >= 0
      && strongest.map { PathLoss.signals.contains($0) } ?? true
  }
}

/// What knows where transmitters stand. Answers at once; asked on the pipeline's thread.
public protocol BeaconMap: Sendable {
  /// - Returns: what is known, in any order; unknown ones are left out. It may be wrong: whoever asks judges it.
  func lookUp(_ beacons: [Beacon]) -> [MappedBeacon]
}

extension Beacon.Technology {
  /// Metres: the reach of a transmitter of which no more is known (per axis, as `MappedBeacon.reach`): an access point in a town;
  /// a cell of one or a few kilometres.
  var usualReach: Double {
    switch self {
    case .wifi: 60
    case .gsm: 1500
    case .umts, .lte: 1000
    case .nr: 500
    }
  }

  /// Metres: from a place where one is heard to the middle of such places at most. Wi-Fi is heard over some hundred metres in
  /// the open, GSM up to 35 km by its own timing.
  var farthest: Double {
    switch self {
    case .wifi: 400
    case .gsm: 35_000
    case .umts, .lte: 20_000
    case .nr: 10_000
    }
  }

  /// Metres: a reach is not believed to be less, because whoever has heard it at one place only does not know better.
  var leastReach: Double { isCell ? 150 : 15 }
}

/// How far away a transmitter is by its signal, against how far it usually is when it is heard: log-distance path loss (T.
/// Rappaport, "Wireless Communications", 2nd ed., section 4.9) with the exponent of streets.
enum PathLoss {
  static let exponent = 3.0
  /// dBm at which transmitters are heard in the middle of their reach.
  private static func usualSignal(_ technology: Beacon.Technology) -> Double { technology.isCell ? -95 : -78 }
  /// What is near is reflected too, and what is far may be behind a wall.
  private static let bounds = 0.35...1.5
  /// dBm of what can be heard at all.
  static let signals = -150.0...0

  /// The distance's ratio to the usual one; 1 for what does not tell its signal, or an impossible one.
  static func ratio(_ sighting: BeaconSighting) -> Double {
    guard let signal = sighting.soundSignal else { return 1 }
    let ratio = pow(10, (usualSignal(sighting.beacon.technology) - signal) / (10 * exponent))
    return min(max(ratio, bounds.lowerBound), bounds.upperBound)
  }
}
