public import Spatial

/// What gpsd says in one line.
public enum GPSDReport: Hashable, Sendable {
  case version(GPSDVersion)
  /// All devices that gpsd knows.
  case devices([GPSDDevice])
  /// A device that was opened, identified or closed.
  case device(GPSDDevice)
  /// A report of a receiver's position and motion (gpsd's TPV).
  case fix(GPSDFix)
  /// A report of the sky (gpsd's SKY).
  case sky(GPSDSky)
  /// gpsd's complaint about a request.
  case error(String)
  /// A report of a class that is not used here, as `WATCH` or `ATT`.
  case other(String)
}

/// Which gpsd answers.
public struct GPSDVersion: Hashable, Sendable {
  /// The release, as in "3.22".
  public var release: String
  public var protocolMajor: Int
  public var protocolMinor: Int
}

/// A receiver as gpsd knows it.
public struct GPSDDevice: Hashable, Sendable {
  /// As in "/dev/ttyACM0".
  public var path: String
  /// gpsd's driver, as in "u-blox"; nil until it has recognised the receiver.
  public var driver: String?
  /// Whether gpsd has it open. It opens a receiver for the first watcher.
  public var isActive: Bool
}

/// gpsd's TPV, field by field; whatever it did not say is nil.
public struct GPSDFix: Hashable, Sendable {
  public var device: String?
  /// 1 no fix, 2 two-dimensional, 3 three-dimensional.
  public var mode: Int?
  /// gpsd's number for how the position was found: 1 autonomous, 2 differential, 3 and 4 real-time kinematic fixed and
  /// float, 5 and 6 dead reckoning without and with satellites, 7 surveyed, 8 simulated, 9 encrypted. Nil for its 0, which is unknown.
  public var status: Int?
  public var time: UTCTime?
  public var latitude: Double?
  public var longitude: Double?
  /// Metres above the ellipsoid.
  public var altitudeEllipsoidal: Double?
  /// Metres above mean sea level.
  public var altitudeMeanSeaLevel: Double?
  /// Degrees from true north.
  public var track: Double?
  /// m/s.
  public var speed: Double?
  /// m/s, upward.
  public var climb: Double?
  /// Estimated errors: m, m, m/s, degrees.
  public var eph: Double?
  public var epv: Double?
  public var eps: Double?
  public var epd: Double?
}

/// gpsd's SKY, as far as it is used here; whatever it did not say is nil.
public struct GPSDSky: Hashable, Sendable {
  public var device: String?
  /// Nil when the report held dilutions of precision only.
  public var satellitesUsed: Int?
  public var satellitesVisible: Int?
  public var horizontalDilution: Double?
}
