internal import Telemetry

/// A message to the vehicle.
struct RemoteRequest: Hashable, Sendable {
  enum Subject: Hashable, Sendable {
    case configuration
    case regions
    case command(String)
    /// A `cmd` of the OwnTracks format.
    case ownTracks
  }

  var subject: Subject
  var payload: [UInt8]
  /// Whether the broker had kept it from before.
  var isRetained = false
  /// Where its sender wants the answer; nil for the command's own topic.
  var replyTo: CommandResponseMessage.ReplyAddress?
}

/// What a vehicle listens to.
struct RemoteTopics: Sendable {
  let topics: TopicScheme
  let ownTracks: OwnTracksTopics?

  var filters: [String] {
    [
      topics.topic(path: TopicScheme.configDesired), topics.topic(path: TopicScheme.regionsDesired),
      // One level: our own answers lie below.
      topics.topic(path: TopicScheme.command + "/+"),
    ] + (ownTracks.map { [$0.command] } ?? [])
  }

  /// What a topic is about; nil for one that nobody asked for.
  func subject(of topic: String) -> RemoteRequest.Subject? {
    if topic == ownTracks?.command { return .ownTracks }
    let base = topics.topic(path: "")
    guard topic.hasPrefix(base) else { return nil }
    let path = topic.dropFirst(base.count)
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
