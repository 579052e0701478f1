public import Spatial

/// Height relative to the start, from air pressure alone (Core Motion's `CMAltitudeData`).
public struct AltitudeData: Hashable, Sendable {
  /// Time of the newest pressure.
  public var timestamp: Timestamp
  /// Metres above the first pressure, in the standard atmosphere. Weather and cabin ventilation appear as
  /// height.
  public var relativeAltitude: Double
  /// Pressure in kPa. Disturbances of one or two seconds, as from a closing door, are filtered out.
  public var pressure: Double

  public init(timestamp: Timestamp, relativeAltitude: Double, pressure: Double) {
    self.timestamp = timestamp
    self.relativeAltitude = relativeAltitude
    self.pressure = pressure
  }
}

/// Height above mean sea level from receiver and pressure combined (Core Motion's `CMAbsoluteAltitudeData`).
public struct AbsoluteAltitudeData: Hashable, Sendable {
  /// Time of the newest pressure.
  public var timestamp: Timestamp
  /// Metres above the reference surface of the receiver's altitudes.
  public var altitude: Double
  /// Standard deviation in m. The true altitude is within this distance in 68 % of cases and within 1.96
  /// times it in 95 %.
  public var accuracy: Double
  /// Standard deviation in m of the difference between two altitudes a few seconds apart, without motion.
  public var precision: Double

  public init(timestamp: Timestamp, altitude: Double, accuracy: Double, precision: Double) {
    self.timestamp = timestamp
    self.altitude = altitude
    self.accuracy = accuracy
    self.precision = precision
  }
}

/// The level of a garage or another building (Core Location's `CLFloor`). Levels are counted from where the
/// receiver lost the sky, because no map provides the floor number.
public struct Floor: Hashable, Sendable {
  /// Levels above (positive) or below (negative) the position where the receiver lost the sky, which is level
  /// 0.
  public var level: Int
  /// Probability that `level` is correct, 0.5 ... 1.
  public var confidence: Double
  /// Height in m above level 0.
  public var height: Double
  /// Standard deviation of the height in m.
  public var heightAccuracy: Double

  public init(level: Int, confidence: Double, height: Double, heightAccuracy: Double) {
    self.level = level
    self.confidence = confidence
    self.height = height
    self.heightAccuracy = heightAccuracy
  }
}
