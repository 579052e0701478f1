package import ArgumentParser
internal import Fleet
package import FleetConsole
internal import Telemetry

/// The options of `odograph replay`.
package struct ReplayOptions: ParsableArguments {
  /// What becomes of the times in messages.
  package enum Times: String, Hashable, Sendable, CaseIterable {
    /// They say what they would say if it happened now; messages are new ones, with epochs of their own.
    case shift
    /// Messages are those of the recording, byte by byte.
    case keep
  }

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Selection") package var part: RecordingArguments

  @Option(
    name: .customLong("speed"), parsing: .unconditional,
    help: ArgumentHelp(
      "How much faster than it was recorded, as in 1 or 10; max is as fast as the broker takes it.",
      valueName: "factor"))
  package var speedText = "1"

  @Option(
    name: .customLong("times"),
    help: ArgumentHelp("shift: as if it happened now; keep: as they were recorded.", valueName: "times"))
  package var timesText = "shift"

  @Option(
    name: .customLong("to-fleet"),
    help: ArgumentHelp("Play it under the topics of this fleet.", valueName: "fleet"))
  package var fleet: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Skip beyond this in pauses of the recording.", valueName: "seconds"))
  package var longestPause: Double?

  @Flag(
    name: .customLong("orders"),
    help: "Play commands, and settings and regions that were wanted, too: vehicles that listen obey them.")
  package var playsOrders = false

  @Flag(help: "Print the summary as a JSON object.")
  package var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  package var isQuiet = false

  package init() {}

  /// Times as fast as life; nil as fast as the broker takes it.
  func speed() throws(FleetError) -> Double? {
    if speedText == "max" { return nil }
    guard let number = Double(speedText), (0.001...100_000).contains(number) else {
      throw FleetError(
        operation: "use", object: "--speed \(speedText.prefix(40))", cause: "it is 0.001 to 100000, or max",
        exit: .usage)
    }
    return number
  }

  func times() throws(FleetError) -> Times {
    if let times = Times(rawValue: timesText) { return times }
    throw FleetError(
      operation: "use", object: "--times \(timesText.prefix(40))", cause: "it is shift or keep", exit: .usage)
  }

  /// - Throws: `FleetError` for options that make no sense.
  func check() throws(FleetError) {
    if let longestPause, !(longestPause >= 0) {
      throw FleetError(
        operation: "use", object: "--longest-pause \(longestPause)", cause: "it is 0 or more seconds",
        exit: .usage)
    }
    guard let fleet else { return }
    do throws(TopicError) { _ = try TopicScheme(root: broker.topicRoot, fleet: fleet, vehicle: "v") } catch {
      throw FleetError(
        operation: "use", object: "--to-fleet \"\(fleet.prefix(80))\"", cause: error.description, exit: .usage
      )
    }
  }
}
