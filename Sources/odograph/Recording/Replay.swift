internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore
internal import Telemetry

struct Replay: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Republishes a recording to a broker.",
    discussion: """
      Reads what odograph record has written to a file or a postgres:// URL, and publishes it in the recorded order \
      and pace, or faster, for example to test a backend with yesterday's messages. Topics, quality of service and \
      retain flags are the recorded ones (retain is set for messages that were retained when they were recorded).

      --times shift (the default) moves the times in messages, also those of tracks, to now, and replaces the epochs \
      of the vehicles' sequences, so that consumers do not discard the messages as duplicates. With --speed max the \
      recording ends now. --times keep publishes every payload unchanged; recording it again gives the same rows.

      The target must be named: --to-fleet publishes to another fleet, --as-live to the recorded topics as the \
      vehicles would. Consumers of all fleets receive both: unless it names fleets, odograph serve shows, records \
      and alerts for the replayed vehicles like for others, and odograph record stores them. Use another broker \
      for a rehearsal, or select the fleets of these consumers. --to-fleet refuses recordings in which two fleets \
      have a vehicle of the same name; select one of them with --fleet.

      Messages to vehicles (commands, desired settings and regions) are skipped and counted, because live vehicles \
      would obey them. --orders publishes them, too.

      Examples:
        odograph replay fleet.sqlite --to-fleet rehearsal --speed 10
        odograph replay fleet.sqlite --to-fleet rehearsal --from 2026-11-21
        odograph replay fleet.sqlite --to-fleet test --speed max --times keep
        odograph replay fleet.sqlite --as-live --longest-pause 5

      Exit codes: 0 all messages were acknowledged; 64 usage, or the recording cannot be read; 69 broker \
      unavailable, or it refused messages; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Selection") var part: RecordingArguments

  @Option(
    name: .customLong("speed"), parsing: .unconditional,
    help: ArgumentHelp(
      "Speed factor, as in 1 or 10; max is as fast as the broker accepts.",
      valueName: "factor"))
  var speedText = "1"

  @Option(
    name: .customLong("times"),
    help: ArgumentHelp("shift: move times to now; keep: leave times unchanged.", valueName: "times"))
  var timesText = "shift"

  @Option(
    name: .customLong("to-fleet"),
    help: ArgumentHelp("Publish to the topics of this fleet.", valueName: "fleet"))
  var fleet: String?

  @Flag(help: "Publish to the recorded topics, as the vehicles would.")
  var asLive = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Shorten pauses of the recording to this length.", valueName: "seconds"))
  var longestPause: Double?

  @Flag(
    name: .customLong("orders"),
    help: "Also publish commands and desired settings and regions; live vehicles obey them.")
  var playsOrders = false

  @Flag(help: "Print the summary as a JSON object.")
  var json = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(ReplayCommand.run, self) }

  /// Returns the speed of the replay relative to real time; nil for as fast as the broker accepts messages.
  func speed() throws(FleetError) -> Double? {
    if speedText == "max" { return nil }
    guard let number = Double(speedText), (0.001...100_000).contains(number) else {
      throw .usage("use", "--speed \(speedText.prefix(40))", "must be 0.001 to 100000, or max")
    }
    return number
  }

  func times() throws(FleetError) -> ReplayTimes {
    if let times = ReplayTimes(rawValue: timesText) { return times }
    throw .usage("use", "--times \(timesText.prefix(40))", "must be shift or keep")
  }

  /// Checks the options.
  ///
  /// - Throws: `FleetError` for invalid options.
  func check() throws(FleetError) {
    if let longestPause, !(longestPause >= 0) {
      throw .usage("use", "--longest-pause \(longestPause)", "must be 0 or more seconds")
    }
    guard let fleet else {
      guard asLive else {
        throw .usage(
          "replay", "under the recorded topics",
          "subscribers there would take the messages for live ones; name a fleet with --to-fleet, or add --as-live"
        )
      }
      return
    }
    if asLive { throw .usage("use", "--as-live", "it contradicts --to-fleet; use one of them") }
    do throws(TopicError) { _ = try TopicScheme(root: broker.topicRoot, fleet: fleet, vehicle: "v") } catch {
      throw .usage("use", "--to-fleet \"\(fleet.prefix(80))\"", error.description)
    }
  }
}
