package import ArgumentParser
package import Fleet
package import FleetConsole

/// Which vehicles are told something: the same for all commands that change what vehicles do.
package struct ChangedVehicleArguments: ParsableArguments {
  package init() {}

  @OptionGroup package var named: VehicleArguments

  @Flag(help: "Every vehicle of every fleet: meant only when it is said.")
  package var everyVehicle = false

  package func targets(_ broker: BrokerArguments, share: Double? = nil) throws(FleetError) -> VehicleTargets {
    guard everyVehicle else { return named.targets(broker, share: share) }
    guard named.fleet.isEmpty, named.vehicle.isEmpty else {
      throw FleetError(
        operation: "use", object: "--every-vehicle",
        cause: "it stands alone; leave it out, or leave out --fleet and --vehicle", exit: .usage)
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
