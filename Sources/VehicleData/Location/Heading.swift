public import Spatial

/// Heading of the device's reference axis.
public struct Heading: Hashable, Sendable {
  public var timestamp: Timestamp
  /// Degrees clockwise from magnetic north, 0 ..< 360.
  public var magneticHeading: Double
  /// Degrees clockwise from true north, 0 ..< 360. Nil while no location, and therefore no declination, is
  /// available.
  public var trueHeading: Double?
  /// Standard deviation in degrees; nil if unknown.
  public var headingAccuracy: Double?
  /// True if the magnetometer needs a calibration: turn the device, or drive a circle.
  public var isCalibrationWanted = false
  /// True if the vehicle's course has contradicted the heading for longer than a short disturbance.
  public var contradictsCourse = false

  package init(
    timestamp: Timestamp, magneticHeading: Double, trueHeading: Double? = nil, headingAccuracy: Double? = nil
  ) {
    self.timestamp = timestamp
    self.magneticHeading = magneticHeading
    self.trueHeading = trueHeading
    self.headingAccuracy = headingAccuracy
  }

  /// The cardinal point, from true north if available, otherwise from magnetic north.
  public var cardinalPoint: CardinalPoint { CardinalPoint(direction: trueHeading ?? magneticHeading) }
}

/// The eight cardinal points.
public enum CardinalPoint: String, Hashable, Sendable, CaseIterable {
  case north = "N"
  case northEast = "NE"
  case east = "E"
  case southEast = "SE"
  case south = "S"
  case southWest = "SW"
  case west = "W"
  case northWest = "NW"

  /// Creates the point nearest to a direction in degrees clockwise from north. Exactly between two points,
  /// the clockwise one is used.
  public init(direction: Double) {
    let points = Self.allCases
    self = points[Int((normalizedDegrees(direction) / 45 + 0.5).rounded(.down)) % points.count]
  }
}
