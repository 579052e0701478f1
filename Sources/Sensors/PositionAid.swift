public import Spatial

/// An approximate position from another source, sent to a receiver so that it finds its satellites sooner.
public struct PositionAid: Hashable, Sendable {
  /// The time of the position on the device's time line.
  public var timestamp: Timestamp
  public var coordinate: Coordinate
  /// The 68 % radius in m, above 0.
  public var horizontalAccuracy: Double
  /// Civil time at `timestamp`; nil if the clock is not known to be correct.
  public var time: UTCTime?

  public init(timestamp: Timestamp, coordinate: Coordinate, horizontalAccuracy: Double, time: UTCTime? = nil)
  {
    self.timestamp = timestamp
    self.coordinate = coordinate
    self.horizontalAccuracy = horizontalAccuracy
    self.time = time
  }
}
