internal import Positioning
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// Destination of the pipeline's messages: a broker with a durable queue, or standard output.
protocol MessageDelivery: AnyObject, Sendable {
  /// Accepts messages in order, together with the state that results from them: region states and trips. When it
  /// returns, durable messages are stored. After a crash, either messages and state are both present, or neither, so
  /// that no crossing and no trip is reported twice or lost. A destination without a store ignores the state.
  /// - Throws: an error that stops the agent, if no further messages can be accepted.
  func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) throws

  /// Counters for `status` by name.
  var counters: [String: Int] { get }

  /// Use of the radio since the start.
  var radio: EnergyAccount { get }
  /// The reason why messages are stored in memory only; nil while they are safe.
  var storeProblem: String? { get }

  /// Messages that the broker rejects, with the reason; nil if it accepts all.
  var deliveryProblem: String? { get }

  /// State of the broker connection; nil for other destinations.
  var link: LinkReport? { get }

  /// Updates whether the vehicle is at rest, which determines the link's permitted cost.
  func observe(isAtRest: Bool, at timestamp: Timestamp)

  /// Deletes the retained position if it may be one that the settings no longer permit. Call it at the start and after a change
  /// of the settings, when all messages with the former ones were accepted.
  func observe(_ disclosure: PositionDisclosure)

  /// Starts a new epoch for subsequent messages, because their times may precede those of earlier messages.
  func beginEpoch()

  /// Sends pending messages and then the farewell within a time limit, and returns when delivery has stopped.
  /// - Parameter farewell: returns the farewell. It is called after pending messages were sent, so that it states how
  ///   many are left.
  func stop(farewell: () -> VehicleMessage) throws
}

extension MessageDelivery {
  /// Use of the radio; none by default, for destinations that use no radio.
  var radio: EnergyAccount { EnergyAccount(seconds: 0, starts: 0, bytes: 0) }
  var storeProblem: String? { nil }
  var deliveryProblem: String? { nil }
  var link: LinkReport? { nil }
  func observe(isAtRest: Bool, at timestamp: Timestamp) {}
  /// Does nothing, for destinations that retain no messages.
  func observe(_ disclosure: PositionDisclosure) {}
  func beginEpoch() {}
}

/// Operations of the connection for remote management.
protocol RemoteLink: AnyObject, Sendable {
  /// Answers a command of the OwnTracks format.
  func answer(_ answer: OwnTracksAnswer)

  /// Reconnects with new settings, after a regular end of the current connection.
  func reconnect(_ settings: AgentConfiguration.MQTT)
}

extension MessageFormats {
  /// Creates the formats enabled in the configuration.
  /// - Parameter version: version of the program.
  init(_ profiles: AgentConfiguration.Profiles, topics: TopicScheme, version: String) throws(TopicError) {
    var ownTracks: OwnTracksFormat?
    if let names = profiles.ownTracks {
      ownTracks = OwnTracksFormat(
        topics: try OwnTracksTopics(user: names.user, device: names.device), trackerID: names.trackerID)
    }
    self.init(
      topics: topics, isNative: profiles.isNative, ownTracks: ownTracks,
      homeAssistant: profiles.homeAssistant.map {
        HomeAssistantDiscovery(prefix: $0.prefix, topics: topics, version: version, kinds: $0.kinds)
      })
  }
}
