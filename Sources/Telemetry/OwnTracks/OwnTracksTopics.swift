/// The topics of one vehicle in the OwnTracks profile: `owntracks/{user}/{device}` and what lies below.
public struct OwnTracksTopics: Hashable, Sendable {
  public static let root = "owntracks"

  /// Locations, and the will.
  public let base: String

  /// - Throws: `TopicError` for a name that is empty or holds a character that MQTT gives a meaning to.
  public init(user: String, device: String) throws(TopicError) {
    try TopicError.check(name: user, of: "OwnTracks user", separatorAllowed: false)
    try TopicError.check(name: device, of: "OwnTracks device", separatorAllowed: false)
    base = "\(Self.root)/\(user)/\(device)"
  }

  public var event: String { base + "/event" }
  public var waypoint: String { base + "/waypoint" }
  public var waypoints: String { base + "/waypoints" }
  public var status: String { base + "/status" }
  public var dump: String { base + "/dump" }
  /// To the device.
  public var command: String { base + "/cmd" }
}
