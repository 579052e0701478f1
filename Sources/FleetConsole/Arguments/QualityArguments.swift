package import ArgumentParser
package import Fleet
package import MQTT

/// How hard the broker is asked to try.
package struct QualityArguments: ParsableArguments {
  package init() {}

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The highest quality of service to receive with: 0, 1 or 2.", valueName: "level"))
  package var qos: UInt8 = 1

  package func level() throws(FleetError) -> QoS {
    guard let level = QoS(rawValue: qos) else {
      throw FleetError(
        operation: "use", object: "--qos \(qos)", cause: "the levels are 0, 1 and 2", exit: .usage)
    }
    return level
  }
}
