package import Telemetry

/// A message to the vehicle.
package struct RemoteRequest: Hashable, Sendable {
  package enum Subject: Hashable, Sendable {
    case configuration
    case regions
    case command(String)
    /// A `cmd` of the OwnTracks format.
    case ownTracks
    /// A piece of the fleet's beacon map.
    case beacons
  }

  package var subject: Subject
  package var payload: [UInt8]
  /// True if the broker had retained it.
  package var isRetained: Bool
  /// Response topic of the sender; nil for the command's own topic.
  package var replyTo: CommandResponseMessage.ReplyAddress?

  package init(
    subject: Subject, payload: [UInt8], isRetained: Bool = false,
    replyTo: CommandResponseMessage.ReplyAddress? = nil
  ) {
    self.subject = subject
    self.payload = payload
    self.isRetained = isRetained
    self.replyTo = replyTo
  }
}

/// The topics that a vehicle subscribes to.
package struct RemoteTopics: Sendable {
  package let topics: TopicScheme
  package let ownTracks: OwnTracksTopics?
  /// Topic filters of permitted response topics besides the vehicle's own.
  package let responses: [String]
  /// True if the vehicle subscribes to settings, regions and commands.
  package let isManaged: Bool
  /// True if the vehicle subscribes to the fleet's beacon map.
  package let receivesBeacons: Bool

  package init(
    topics: TopicScheme, ownTracks: OwnTracksTopics?, responses: [String] = [], isManaged: Bool = true,
    receivesBeacons: Bool = false
  ) {
    self.topics = topics
    self.isManaged = isManaged
    self.receivesBeacons = receivesBeacons
    self.ownTracks = ownTracks
    self.responses = responses
  }

  package var filters: [String] {
    let beacons = receivesBeacons ? [topics.topic(path: TopicScheme.beaconsPiece)] : []
    guard isManaged else { return beacons }
    return [
      topics.topic(path: TopicScheme.configDesired), topics.topic(path: TopicScheme.regionsDesired),
      // A single level: the vehicle's own answers are one level below.
      topics.topic(path: TopicScheme.command + "/+"),
    ] + (ownTracks.map { [$0.command] } ?? []) + beacons
  }

  /// Returns whether a topic is `command/{name}/response` of this vehicle, or below it.
  package func isOwnResponse(_ topic: String) -> Bool {
    let base = topics.topic(path: TopicScheme.command + "/")
    guard topic.hasPrefix(base) else { return false }
    let levels = topic.dropFirst(base.count).split(separator: "/", omittingEmptySubsequences: false)
    return levels.count >= 2 && !levels[0].isEmpty && levels[1] == "response"
  }

  /// Returns the subject of a topic; nil for an unknown one.
  package func subject(of topic: String) -> RemoteRequest.Subject? {
    if isManaged, topic == ownTracks?.command { return .ownTracks }
    let base = topics.topic(path: "")
    guard topic.hasPrefix(base) else { return nil }
    let path = topic.dropFirst(base.count)
    if receivesBeacons, path == TopicScheme.beaconsPiece { return .beacons }
    guard isManaged else { return nil }
    switch path {
    case TopicScheme.configDesired: return .configuration
    case TopicScheme.regionsDesired: return .regions
    default:
      let prefix = TopicScheme.command + "/"
      guard path.hasPrefix(prefix) else { return nil }
      let name = path.dropFirst(prefix.count)
      return name.isEmpty || name.contains("/") ? nil : .command(String(name))
    }
  }
}
