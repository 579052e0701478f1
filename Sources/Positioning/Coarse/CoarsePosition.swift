public import Spatial

/// A position from radio scans, accurate to tens of metres in a town, and to a kilometre from a cell alone.
public struct CoarsePosition: Hashable, Sendable {
  /// Time of the end of the scan.
  public var timestamp: Timestamp
  public var coordinate: Coordinate
  /// Radius in m that contains the true position with 68 % confidence.
  public var horizontalAccuracy: Double
  /// Radius in m that contains the true position with 95 % confidence. It is not a fixed multiple of the 68 %
  /// radius, because a relocated beacon causes a large error.
  public var radius95: Double
  /// Number of beacons that agree with the position; 1 for a position from a single beacon.
  public var beacons: Int

  public init(
    timestamp: Timestamp, coordinate: Coordinate, horizontalAccuracy: Double, radius95: Double, beacons: Int
  ) {
    self.timestamp = timestamp
    self.coordinate = coordinate
    self.horizontalAccuracy = horizontalAccuracy
    self.radius95 = radius95
    self.beacons = beacons
  }
}
