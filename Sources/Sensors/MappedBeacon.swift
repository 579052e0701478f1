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
  /// Range of possible signals in dBm.
  package static let signals = -150.0...0

  /// True if all values are plausible. Implausible entries are not used.
  public var isSound: Bool {
    coordinate.isValid && Self.reaches.contains(reach) && (1...65_535).contains(sightings) && lastSeen >= 0
      && strongest.map { Self.signals.contains($0) } ?? true
  }
}

/// A source of beacon positions. It must answer without delay, because it is called on the pipeline's thread.
public protocol BeaconMap: Sendable {
  /// - Returns: the known entries in any order; they may be wrong, and the caller must validate them.
  func lookUp(_ beacons: [Beacon]) -> [MappedBeacon]
}
