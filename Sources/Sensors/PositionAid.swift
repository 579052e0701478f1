public import Spatial

/// Where a receiver is about, from somebody else than its satellites: told to it so that it finds them sooner.
public struct PositionAid: Hashable, Sendable {
  /// When it was so, on the device's time line.
  public var timestamp: Timestamp
  public var coordinate: Coordinate
  /// Metres at 68 %, above 0.
  public var horizontalAccuracy: Double
  /// Civil time at `timestamp`; nil where the clock is not known to be right.
  public var time: UTCTime?

  public init(timestamp: Timestamp, coordinate: Coordinate, horizontalAccuracy: Double, time: UTCTime? = nil)
  {
    self.timestamp = timestamp
    self.coordinate = coordinate
    self.horizontalAccuracy = horizontalAccuracy
    self.time = time
  }
}
