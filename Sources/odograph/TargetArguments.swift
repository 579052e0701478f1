internal import ArgumentParser
internal import FleetCore

/// Which vehicles a command is for: the same for all that tell vehicles something.
struct TargetArguments: ParsableArguments {
  @Option(help: "Only this fleet; repeat for several.")
  var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  var vehicle: [String] = []

  func targets(_ broker: BrokerArguments, share: Double? = nil) -> VehicleTargets {
    VehicleTargets(root: broker.topicRoot, fleets: broker.fleets(fleet), vehicles: vehicle, share: share)
  }
}
