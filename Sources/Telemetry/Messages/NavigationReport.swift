package import JSON
public import Sensors
public import Spatial

/// How far the vehicle's navigation has come: `navigation` in `status`.
public struct NavigationReport: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It cannot begin yet; `reason` says why and what would help.
    case waiting
    /// It watches how the vehicle moves.
    case aligning
    /// Positions are carried on without a receiver.
    case aligned
  }

  public var state: State
  /// Why it waits, and what would help; nil when it does not.
  public var reason: String?
  /// What positions come from now; nil unless aligned.
  public var positionSource: PositionSource?
  /// Metres that hold the position in 68 % of cases; nil unless aligned.
  public var horizontalAccuracy: Double?
  /// s since the last position of the receiver that was believed; nil unless aligned.
  public var sinceFix: Double?
  /// Where the vehicle's front points, degrees clockwise from true north, and one deviation; nil unless aligned.
  public var heading: Double?
  public var headingAccuracy: Double?
  /// How the device sits in the vehicle: rad, from the device's axes to right, forward, up; nil unless aligned.
  public var mounting: EulerAngles?
  /// Degrees, one deviation of the mounting about its worse axis; nil unless aligned.
  public var mountingAccuracy: Double?

  public init(state: State, reason: String? = nil) {
    (self.state, self.reason) = (state, reason)
  }

  func write(to json: inout JSONWriter) {
    json.field("state", state.rawValue)
    json.field("reason", reason)
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
