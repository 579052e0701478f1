package import ArgumentParser
internal import Bytes
package import Fleet
package import FleetConsole
internal import MQTT
internal import Platform
internal import Telemetry

/// Which vehicles a command is for.
package struct VehicleTargets: Hashable, Sendable {
  package var root: String
  /// None stands for all.
  package var fleets: [String]
  package var vehicles: [String]
  /// Of those, 1 ... 100 per cent, always the same ones for the same vehicles; nil takes all.
  package var share: Double?
  /// Whether every vehicle of every fleet is meant where none is named. Without it that is refused to a command that
  /// changes something; one that only reads does not ask.
  var meansEveryVehicle = false

  /// - Parameters:
  ///   - fleets: none stands for all.
  ///   - vehicles: none stands for all.
  package init(root: String, fleets: [String], vehicles: [String], share: Double? = nil) {
    (self.root, self.fleets, self.vehicles, self.share) = (root, fleets, vehicles, share)
  }

  /// The filters of a path below each of them.
  package func filters(_ paths: [String]) throws(FleetError) -> [String] {
    if let share, !(share > 0 && share <= 100) {
      throw .usage("use", "--share \(share)", "it is a percentage, above 0 and up to 100")
    }
    // Names are checked by the contract's own rule.
    let bases = try FleetSelection(root: root, fleets: fleets, vehicles: vehicles).filters()
    return bases.flatMap { base in paths.map { base.dropLast("#".count) + $0 } }
  }

  /// Asks for a choice where something is to be changed: that nobody is named is more often forgotten than meant.
  /// - Throws: `FleetError` when every vehicle of every fleet would be told, and nobody said so.
  func requireChoice() throws(FleetError) {
    guard fleets.isEmpty, vehicles.isEmpty, !meansEveryVehicle else { return }
    throw .usage(
      "tell", "every vehicle of every fleet",
      "nobody is named; give --fleet or --vehicle, or --every-vehicle where that is meant")
  }

  /// What of a recording is wanted beside what the broker keeps.
  func query(_ paths: [String]) -> BeginningQuery {
    BeginningQuery(root: root, fleets: fleets, vehicles: vehicles, paths: paths)
  }

  /// The vehicles meant, when all are named.
  package var named: [VehicleKey]? {
    guard !vehicles.isEmpty, !fleets.isEmpty else { return nil }
    return fleets.flatMap { fleet in vehicles.map { VehicleKey(fleet: fleet, vehicle: $0) } }.sorted()
  }

  /// Whether nobody is meant: not all are named, and the broker keeps nothing of any.
  func isNobody(_ kept: [MQTTMessage]) -> Bool { named == nil && found(kept).isEmpty }

  private func found(_ kept: [MQTTMessage]) -> Set<VehicleKey> {
    Set(kept.compactMap { TopicAddress(topic: $0.topic, root: root)?.key })
  }

  /// The vehicles meant: those named, or those of which the broker keeps something; and of them the share.
  /// - Parameter canBegin: whether the command has `--recording`, which it advises then.
  /// - Throws: `FleetError` when there is none.
  func resolve(_ kept: [MQTTMessage], canBegin: Bool = true) throws(FleetError) -> [VehicleKey] {
    let keys = named ?? found(kept).sorted()
    guard !keys.isEmpty else {
      throw FleetError(
        operation: "find", object: "the vehicles",
        cause:
          "the broker keeps nothing of them, or hands it out by exact topics only; name --fleet and --vehicle, \(canBegin ? "begin from a recording with --recording, " : "")or look with odograph check",
        exit: .unavailable)
    }
    guard let share else { return keys }
    let count = max(1, Int((Double(keys.count) * share / 100).rounded()))
    return keys.sorted { ($0.lot, $0) < ($1.lot, $1) }.prefix(count).sorted()
  }
}

extension VehicleKey {
  /// A number that looks drawn by lot and is always the same.
  var lot: UInt64 { FNV1a.hash64(description.utf8) }

  package func topic(root: String, _ path: String) -> String { "\(root)/\(fleet)/\(vehicle)/\(path)" }
}

/// The options of a command that reads what the broker keeps of vehicles.
package struct VehicleQueryOptions: ParsableArguments {
  @OptionGroup(title: "Vehicles") package var vehicles: VehicleArguments
  @OptionGroup package var beginning: BeginningArguments
  @Flag(help: "Print a JSON line for each vehicle.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}

  var targets: VehicleTargets { vehicles.targets(broker) }
}

/// The options of a command that changes what is wanted of vehicles.
struct VehicleChangeOptions: ParsableArguments {
  @OptionGroup(title: "Vehicles") package var vehicles: ChangedVehicleArguments
  @OptionGroup package var beginning: BeginningArguments
  @Option(help: ArgumentHelp("How long to wait for reports; 0 does not wait.", valueName: "seconds"))
  var timeout = 60.0
  @Flag(help: "Print a JSON line for each vehicle.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  init() {}

  /// - Throws: `FleetError` when nobody is named, and for a time that cannot be.
  func targets(share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard (0...86_400).contains(timeout) else {
      throw .usage("wait", "\(timeout) s", "--timeout is 0 to 86400 seconds")
    }
    let targets = try vehicles.targets(broker, share: share)
    try targets.requireChoice()
    return targets
  }
}

/// Which vehicles are told something: the same for all commands that change what vehicles do.
struct ChangedVehicleArguments: ParsableArguments {
  init() {}

  @OptionGroup package var named: VehicleArguments

  @Flag(help: "Every vehicle of every fleet: meant only when it is said.")
  var everyVehicle = false

  func targets(_ broker: BrokerArguments, share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard everyVehicle else { return named.targets(broker, share: share) }
    guard named.fleet.isEmpty, named.vehicle.isEmpty else {
      throw .usage(
        "use", "--every-vehicle", "it stands alone; leave it out, or leave out --fleet and --vehicle")
    }
    // It goes before the profile's fleet too.
    var targets = VehicleTargets(root: broker.topicRoot, fleets: [], vehicles: [], share: share)
    targets.meansEveryVehicle = true
    return targets
  }
}

extension VehicleArguments {
  /// Whom to tell something.
  package func targets(_ broker: BrokerArguments, share: Double? = nil) -> VehicleTargets {
    VehicleTargets(root: broker.topicRoot, fleets: broker.fleets(fleet), vehicles: vehicle, share: share)
  }
}
