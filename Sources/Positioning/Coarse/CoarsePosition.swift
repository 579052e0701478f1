public import Spatial

/// Where the device is by what its radios hear: good to tens of metres in a town, to a kilometre by a cell alone.
public struct CoarsePosition: Hashable, Sendable {
  /// When the scan ended.
  public var timestamp: Timestamp
  public var coordinate: Coordinate
  /// Metres: the true position lies within this radius with 68 % confidence.
  public var horizontalAccuracy: Double
  /// Metres: the same with 95 %. It is no fixed multiple of the other: a beacon may have moved, and then the device is far off.
  public var radius95: Double
  /// Beacons that agree on it; 1 for the reach of a single one.
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
