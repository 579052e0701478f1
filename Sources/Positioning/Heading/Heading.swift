public import Spatial

/// Where the device's reference axis points on the compass.
public struct Heading: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Degrees clockwise from true north, 0 ..< 360; nil without a location, which gives the declination.
  public var trueHeading: Double?
  /// Degrees, one standard deviation; nil when unknown.
  public var headingAccuracy: Double?
  /// Whether the magnetometer needs a calibration: turn the device, or drive a circle.
  public var isCalibrationWanted = false
  /// Whether the vehicle's course says something else, for longer than a gust of disturbance lasts.
  public var contradictsCourse = false

  /// The point of the compass: of true north where that is known, else of magnetic north.
  public var cardinalPoint: CardinalPoint { CardinalPoint(direction: trueHeading ?? magneticHeading) }

  public init(
    timestamp: Timestamp, magneticHeading: Double, trueHeading: Double? = nil, headingAccuracy: Double? = nil
  ) {
    self.timestamp = timestamp
    self.magneticHeading = magneticHeading
    self.trueHeading = trueHeading
    self.headingAccuracy = headingAccuracy
  }
}
