package import JSON
package import Telemetry

/// The wire format of a fleet: topic layout and payload codec. (Not to be confused with a connection profile
/// in the profile file.)
///
/// Everything after the subscription uses native terms: a profile maps each topic to its native path, and
/// decodes a payload into the same typed message.
public enum MessageProfile: String, Hashable, Sendable, CaseIterable {
  /// The wire contract of this project.
  case native
  /// OwnTracks: `owntracks/USER/DEVICE`, where the user is the fleet and the device the vehicle.
  case ownTracks = "owntracks"

  /// The default topic root.
  public var usualRoot: String {
    switch self {
    case .native: TopicScheme.defaultRoot
    case .ownTracks: OwnTracksTopics.root
    }
  }

  /// True if a live location is the only sign of a vehicle's presence.
  var locationShowsPresence: Bool { self == .ownTracks }

  /// Parses a topic; `path` is the native one if there is one.
  package func address(of topic: String, root: String) -> TopicAddress? {
    switch self {
    case .native: return TopicAddress(topic: topic, root: root)
    case .ownTracks: return TopicAddress(ownTracks: topic, root: root)
    }
  }

  /// Returns the topics below a vehicle's for a kind of message; nil for a kind that the format lacks. An
  /// empty path is the vehicle's own topic.
  package func paths(of kind: MessageKind) -> [String]? {
    switch self {
    case .native: return [kind.rawValue]
    case .ownTracks:
      switch kind {
      case .location, .track: return [""]
      // The will is on the vehicle's own topic.
      case .status: return ["", "status"]
      case .region: return ["event"]
      case .heading, .attitude, .altitude, .motion, .locationEvent, .trip, .drivingEvent, .trace, .vehicle,
        .scan:
        return nil
      }
    }
  }

  /// Returns whether messages on a native path are decoded. Other topics of a vehicle can have any content.
  package func reads(_ path: String) -> Bool {
    switch self {
    case .native:
      MessageKind(rawValue: path) != nil || path == TopicScheme.regionsDesired
        || path == TopicScheme.regionsReported || path == TopicScheme.regionsState
    case .ownTracks: ["location", "region", "status", "waypoint", "waypoints"].contains(path)
    }
  }

  /// Decodes a payload according to its topic; nil for kinds that are not shown.
  package func read(_ address: TopicAddress, _ json: JSONValue) throws(JSONError) -> FleetMessage? {
    switch self {
    case .native: try FleetMessage(native: json, path: address.path)
    case .ownTracks: try FleetMessage(ownTracks: json, path: address.path)
    }
  }
}
