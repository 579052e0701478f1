package import ArgumentParser
package import Fleet
package import Telemetry

/// Which vehicles a command is for, or listens to.
package struct VehicleArguments: ParsableArguments {
  package init() {}

  @Option(help: "Only this fleet; repeat for several.")
  package var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  package var vehicle: [String] = []

  /// Whom to listen to.
  package func selection(
    _ broker: BrokerArguments, _ words: MessageProfileArguments, kinds: [MessageKind] = []
  ) throws(FleetError) -> FleetSelection {
    FleetSelection(
      profile: try words.profile(broker), root: try words.root(broker), fleets: broker.fleets(fleet),
      vehicles: vehicle, kinds: kinds)
  }
}
