/// The satellites in view of a receiver, and its dilutions of precision.
public struct SatelliteSky: Hashable, Sendable {
  /// Maximum number of satellites. Receivers track up to 140 signals; a longer list exceeds the longest line of gpsd's
  /// clients.
  public static let limit = 100

  public var satellites: [Satellite]
  /// Dilutions of precision; unknown ones are nil.
  public var dilution: DilutionOfPrecision

  public init(satellites: [Satellite] = [], dilution: DilutionOfPrecision = DilutionOfPrecision()) {
    (self.satellites, self.dilution) = (satellites, dilution)
  }
}

/// Factors by which the geometry of the satellites increases the error of a position. Unknown values are nil.
public struct DilutionOfPrecision: Hashable, Sendable {
  /// The errors eastward (`longitude`) and northward (`latitude`).
  public var longitude: Double?
  public var latitude: Double?
  /// The horizontal error.
  public var horizontal: Double?
  public var vertical: Double?
  /// The error in three dimensions.
  public var position: Double?
  public var time: Double?
  /// The error in three dimensions and time.
  public var geometric: Double?

  public init(horizontal: Double? = nil, vertical: Double? = nil, position: Double? = nil) {
    (self.horizontal, self.vertical, self.position) = (horizontal, vertical, position)
  }
}

/// A satellite in view of a receiver.
public struct Satellite: Hashable, Sendable {
  /// A system of satellites, with u-blox's number (gpsd's `gnssid`).
  public enum System: Int, Hashable, Sendable, CaseIterable {
    case gps = 0
    /// Satellite-based augmentation.
    case sbas = 1
    case galileo = 2
    case beiDou = 3
    case imes = 4
    case qzss = 5
    case glonass = 6
    case navIC = 7
  }

  /// The number in gpsd's numbering, which is unique over all systems (gpsd's `PRN`).
  public var identifier: Int
  /// The system; nil if unknown.
  public var system: System?
  /// The number in the system's own numbering, at least 1; nil if unknown.
  public var number: Int?
  /// Elevation above the horizon in degrees, -90 ... 90; nil if unknown.
  public var elevation: Double?
  /// Azimuth in degrees clockwise from true north, 0 ..< 360; nil if unknown.
  public var azimuth: Double?
  /// Ratio of carrier to noise density in dB-Hz; nil if the signal is not received.
  public var signal: Double?
  /// True if the fix uses the satellite.
  public var isUsed: Bool

  public init(
    identifier: Int, system: System? = nil, number: Int? = nil, elevation: Double? = nil,
    azimuth: Double? = nil, signal: Double? = nil, isUsed: Bool = false
  ) {
    self.identifier = identifier
    (self.system, self.number) = (system, number)
    (self.elevation, self.azimuth, self.signal) = (elevation, azimuth, signal)
    self.isUsed = isUsed
  }
}
