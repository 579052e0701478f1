package import ArgumentParser
package import Fleet

/// In which words the vehicles speak: the same for all commands that listen.
package struct MessageProfileArguments: ParsableArguments {
  package init() {}

  @Option(
    help: ArgumentHelp(
      "What vehicles publish: native, or owntracks with the user as fleet and the device as vehicle (ODOGRAPH_MESSAGE_PROFILE; default: native).",
      valueName: "words"))
  package var messageProfile: String?

  package func profile(_ broker: BrokerArguments) throws(FleetError) -> MessageProfile {
    let written = try broker.usedProfile()?.messageProfile
    guard let name = messageProfile ?? environment("ODOGRAPH_MESSAGE_PROFILE") ?? written else {
      return .native
    }
    guard let profile = MessageProfile(rawValue: name) else {
      throw FleetError(
        operation: "use", object: "--message-profile \(name.prefix(40))",
        cause: "it is \(MessageProfile.allCases.map(\.rawValue).joined(separator: " or "))", exit: .usage)
    }
    return profile
  }

  /// Where topics begin. What the environment or a profile says of it is meant for native topics.
  package func root(_ broker: BrokerArguments) throws(FleetError) -> String {
    let profile = try profile(broker)
    return profile == .native ? broker.topicRoot : broker.root ?? profile.usualRoot
  }
}
