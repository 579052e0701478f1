public import Sensors
public import Spatial

/// A report of gpsd, one per line.
public enum GPSDReport: Hashable, Sendable {
  case version(GPSDVersion)
  /// All devices of gpsd.
  case devices([GPSDDevice])
  /// A device that was opened, identified or closed.
  case device(GPSDDevice)
  /// A report of a receiver's position and motion (gpsd's TPV).
  case fix(GPSDFix)
  /// A report of the sky (gpsd's SKY).
  case sky(GPSDSky)
  /// An error message of gpsd about a request.
  case error(String)
  /// A report of an unused class, such as `WATCH` or `ATT`.
  case other(String)
}

/// Version of gpsd.
public struct GPSDVersion: Hashable, Sendable {
  /// Release, as in "3.22".
  public var release: String
  public var protocolMajor: Int
  public var protocolMinor: Int
}

/// A receiver as reported by gpsd.
public struct GPSDDevice: Hashable, Sendable {
  /// Path, as in "/dev/ttyACM0".
  public var path: String
  /// gpsd's driver, as in "u-blox"; nil until it has recognized the receiver.
  public var driver: String?
  /// True if gpsd has opened the receiver, which happens when the first client watches it.
  public var isActive: Bool
}

/// gpsd's TPV with all fields; nil for missing ones.
public struct GPSDFix: Hashable, Sendable {
  public var device: String?
  /// The dimensions of the fix: 1 no fix, 2 two-dimensional, 3 three-dimensional.
  public var mode: Int?
  /// gpsd's number for the method of positioning; nil if gpsd reports 0, which means unknown. 1 is
  /// autonomous, 2 differential, 3 real-time kinematic fixed, 4 real-time kinematic float. 5 is dead
  /// reckoning without satellites and 6 with satellites. 7 is surveyed, 8 simulated, 9 encrypted.
  public var status: Int?
  public var time: UTCTime?
  public var latitude: Double?
  public var longitude: Double?
  /// Metres above the ellipsoid.
  public var altitudeEllipsoidal: Double?
  /// Metres above mean sea level.
  public var altitudeMeanSeaLevel: Double?
  /// Course in degrees from true north.
  public var track: Double?
  /// Speed in m/s.
  public var speed: Double?
  /// Climb rate in m/s, upward.
  public var climb: Double?
  /// Estimated errors: horizontal (m), vertical (m), speed (m/s) and course (degrees).
  public var eph: Double?
  public var epv: Double?
  public var eps: Double?
  public var epd: Double?
}

/// The used fields of gpsd's SKY; nil for missing ones.
public struct GPSDSky: Hashable, Sendable {
  public var device: String?
  /// Number of satellites used; nil if the report contained dilutions of precision only.
  public var satellitesUsed: Int?
  public var satellitesVisible: Int?
  public var horizontalDilution: Double?
  /// The satellites in view, at most `SatelliteSky.limit`; nil if the report contained dilutions of precision only.
  public var satellites: [Satellite]?
  /// All dilutions of precision; nil if the report contained none.
  public var dilution: DilutionOfPrecision?
}
