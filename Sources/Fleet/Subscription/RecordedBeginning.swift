package import MQTT
package import Spatial
internal import Telemetry

/// A query for the state that vehicles had before a command started.
package struct BeginningQuery: Hashable, Sendable {
  package var profile = MessageProfile.native
  package var root: String
  /// The fleets and vehicles; an empty list selects all.
  package var fleets: [String]
  package var vehicles: [String]
  /// The native paths below a vehicle, in addition to its position.
  package var paths: [String]

  /// The paths of the retained messages that the live table and its map show.
  package static let shown = [
    MessageKind.status.rawValue, MessageKind.altitude.rawValue, MessageKind.vehicle.rawValue,
    TopicScheme.regionsDesired, TopicScheme.regionsReported, TopicScheme.regionsState,
  ]

  package init(root: String, fleets: [String] = [], vehicles: [String] = [], paths: [String]) {
    (self.root, self.fleets, self.vehicles, self.paths) = (root, fleets, vehicles, paths)
  }

  /// Creates the query for the selected vehicles.
  package init(_ selection: FleetSelection) {
    self.init(
      root: selection.root, fleets: selection.fleets, vehicles: selection.vehicles, paths: Self.shown)
    profile = selection.profile
  }
}

extension BeginningQuery {
  /// A function that returns the messages of a recording; none if there is no recording.
  package typealias Source = (BeginningQuery) throws(FleetError) -> RecordedBeginning
}

/// The messages of a recording that a broker would have retained.
package struct RecordedBeginning: Hashable, Sendable {
  /// The name for display: a path, or a database's address without credentials.
  package var name: String
  /// The last message of each topic, in order of recording.
  package var messages: [MQTTMessage] = []
  /// The vehicles with messages.
  package var vehicles: [VehicleKey] = []
  /// The time of the latest message; nil without messages.
  package var newest: UTCTime?

  package init(name: String) { self.name = name }

  /// Returns the recording's messages and the messages that the broker has retained (`kept`). For a topic
  /// with both, only the broker's message.
  package func adding(_ kept: [MQTTMessage]) -> [MQTTMessage] {
    let known = Set(kept.map(\.topic))
    return messages.filter { !known.contains($0.topic) } + kept
  }

  package func sentence(at now: UTCTime) -> String {
    guard let newest else {
      return "\(name) has no messages of the selected vehicles; check --root, --fleet and --vehicle"
    }
    let count = vehicles.count == 1 ? "1 vehicle" : "\(vehicles.count) vehicles"
    return
      "starts with \(name): \(count), newest message \(QuantityText.age(now.seconds(since: newest))) old"
  }
}
