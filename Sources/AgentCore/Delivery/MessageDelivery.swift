internal import Positioning
internal import Spatial
internal import Telemetry

/// Where the pipeline's messages go: to a broker through the durable queue, or to standard output.
protocol MessageDelivery: AnyObject, Sendable {
  /// Takes messages in order. When it returns, what must not be lost is stored.
  ///
  /// - Throws: an error that ends the agent, when nothing can be taken in any more.
  func accept(_ messages: [VehicleMessage]) throws

  /// Takes messages in order, and what is known of regions behind them: after a crash both are there or neither, so that no
  /// crossing is told twice, and none is lost.
  ///
  /// - Parameter regionStates: as `RegionMonitor.encoded` has them; nil where they are as they were.
  func accept(_ messages: [VehicleMessage], regionStates: [UInt8]?) throws

  /// The states that were accepted last, before a restart too; nil where none are preserved.
  var regionStates: [UInt8]? { get }

  /// Counts for `status`, by name.
  var counters: [String: Int] { get }

  /// What was used of the radio since the start.
  var radio: EnergyAccount { get }
  /// Why messages are kept in memory only; nil while they are safe.
  var storeProblem: String? { get }

  /// What the broker refuses, and why; nil while it takes all.
  var deliveryProblem: String? { get }

  /// How the connection to a broker stands; nil where messages do not go to one.
  var link: LinkReport? { get }

  /// Learns whether the vehicle rests, for what a link may cost.
  func observe(isAtRest: Bool, at timestamp: Timestamp)

  /// Numbers what comes from now on in another epoch: its times may be before those of what came until now.
  func beginEpoch()

  /// Says farewell, hands over what is due as far as that goes in a bounded time, and returns when all has ended.
  func stop(farewell: VehicleMessage) throws
}

extension MessageDelivery {
  /// Nothing, where messages do not go by radio.
  var radio: EnergyAccount { EnergyAccount(seconds: 0, starts: 0, bytes: 0) }
  /// Nothing is preserved where there is no store.
  func accept(_ messages: [VehicleMessage], regionStates: [UInt8]?) throws { try accept(messages) }
  var regionStates: [UInt8]? { nil }
  var storeProblem: String? { nil }
  var deliveryProblem: String? { nil }
  var link: LinkReport? { nil }
  func observe(isAtRest: Bool, at timestamp: Timestamp) {}
  func beginEpoch() {}
}

/// What remote management needs of the connection.
protocol RemoteLink: AnyObject, Sendable {
  /// Answers a command of the OwnTracks format.
  func answer(_ answer: OwnTracksAnswer)

  /// Goes over to these settings, and leaves the present broker in good order.
  func reconnect(_ settings: AgentConfiguration.MQTT)
}

extension MessageFormats {
  /// The formats that the agent's configuration wants.
  /// - Parameter version: of the program.
  init(_ profiles: AgentConfiguration.Profiles, topics: TopicScheme, version: String) throws(TopicError) {
    var ownTracks: OwnTracksFormat?
    if let names = profiles.ownTracks {
      ownTracks = OwnTracksFormat(
        topics: try OwnTracksTopics(user: names.user, device: names.device), trackerID: names.trackerID)
    }
    self.init(
      topics: topics, isNative: profiles.isNative, ownTracks: ownTracks,
      homeAssistant: profiles.homeAssistantPrefix.map {
        HomeAssistantDiscovery(prefix: $0, topics: topics, version: version)
      })
  }
}
