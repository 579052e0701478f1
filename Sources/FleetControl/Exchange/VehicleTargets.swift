package import ArgumentParser
internal import Bytes
package import Fleet
package import FleetCommand
internal import MQTT
internal import Platform
internal import Telemetry

/// The vehicles of a command.
package struct VehicleTargets: Hashable, Sendable {
  package var root: String
  /// The fleets and vehicles; an empty list selects all.
  package var fleets: [String]
  package var vehicles: [String]
  /// The percentage of the selected vehicles, above 0 and up to 100, chosen deterministically; nil for all.
  package var share: Double?
  /// True if every vehicle of every fleet is selected explicitly. Without this, commands that change
  /// something require a named fleet or vehicle; commands that only read do not.
  var meansEveryVehicle = false

  /// Creates a selection.
  ///
  /// - Parameters:
  ///   - fleets: empty for all.
  ///   - vehicles: empty for all.
  package init(root: String, fleets: [String], vehicles: [String], share: Double? = nil) {
    (self.root, self.fleets, self.vehicles, self.share) = (root, fleets, vehicles, share)
  }

  /// Returns the topic filters of paths below each selected vehicle.
  package func filters(_ paths: [String]) throws(FleetError) -> [String] {
    if let share, !(share > 0 && share <= 100) {
      throw .usage("use", "--share \(share)", "must be a percentage, above 0 and up to 100")
    }
    // The topic scheme checks the names.
    let bases = try FleetSelection(root: root, fleets: fleets, vehicles: vehicles).filters()
    return bases.flatMap { base in paths.map { base.dropLast("#".count) + $0 } }
  }

  /// Throws an error if a change would apply to all vehicles without an explicit selection: a missing name is
  /// more often a mistake than intended.
  /// - Throws: `FleetError` if every vehicle of every fleet would be changed without `--every-vehicle`.
  func requireChoice() throws(FleetError) {
    guard fleets.isEmpty, vehicles.isEmpty, !meansEveryVehicle else { return }
    throw .usage(
      "change", "every vehicle of every fleet",
      "name a --fleet or --vehicle (or --every-vehicle for all)")
  }

  /// Returns the query for the messages of a recording.
  func query(_ paths: [String]) -> BeginningQuery {
    BeginningQuery(root: root, fleets: fleets, vehicles: vehicles, paths: paths)
  }

  /// The selected vehicles if fleets and vehicles are named; nil otherwise.
  package var named: [VehicleKey]? {
    guard !vehicles.isEmpty, !fleets.isEmpty else { return nil }
    return fleets.flatMap { fleet in vehicles.map { VehicleKey(fleet: fleet, vehicle: $0) } }.sorted()
  }

  /// Returns whether no vehicle is selected: fleets or vehicles are not named, and there are no retained
  /// messages.
  func isEmptySelection(_ kept: [MQTTMessage]) -> Bool { named == nil && found(kept).isEmpty }

  private func found(_ kept: [MQTTMessage]) -> Set<VehicleKey> {
    Set(kept.compactMap { TopicAddress(topic: $0.topic, root: root)?.key })
  }

  /// Returns the selected vehicles: the named ones, or those with retained messages, reduced to the share of
  /// `--share`.
  /// - Parameter canBegin: true if the command has `--recording`, which the error then recommends.
  /// - Throws: `FleetError` if no vehicle is found.
  func resolve(_ kept: [MQTTMessage], canBegin: Bool = true) throws(FleetError) -> [VehicleKey] {
    let keys = named ?? found(kept).sorted()
    guard !keys.isEmpty else {
      throw FleetError(
        operation: "find", object: "the vehicles",
        cause:
          "the broker has no retained messages of these vehicles, or delivers them for exact topics only; name --fleet and --vehicle, \(canBegin ? "begin from a recording with --recording, " : "")or look with odograph check",
        kind: .unavailable)
    }
    guard let share else { return keys }
    let count = max(1, Int((Double(keys.count) * share / 100).rounded()))
    return keys.sorted { ($0.lot, $0) < ($1.lot, $1) }.prefix(count).sorted()
  }
}

extension VehicleKey {
  /// A pseudo-random number that depends only on the names of fleet and vehicle.
  var lot: UInt64 { FNV1a.hash64(description.utf8) }

  package func topic(root: String, _ path: String) -> String { "\(root)/\(fleet)/\(vehicle)/\(path)" }
}

/// The options of a command that reads vehicles' retained messages.
package struct VehicleQueryOptions: BrokerOptions {
  @OptionGroup(title: "Vehicles") package var vehicles: VehicleArguments
  @OptionGroup package var beginning: BeginningArguments
  @Flag(help: "Print a JSON line for each vehicle.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}

  var targets: VehicleTargets { vehicles.targets(broker) }
}

/// The options of a command that changes vehicles' desired state.
struct VehicleChangeOptions: ParsableArguments {
  @OptionGroup(title: "Vehicles") package var vehicles: ChangedVehicleArguments
  @OptionGroup package var beginning: BeginningArguments
  @Option(help: ArgumentHelp("Time limit for reports; 0 does not wait.", valueName: "seconds"))
  var timeout = 60.0
  @Flag(help: "Print a JSON line for each vehicle.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  init() {}

  /// Returns the vehicles.
  ///
  /// - Throws: `FleetError` if none is named, or for an invalid timeout.
  func targets(share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard (0...86_400).contains(timeout) else {
      throw .usage("wait", "\(timeout) s", "--timeout must be 0 to 86400 seconds")
    }
    let targets = try vehicles.targets(broker, share: share)
    try targets.requireChoice()
    return targets
  }
}

/// The vehicles of a command that changes them.
struct ChangedVehicleArguments: ParsableArguments {
  init() {}

  @OptionGroup package var named: VehicleArguments

  @Flag(help: "Select every vehicle of every fleet.")
  var everyVehicle = false

  func targets(_ broker: BrokerArguments, share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard everyVehicle else { return named.targets(broker, share: share) }
    guard named.fleet.isEmpty, named.vehicle.isEmpty else {
      throw .usage(
        "use", "--every-vehicle", "it cannot be combined with --fleet and --vehicle")
    }
    // `--every-vehicle` also takes precedence over the profile's fleet.
    var targets = VehicleTargets(root: broker.topicRoot, fleets: [], vehicles: [], share: share)
    targets.meansEveryVehicle = true
    return targets
  }
}

extension VehicleArguments {
  /// Returns the selected vehicles.
  package func targets(_ broker: BrokerArguments, share: Double? = nil) -> VehicleTargets {
    VehicleTargets(root: broker.topicRoot, fleets: broker.fleets(fleet), vehicles: vehicle, share: share)
  }
}
