public import Motion
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

/// The eight points of the compass.
public enum CardinalPoint: String, Hashable, Sendable, CaseIterable {
  case north = "N"
  case northEast = "NE"
  case east = "E"
  case southEast = "SE"
  case south = "S"
  case southWest = "SW"
  case west = "W"
  case northWest = "NW"

  /// The point nearest to a direction in degrees clockwise from north; a direction half way belongs to the next one
  /// clockwise.
  public init(direction: Double) {
    let points = Self.allCases
    self = points[Int((normalizedDegrees(direction) / 45 + 0.5).rounded(.down)) % points.count]
  }
}

/// Which axis of the device a heading is of.
extension DeviceOrientation {
  /// Degrees clockwise, seen from above the screen, from the device's top to the axis that is up when it is held so. A
  /// device that lies flat is used with its top ahead.
  public var headingOffset: Double {
    switch self {
    case .portrait, .faceUp, .faceDown: 0
    case .portraitUpsideDown: 180
    case .landscapeLeft: 90
    case .landscapeRight: 270
    }
  }
}
