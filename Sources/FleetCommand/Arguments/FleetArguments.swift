public import ArgumentParser
package import Fleet
package import MQTT
public import Telemetry

/// The options that select vehicles.
package struct VehicleArguments: ParsableArguments {
  package init() {}

  @Option(help: "Only this fleet; repeat for several.")
  package var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  package var vehicle: [String] = []

  /// Returns the selection of messages.
  package func selection(
    _ broker: BrokerArguments, _ words: MessageProfileArguments, kinds: [MessageKind] = []
  ) throws(FleetError) -> FleetSelection {
    FleetSelection(
      profile: try words.profile(broker), root: try words.root(broker), fleets: broker.fleets(fleet),
      vehicles: vehicle, kinds: kinds)
  }
}

/// The options that select messages: by vehicles and kinds, or by topic filter.
package struct TopicArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "MQTT topic filter, instead of the next three options; repeat for several.", valueName: "filter"))
  package var topic: [String] = []

  @OptionGroup package var vehicles: VehicleArguments

  @Option(help: ArgumentHelp("Only this kind of message; repeat for several.", valueName: "kind"))
  package var kind: [MessageKind] = []

  package func filters(_ broker: BrokerArguments, _ words: MessageProfileArguments) throws(FleetError)
    -> [String]
  {
    if topic.isEmpty { return try vehicles.selection(broker, words, kinds: kind).filters() }
    guard vehicles.fleet.isEmpty, vehicles.vehicle.isEmpty, kind.isEmpty else {
      throw .usage(
        "use", "--topic",
        "it cannot be combined with --fleet, --vehicle and --kind; include them in the filter")
    }
    return topic
  }
}

extension MessageKind: ExpressibleByArgument {}

/// The option for the wire format, common to all commands that subscribe.
package struct MessageProfileArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "What vehicles publish: native, or owntracks with the user as fleet and the device as vehicle (ODOGRAPH_MESSAGE_PROFILE; default: native).",
      valueName: "words"), completion: .list(MessageProfile.allCases.map(\.rawValue)))
  var messageProfile: String?

  package func profile(_ broker: BrokerArguments) throws(FleetError) -> MessageProfile {
    let written = try broker.usedProfile()?[.messageProfile]
    guard let name = messageProfile ?? environment("ODOGRAPH_MESSAGE_PROFILE") ?? written else {
      return .native
    }
    guard let profile = MessageProfile(rawValue: name) else {
      throw .usage(
        "use", "--message-profile \(name.prefix(40))",
        "must be \(MessageProfile.allCases.map(\.rawValue).joined(separator: " or "))")
    }
    return profile
  }

  /// Returns the topic root. The root in the environment or a profile applies to the native format only.
  package func root(_ broker: BrokerArguments) throws(FleetError) -> String {
    let profile = try profile(broker)
    return profile == .native ? broker.topicRoot : broker.root ?? profile.usualRoot
  }
}

/// The option for the quality of service.
package struct QualityArguments: ParsableArguments {
  package init() {}

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Maximum quality of service: 0, 1 or 2.", valueName: "level"),
    completion: .list(["0", "1", "2"]))
  package var qos: UInt8 = 1

  package func level() throws(FleetError) -> QoS {
    guard let level = QoS(rawValue: qos) else {
      throw .usage("use", "--qos \(qos)", "the levels are 0, 1 and 2")
    }
    return level
  }
}

/// The option for the time limit of commands that otherwise run indefinitely; it has two names.
package struct TimeLimitArguments: ParsableArguments {
  package init() {}

  @Option(
    name: [.customLong("timeout"), .customLong("seconds")], parsing: .unconditional,
    help: ArgumentHelp("Stop after this time; both names are equivalent.", valueName: "seconds"))
  package var timeout: Double?

  package func limit() throws(FleetError) -> Double? {
    guard let timeout else { return nil }
    guard (0...1e8).contains(timeout) else {
      throw .usage("go on", "for \(timeout) s", "--timeout and --seconds must be 0 to 100000000")
    }
    return timeout
  }
}
