public import Spatial

/// Where the device's reference axis points on the compass.
public struct Heading: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Degrees clockwise from true north, 0 ..< 360; nil without a declination.
  public var trueHeading: Double?
  /// Degrees, one standard deviation; nil when unknown.
  public var headingAccuracy: Double?

  public init(
    timestamp: Timestamp, magneticHeading: Double, trueHeading: Double? = nil, headingAccuracy: Double? = nil
  ) {
    self.timestamp = timestamp
    self.magneticHeading = magneticHeading
    self.trueHeading = trueHeading
    self.headingAccuracy = headingAccuracy
  }
}
