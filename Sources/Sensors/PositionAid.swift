public import Spatial

/// An approximate position from another source, sent to a receiver so that it finds its satellites sooner.
public struct PositionAid: Hashable, Sendable {
  /// The time of the position on the device's clock.
  public var timestamp: Timestamp
  public var coordinate: Coordinate
  /// Radius in m, above 0, that contains the true position with a probability of 68 %.
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
