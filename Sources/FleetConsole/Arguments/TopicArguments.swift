public import ArgumentParser
package import Fleet
public import Telemetry

/// Which messages a command takes: by their vehicles and kinds, or by any filter.
package struct TopicArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "An MQTT topic filter, instead of the next three; repeat for several.", valueName: "filter"))
  package var topic: [String] = []

  @OptionGroup package var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Only this kind of message; repeat for several.", valueName: "kind"))
  package var kind: [MessageKind] = []

  package func filters(_ broker: BrokerArguments, _ words: MessageProfileArguments) throws(FleetError)
    -> [String]
  {
    if topic.isEmpty { return try vehicles.selection(broker, words, kinds: kind).filters() }
    guard vehicles.fleet.isEmpty, vehicles.vehicle.isEmpty, kind.isEmpty else {
      throw FleetError(
        operation: "use", object: "--topic",
        cause: "it stands alone; leave out --fleet, --vehicle and --kind, or write them into the filter",
        exit: .usage)
    }
    return topic
  }
}

extension MessageKind: ExpressibleByArgument {}
