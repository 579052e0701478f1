package import ArgumentParser
package import Fleet

/// When a command that goes on for ever ends by itself: the same, by either of its names, for all of them.
package struct TimeLimitArguments: ParsableArguments {
  package init() {}

  @Option(
    name: [.customLong("timeout"), .customLong("seconds")], parsing: .unconditional,
    help: ArgumentHelp("End after so long; the two names mean the same.", valueName: "seconds"))
  package var timeout: Double?

  package func limit() throws(FleetError) -> Double? {
    guard let timeout else { return nil }
    guard (0...1e8).contains(timeout) else {
      throw FleetError(
        operation: "go on", object: "for \(timeout) s", cause: "--timeout and --seconds are 0 to 100000000",
        exit: .usage)
    }
    return timeout
  }
}
