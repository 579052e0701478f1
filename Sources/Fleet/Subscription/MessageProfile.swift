package import JSON
package import Telemetry

/// In which words vehicles say what they say: where their topics are and what payloads mean. (A connection's profile, from
/// the profile file, is another thing.)
///
/// Everything behind the subscription speaks the native vocabulary: a profile gives each topic its native path, and reads
/// a payload into the same typed message, whatever its form.
public enum MessageProfile: String, Hashable, Sendable, CaseIterable {
  /// The contract of this project.
  case native
  /// OwnTracks: `owntracks/USER/DEVICE`, the user being the fleet and the device the vehicle.
  case ownTracks = "owntracks"

  /// Where its topics begin, if nothing else is said.
  public var usualRoot: String {
    switch self {
    case .native: TopicScheme.defaultRoot
    case .ownTracks: OwnTracksTopics.root
    }
  }

  /// Whether a live location is all that says that a vehicle is there.
  var locationShowsPresence: Bool { self == .ownTracks }

  /// Takes a topic apart; `path` is the native one where there is one for it.
  package func address(of topic: String, root: String) -> TopicAddress? {
    switch self {
    case .native: return TopicAddress(topic: topic, root: root)
    case .ownTracks: return TopicAddress(ownTracks: topic, root: root)
    }
  }

  /// The topics, below a vehicle's, on which a kind of message comes; nil for a kind that it does not have. An empty one
  /// is the vehicle's own.
  package func paths(of kind: MessageKind) -> [String]? {
    switch self {
    case .native: return [kind.rawValue]
    case .ownTracks:
      switch kind {
      case .location, .track: return [""]
      // The will is on the vehicle's own.
      case .status: return ["", "status"]
      case .region: return ["event"]
      case .heading, .attitude, .altitude, .motion, .locationEvent, .trip, .drivingEvent, .trace, .vehicle,
        .scan:
        return nil
      }
    }
  }

  /// Whether what comes on a native path is read at all: what else a vehicle publishes may be of any form.
  package func reads(_ path: String) -> Bool {
    switch self {
    case .native:
      MessageKind(rawValue: path) != nil || path == TopicScheme.regionsDesired
        || path == TopicScheme.regionsReported || path == TopicScheme.regionsState
    case .ownTracks: ["location", "region", "status", "waypoint", "waypoints"].contains(path)
    }
  }

  /// Reads a payload as what its topic says it is; nil for what is not shown of a vehicle.
  package func read(_ address: TopicAddress, _ json: JSONValue) throws(JSONError) -> FleetMessage? {
    switch self {
    case .native: try FleetMessage(native: json, path: address.path)
    case .ownTracks: try FleetMessage(ownTracks: json)
    }
  }
}
