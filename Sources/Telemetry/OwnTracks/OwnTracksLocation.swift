internal import Positioning
public import Spatial

/// `_type` location of the OwnTracks format: one point.
public struct OwnTracksLocation: Hashable, Sendable {
  /// Why it was published.
  public enum Trigger: String, Hashable, Sendable, CaseIterable {
    /// A crossing of a region's boundary.
    case region = "c"
    /// An answer to `reportLocation`.
    case response = "r"
    /// On the move.
    case moving = "t"
  }

  /// `bs` of the format.
  public enum BatteryStatus: Int, Hashable, Sendable, CaseIterable {
    case unknown, unplugged, charging, full
  }

  public var time: UTCTime
  public var coordinate: Coordinate
  /// Metres, 68 % confidence.
  public var horizontalAccuracy: Double?
  /// Metres above mean sea level.
  public var altitude: Double?
  /// Metres, one standard deviation.
  public var verticalAccuracy: Double?
  /// Metres per second; the format has km/h.
  public var speed: Double?
  /// Degrees clockwise from true north.
  public var course: Double?
  /// Percent.
  public var battery: Double?
  public var batteryStatus: BatteryStatus?
  /// Two characters that a map shows.
  public var trackerID: String
  public var trigger: Trigger
  /// Names and identifiers of the regions that the vehicle is in.
  public var regions: [(name: String, identifier: String)] {
    get { regionNames.indices.map { (regionNames[$0], regionIdentifiers[$0]) } }
    set {
      regionNames = newValue.map(\.name)
      regionIdentifiers = newValue.map(\.identifier)
    }
  }
  /// When the message was made, where that is later than the point.
  public var createdAt: UTCTime?

  private var regionNames: [String] = []
  private var regionIdentifiers: [String] = []

  public init(time: UTCTime, coordinate: Coordinate, trackerID: String, trigger: Trigger = .moving) {
    self.time = time
    self.coordinate = coordinate
    self.trackerID = trackerID
    self.trigger = trigger
  }

  /// What a native message says, in this format.
  public init(_ message: LocationMessage, trackerID: String, trigger: Trigger = .moving) {
    self.init(
      time: message.time, coordinate: message.location.coordinate, trackerID: trackerID, trigger: trigger)
    horizontalAccuracy = message.location.horizontalAccuracy
    altitude = message.location.altitude
    verticalAccuracy = message.location.verticalAccuracy
    speed = message.location.speed
    course = message.location.course
  }

  /// The wire form. Whole numbers throughout but for the coordinate, as the format's readers expect; accuracies are
  /// rounded up.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("_type", "location")
      json.field("lat", coordinate.latitude, decimals: 7)
      json.field("lon", coordinate.longitude, decimals: 7)
      json.field("tst", time.wholeSeconds)
      json.field("acc", horizontalAccuracy?.rounded(.up), decimals: 0)
      json.field("alt", altitude, decimals: 0)
      json.field("vac", verticalAccuracy?.rounded(.up), decimals: 0)
      json.field("vel", speed.map { $0 * 3.6 }, decimals: 0)
      json.field("cog", course.map { $0.rounded() == 360 ? 0 : $0 }, decimals: 0)
      json.field("batt", battery, decimals: 0)
      json.field("bs", batteryStatus?.rawValue)
      json.field("tid", trackerID)
      json.field("t", trigger.rawValue)
      if !regionNames.isEmpty {
        json.field("inregions", texts: regionNames)
        json.field("inrids", texts: regionIdentifiers)
      }
      if let createdAt { json.field("created_at", createdAt.wholeSeconds) }
    }
  }
}

extension UTCTime {
  /// Seconds since 1970, rounded down: the format's clock.
  var wholeSeconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
}
