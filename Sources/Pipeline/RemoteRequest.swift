package import Telemetry

/// A message from the broker to the vehicle.
package struct RemoteRequest: Hashable, Sendable {
  package enum Subject: Hashable, Sendable {
    case configuration
    case regions
    case command(String)
    /// A message with the OwnTracks type `cmd`.
    case ownTracks
    /// A part of the fleet's beacon map.
    case beacons
  }

  package var subject: Subject
  package var payload: [UInt8]
  /// True if the broker sent the message as a retained one.
  package var isRetained: Bool
  /// Topic for the response, as requested by the sender; nil for the topic of the command's name.
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
  /// Filters of the topics that senders may request for responses, besides the vehicle's own response topics.
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
      // The wildcard matches a single level, so it excludes the vehicle's own responses, one level below the
      // command.
      topics.topic(path: TopicScheme.command + "/+"),
    ] + (ownTracks.map { [$0.command] } ?? []) + beacons
  }

  /// Returns whether a topic is this vehicle's `command/{name}/response`, or a topic below it.
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
