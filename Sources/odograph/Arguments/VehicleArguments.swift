internal import ArgumentParser
internal import FleetCore
internal import Telemetry

/// Which vehicles a command is for, or listens to.
struct VehicleArguments: ParsableArguments {
  @Option(help: "Only this fleet; repeat for several.")
  var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  var vehicle: [String] = []

  /// Whom to tell something.
  func targets(_ broker: BrokerArguments, share: Double? = nil) -> VehicleTargets {
    VehicleTargets(root: broker.topicRoot, fleets: broker.fleets(fleet), vehicles: vehicle, share: share)
  }

  /// Whom to listen to.
  func selection(
    _ broker: BrokerArguments, _ words: MessageProfileArguments, kinds: [MessageKind] = []
  ) throws(FleetError) -> FleetSelection {
    FleetSelection(
      profile: try words.profile(broker), root: try words.root(broker), fleets: broker.fleets(fleet),
      vehicles: vehicle, kinds: kinds)
  }
}
