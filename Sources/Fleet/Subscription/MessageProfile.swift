package import JSON
package import Telemetry

/// The wire format of a fleet: topic layout and payload codec. It is unrelated to the connection profiles in
/// the profile file.
///
/// All code behind the subscription uses native terms: a message profile maps each topic to its native path,
/// and decodes each payload to the same message types.
public enum MessageProfile: String, Hashable, Sendable, CaseIterable {
  /// The wire format of this project.
  case native
  /// OwnTracks: `owntracks/USER/DEVICE`, where the user is the fleet and the device the vehicle.
  case ownTracks = "owntracks"

  /// The topic root that is used by default.
  public var usualRoot: String {
    switch self {
    case .native: TopicScheme.defaultRoot
    case .ownTracks: OwnTracksTopics.root
    }
  }

  /// True if vehicles of this format send no status, so that a live location shows that a vehicle is online.
  var locationShowsPresence: Bool { self == .ownTracks }

  /// Parses a topic. The path in the result is the native path, if the format has an equivalent.
  package func address(of topic: String, root: String) -> TopicAddress? {
    switch self {
    case .native: return TopicAddress(topic: topic, root: root)
    case .ownTracks: return TopicAddress(ownTracks: topic, root: root)
    }
  }

  /// Returns the topic levels below a vehicle's topic on which a kind of message is published; nil if the
  /// format has no such kind. An empty path means the vehicle's own topic.
  package func paths(of kind: MessageKind) -> [String]? {
    switch self {
    case .native: return [kind.rawValue]
    case .ownTracks:
      switch kind {
      case .location, .track: return [""]
      // The will is on the vehicle's own topic.
      case .status: return ["", "status"]
      case .region: return ["event"]
      default: return nil
      }
    }
  }

  /// Returns whether messages on a native path, which is not that of a `MessageKind`, can have sequence
  /// numbers of the vehicle.
  package func numbers(_ path: String) -> Bool {
    switch path {
    case TopicScheme.configReported, TopicScheme.regionsReported, TopicScheme.regionsState,
      TopicScheme.tracePiece, TopicScheme.beaconsWanted:
      self == .native
    default: false
    }
  }

  /// Returns whether messages on a native path are decoded. Vehicles can have other topics with arbitrary
  /// content.
  package func reads(_ path: String) -> Bool {
    switch self {
    case .native:
      MessageKind(rawValue: path) != nil || path == TopicScheme.regionsDesired || numbers(path)
    case .ownTracks: ["location", "region", "status", "waypoint", "waypoints"].contains(path)
    }
  }

  /// Decodes a payload according to its topic; nil for kinds that are not displayed.
  package func read(_ address: TopicAddress, _ json: JSONValue) throws(JSONError) -> FleetMessage? {
    switch self {
    case .native: try FleetMessage(native: json, path: address.path)
    case .ownTracks: try FleetMessage(ownTracks: json, path: address.path)
    }
  }
}
