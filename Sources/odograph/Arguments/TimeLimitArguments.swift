internal import ArgumentParser
internal import FleetCore

/// When a command that goes on for ever ends by itself: the same, by either of its names, for all of them.
struct TimeLimitArguments: ParsableArguments {
  @Option(
    name: [.customLong("timeout"), .customLong("seconds")], parsing: .unconditional,
    help: ArgumentHelp("End after so long; the two names mean the same.", valueName: "seconds"))
  var timeout: Double?

  func limit() throws(FleetError) -> Double? {
    guard let timeout else { return nil }
    guard (0...1e8).contains(timeout) else {
      throw FleetError(
        operation: "go on", object: "for \(timeout) s", cause: "--timeout and --seconds are 0 to 100000000",
        exit: .usage)
    }
    return timeout
  }
}
