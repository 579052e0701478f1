public import Spatial

/// How much higher than at the start, by the pressure of the air alone: Core Motion's `CMAltitudeData`.
public struct AltitudeData: Hashable, Sendable {
  /// Of the newest pressure.
  public var timestamp: Timestamp
  /// Metres above the first pressure, in the standard atmosphere. Weather and the fan of a cabin count as height.
  public var relativeAltitude: Double
  /// Kilopascals; glitches of a second or two, such as of a door, are taken out.
  public var pressure: Double

  public init(timestamp: Timestamp, relativeAltitude: Double, pressure: Double) {
    self.timestamp = timestamp
    self.relativeAltitude = relativeAltitude
    self.pressure = pressure
  }
}

/// The height above mean sea level, by receiver and pressure together: Core Motion's `CMAbsoluteAltitudeData`.
public struct AbsoluteAltitudeData: Hashable, Sendable {
  /// Of the newest pressure.
  public var timestamp: Timestamp
  /// Metres above the surface that the receiver's altitudes refer to.
  public var altitude: Double
  /// Metres, one standard deviation: the true altitude is within in 68 % of cases, and within 1.96 times as much in 95 %.
  public var accuracy: Double
  /// Metres, one standard deviation: of what two altitudes a few seconds apart differ by without having moved.
  public var precision: Double

  public init(timestamp: Timestamp, altitude: Double, accuracy: Double, precision: Double) {
    self.timestamp = timestamp
    self.altitude = altitude
    self.accuracy = accuracy
    self.precision = precision
  }
}

/// On which level of a garage or another building a vehicle is: Core Location's `CLFloor`, counted from the place where the
/// receiver lost the sky, because no map says which floor that is.
public struct Floor: Hashable, Sendable {
  /// Levels above (positive) or below the place where the receiver lost the sky, which is level 0.
  public var level: Int
  /// Probability that this is the level, 0.5 ... 1.
  public var confidence: Double
  /// Metres above that place.
  public var height: Double
  /// Metres, one standard deviation of the height.
  public var heightAccuracy: Double

  public init(level: Int, confidence: Double, height: Double, heightAccuracy: Double) {
    self.level = level
    self.confidence = confidence
    self.height = height
    self.heightAccuracy = heightAccuracy
  }
}
