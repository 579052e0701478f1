internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetManagement

/// The options of a command that reads vehicles' retained messages.
struct VehicleQueryOptions: BrokerOptions {
  @OptionGroup(title: "Vehicles") var vehicles: VehicleArguments
  @OptionGroup var beginning: BeginningArguments
  @Flag(help: "Print a JSON line for each vehicle.") var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  init() {}

  var targets: VehicleTargets { vehicles.targets(broker) }
}

/// The options of a command that changes vehicles' desired state.
struct VehicleChangeOptions: ParsableArguments {
  @OptionGroup(title: "Vehicles") var vehicles: ChangedVehicleArguments
  @OptionGroup var beginning: BeginningArguments
  @Option(help: ArgumentHelp("Time limit for reports; 0 does not wait.", valueName: "seconds"))
  var timeout = 60.0
  @Flag(help: "Print a JSON line for each vehicle.") var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  init() {}

  /// Returns the vehicles.
  ///
  /// - Throws: `FleetError` if none is named, or for an invalid timeout.
  func targets(share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard (0...86_400).contains(timeout) else {
      throw .usage("wait", "\(timeout) s", "--timeout must be 0 to 86400 seconds")
    }
    return try vehicles.targets(broker, share: share)
  }
}

/// The vehicles of a command that changes them. At least one fleet or vehicle is required, unless every vehicle
/// is selected explicitly: a missing name is more often a mistake than intended.
struct ChangedVehicleArguments: ParsableArguments {
  init() {}

  @OptionGroup var named: VehicleArguments

  @Flag(help: "Select every vehicle of every fleet.")
  var everyVehicle = false

  /// Returns the vehicles.
  /// - Throws: `FleetError` if every vehicle of every fleet would be changed without `--every-vehicle`.
  func targets(_ broker: BrokerArguments, share: Double? = nil) throws(FleetError) -> VehicleTargets {
    if everyVehicle {
      guard named.fleet.isEmpty, named.vehicle.isEmpty else {
        throw .usage(
          "use", "--every-vehicle", "it cannot be combined with --fleet and --vehicle")
      }
      // `--every-vehicle` also takes precedence over the profile's fleet.
      return VehicleTargets(root: broker.topicRoot, fleets: [], vehicles: [], share: share)
    }
    let targets = named.targets(broker, share: share)
    guard targets.fleets.isEmpty, targets.vehicles.isEmpty else { return targets }
    throw .usage(
      "change", "every vehicle of every fleet",
      "name a --fleet or --vehicle (or --every-vehicle for all)")
  }
}
