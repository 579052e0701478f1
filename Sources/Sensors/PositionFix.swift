public import Spatial

/// The dimensions of a fix.
public enum FixMode: Int, Hashable, Sendable, CaseIterable {
  /// The receiver has no fix.
  case noFix = 1
  /// Latitude and longitude are available.
  case twoDimensional = 2
  /// Latitude, longitude and altitude are available.
  case threeDimensional = 3
}

/// A report of a positioning receiver. Values that the receiver did not report are nil, never zero.
public struct PositionFix: Hashable, Sendable {
  /// The time of arrival on the device's clock.
  public var timestamp: Timestamp
  /// The receiver's own time of the fix.
  public var time: UTCTime?
  /// The dimensions of the fix; nil if not reported.
  public var mode: FixMode?
  /// The method of the fix; nil if not reported.
  public var quality: FixQuality?
  /// The position; nil unless latitude and longitude were reported with a fix.
  public var coordinate: Coordinate?
  /// Altitude above the WGS 84 ellipsoid in m.
  public var altitudeEllipsoidal: Double?
  /// Altitude above mean sea level in m.
  public var altitudeMeanSeaLevel: Double?
  /// Ground speed in m/s, at least 0.
  public var speed: Double?
  /// Course in degrees clockwise from true north, 0 ..< 360.
  public var course: Double?
  /// Climb rate in m/s, positive upward.
  public var climb: Double?
  /// The receiver's estimate of its horizontal error, m (gpsd's `eph`).
  public var horizontalError: Double?
  /// True if the horizontal error was not reported by the receiver, but computed from its dilution.
  public var isHorizontalErrorFromDilution = false
  /// The receiver's estimate of its vertical error, m (gpsd's `epv`).
  public var verticalError: Double?
  /// The receiver's estimate of its speed error, m/s (gpsd's `eps`).
  public var speedError: Double?
  /// The receiver's estimate of its course error, degrees (gpsd's `epd`).
  public var courseError: Double?
  /// Horizontal dilution of precision.
  public var horizontalDilution: Double?
  /// The number of satellites used for the fix.
  public var satellitesUsed: Int?
  /// The number of satellites in view.
  public var satellitesVisible: Int?
  /// The satellites in view, and all dilutions of precision; nil if not reported.
  public var sky: SatelliteSky?
  /// The receiver's device path, or the name of the recording.
  public var receiver: String?
  /// The origin of a position that an agent has already checked and fused; nil for a receiver's report. The errors
  /// are then the accuracies of the agent's location: 68 % radius and standard deviations.
  public var positionSource: PositionSource?

  public init(timestamp: Timestamp, time: UTCTime? = nil, mode: FixMode? = nil, coordinate: Coordinate? = nil)
  {
    self.timestamp = timestamp
    self.time = time
    self.mode = mode
    self.coordinate = coordinate
  }
}

/// The origin of a position.
public enum PositionSource: String, Hashable, Sendable, CaseIterable {
  /// The receiver alone.
  case gnss
  /// Receiver and inertial sensors.
  case fused
  /// Inertial sensors, and wheels if available, while the receiver reports nothing or its fixes are rejected.
  case inertial
  /// Radio beacons with known positions: access points and cells. Accurate to tens of metres, or to
  /// kilometres.
  case coarse
}

/// The method by which a receiver determined its position.
public enum FixQuality: String, Hashable, Sendable, CaseIterable {
  /// Satellites without corrections.
  case autonomous
  /// Code range corrections, such as those of a satellite-based augmentation system.
  case differential
  /// Carrier phases with unresolved ambiguities.
  case realTimeKinematicFloat
  /// Carrier phases with resolved ambiguities.
  case realTimeKinematicFixed
  /// Dead reckoning, with few satellites or none.
  case deadReckoning
  /// Entered manually, surveyed or simulated.
  case notMeasured
}
