package import ArgumentParser
package import Fleet
package import MQTT
package import Spatial
internal import Telemetry

/// Where a command begins from, at a broker that does not hand out what was said before.
package struct BeginningArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "Begin from what odograph record has written: an SQLite file, or a postgres:// URL; what the broker says goes before it.",
      valueName: "store"), completion: .file())
  package var recording: String?

  /// What the recording has, with a sentence on standard error; nothing where none is named.
  /// - Throws: `FleetError` for a recording that is not there, or cannot be asked for this.
  package func read(
    _ query: BeginningQuery, _ reader: BeginningReader
  ) throws(FleetError) -> RecordedBeginning {
    guard let recording else { return RecordedBeginning(name: "") }
    let beginning = try reader(recording, query)
    StandardError.say(beginning.sentence(at: Moment.now.time))
    return beginning
  }
}

/// What a command wants to know of the time before it.
package struct BeginningQuery: Hashable, Sendable {
  package var profile = MessageProfile.native
  package var root: String
  /// None stands for all.
  package var fleets: [String]
  package var vehicles: [String]
  /// Native paths below a vehicle, beside that of its position.
  package var paths: [String]

  /// What a broker keeps of a vehicle, and the table and the map show.
  package static let shown = [
    MessageKind.status.rawValue, MessageKind.altitude.rawValue, MessageKind.vehicle.rawValue,
    TopicScheme.regionsDesired, TopicScheme.regionsReported, TopicScheme.regionsState,
  ]

  package init(root: String, fleets: [String] = [], vehicles: [String] = [], paths: [String]) {
    (self.root, self.fleets, self.vehicles, self.paths) = (root, fleets, vehicles, paths)
  }

  /// Of those that are listened to.
  package init(_ selection: FleetSelection) {
    self.init(
      root: selection.root, fleets: selection.fleets, vehicles: selection.vehicles, paths: Self.shown)
    profile = selection.profile
  }
}

/// Asks a recording, by its file or URL.
package typealias BeginningReader = (_ place: String, BeginningQuery) throws(FleetError) -> RecordedBeginning

/// What a broker would hand out of vehicles, out of a recording.
package struct RecordedBeginning: Hashable, Sendable {
  /// For people: a path, or a database's address without its secrets.
  package var name: String
  /// The last of each topic, those that were recorded first in front, as a broker hands out what it keeps.
  package var messages: [MQTTMessage] = []
  /// Of which there is something.
  package var vehicles: [VehicleKey] = []
  /// When the last of them was recorded; nil for none.
  package var newest: UTCTime?

  package init(name: String) { self.name = name }

  /// With what a broker has handed out: of a topic that it keeps, what it says counts.
  package func adding(_ kept: [MQTTMessage]) -> [MQTTMessage] {
    let known = Set(kept.map(\.topic))
    return messages.filter { !known.contains($0.topic) } + kept
  }

  package func sentence(at now: UTCTime) -> String {
    guard let newest else {
      return "\(name) has nothing of what was chosen; look with --root and fewer of --fleet and --vehicle"
    }
    let count = vehicles.count == 1 ? "1 vehicle" : "\(vehicles.count) vehicles"
    return
      "begins from \(name): \(count), the newest word \(QuantityText.age(now.seconds(since: newest))) old"
  }
}
