package import JSON
public import Sensors
public import Spatial

/// State of the vehicle's navigation filter: `navigation` in `status`.
public struct NavigationReport: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// Alignment cannot start yet; `reason` contains cause and remedy.
    case waiting
    /// Alignment in progress: the filter observes the vehicle's motion.
    case aligning
    /// Aligned: positions continue if the receiver has none.
    case aligned
  }

  public var state: State
  /// Cause and remedy while waiting; nil otherwise.
  public var reason: String?
  /// Kind of motion of the vehicle, by the setting `navigation.vehicle`; nil from agents before this member.
  public var vehicle: String?
  /// Current source of positions; nil unless aligned.
  public var positionSource: PositionSource?
  /// Horizontal accuracy in m (68 %); nil unless aligned.
  public var horizontalAccuracy: Double?
  /// Time in s since the receiver's last accepted position; nil unless aligned.
  public var sinceFix: Double?
  /// Direction of the vehicle's front in degrees clockwise from true north; nil unless aligned.
  public var heading: Double?
  /// Standard deviation of `heading` in degrees; nil unless aligned.
  public var headingAccuracy: Double?
  /// Orientation of the device in the vehicle in rad: from the device's axes to right, forward, up; nil
  /// unless aligned.
  public var mounting: EulerAngles?
  /// Standard deviation in degrees of the mounting about its less certain axis; nil unless aligned.
  public var mountingAccuracy: Double?

  public init(state: State, reason: String? = nil) {
    (self.state, self.reason) = (state, reason)
  }

  func write(to json: inout JSONWriter) {
    json.field("state", state.rawValue)
    json.field("reason", reason)
    json.field("vehicle", vehicle)
    json.field("positionSource", positionSource?.rawValue)
    json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
    json.field("sinceFix", sinceFix, decimals: 1)
    json.field("heading", heading, decimals: 2)
    json.field("headingAccuracy", headingAccuracy, decimals: 2)
    if let mounting {
      json.field("mounting") { json in
        json.field("roll", mounting.roll, decimals: 4)
        json.field("pitch", mounting.pitch, decimals: 4)
        json.field("yaw", mounting.yaw, decimals: 4)
      }
    }
    json.field("mountingAccuracy", mountingAccuracy, decimals: 2)
  }

  package init?(json: JSONValue?) {
    guard let json, let state = json["state"]?.string.flatMap(State.init) else { return nil }
    self.init(state: state, reason: json["reason"]?.string)
    vehicle = json["vehicle"]?.string
    positionSource = json["positionSource"]?.string.flatMap(PositionSource.init)
    horizontalAccuracy = json["horizontalAccuracy"]?.double
    sinceFix = json["sinceFix"]?.double
    heading = json["heading"]?.double
    headingAccuracy = json["headingAccuracy"]?.double
    if let mounting = json["mounting"], let roll = mounting["roll"]?.double,
      let pitch = mounting["pitch"]?.double, let yaw = mounting["yaw"]?.double
    {
      self.mounting = EulerAngles(roll: roll, pitch: pitch, yaw: yaw)
    }
    mountingAccuracy = json["mountingAccuracy"]?.double
  }
}
