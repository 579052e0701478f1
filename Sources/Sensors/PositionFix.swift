public import Spatial

/// How much of a position a receiver knows.
public enum FixMode: Int, Hashable, Sendable, CaseIterable {
  /// The receiver has no fix.
  case noFix = 1
  /// Latitude and longitude.
  case twoDimensional = 2
  /// Latitude, longitude and altitude.
  case threeDimensional = 3
}

/// One report of a positioning receiver. Whatever the receiver did not say is nil, never zero.
public struct PositionFix: Hashable, Sendable {
  /// When the report reached us, on the device's time line.
  public var timestamp: Timestamp
  /// The receiver's own time of the fix.
  public var time: UTCTime?
  /// Nil when the receiver has not said.
  public var mode: FixMode?
  /// Nil when the receiver has not said.
  public var quality: FixQuality?
  /// Nil unless both latitude and longitude were given, with a fix.
  public var coordinate: Coordinate?
  /// Metres above the WGS 84 ellipsoid.
  public var altitudeEllipsoidal: Double?
  /// Metres above mean sea level.
  public var altitudeMeanSeaLevel: Double?
  /// Metres per second over ground, at least 0.
  public var speed: Double?
  /// Direction of travel, degrees clockwise from true north, 0 ..< 360.
  public var course: Double?
  /// Metres per second upward.
  public var climb: Double?
  /// The receiver's estimate of its horizontal error, m (gpsd's `eph`).
  public var horizontalError: Double?
  /// Whether the horizontal error is no word of the receiver's, but its dilution times a constant.
  public var isHorizontalErrorFromDilution = false
  /// The receiver's estimate of its vertical error, m (gpsd's `epv`).
  public var verticalError: Double?
  /// The receiver's estimate of its speed error, m/s (gpsd's `eps`).
  public var speedError: Double?
  /// The receiver's estimate of its course error, degrees (gpsd's `epd`).
  public var courseError: Double?
  /// Horizontal dilution of precision.
  public var horizontalDilution: Double?
  /// How many satellites the fix used.
  public var satellitesUsed: Int?
  /// How many satellites are in view.
  public var satellitesVisible: Int?
  /// The receiver's device path or the recording's name.
  public var receiver: String?

  public init(timestamp: Timestamp, time: UTCTime? = nil, mode: FixMode? = nil, coordinate: Coordinate? = nil)
  {
    self.timestamp = timestamp
    self.time = time
    self.mode = mode
    self.coordinate = coordinate
  }
}

/// What a position comes from.
public enum PositionSource: String, Hashable, Sendable, CaseIterable {
  /// The receiver alone.
  case gnss
  /// Receiver and inertial sensors.
  case fused
  /// Inertial sensors, and wheels where there are some; the receiver is silent or refused.
  case inertial
  /// Transmitters whose places are known: access points and cells. Good to tens of metres, or to kilometres.
  case coarse
}

/// How a receiver found its position.
public enum FixQuality: String, Hashable, Sendable, CaseIterable {
  /// From the satellites alone.
  case autonomous
  /// With corrections of code ranges, as from a satellite-based augmentation system.
  case differential
  /// With carrier phases whose ambiguities are not resolved.
  case realTimeKinematicFloat
  /// With carrier phases whose ambiguities are resolved.
  case realTimeKinematicFixed
  /// Carried on by the vehicle's own motion, with few satellites or none.
  case deadReckoning
  /// Typed in, surveyed or simulated.
  case notMeasured
}
