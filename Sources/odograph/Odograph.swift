internal import ArgumentParser
internal import CommandHelp
internal import Fleet
internal import FleetConsole
internal import FleetStore
internal import Platform

@main
struct Odograph: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "odograph",
    abstract: "Sees what a fleet of vehicles says over MQTT.",
    discussion: """
      Vehicles run odographd, which publishes below odograph/v1/FLEET/VEHICLE; \
      odograph reads that from the broker.

      Examples:
        odograph watch                          # the fleet on the local broker
        odograph watch --broker mqtts://ann@broker.example
        odograph tail --vehicle van-1 --kind location
        odograph record fleet.sqlite
        ODOGRAPH_BROKER=mqtt://10.0.0.5 odograph watch

      Exit codes: 0 done; 1 a comparison found differences; 64 usage; 69 broker unavailable, or a refusal; 74 the \
      output cannot be written; 75 the time was over; 130 Ctrl-C; 143 SIGTERM.
      """,
    version: BuildInformation.current.description,
    groupedSubcommands: [
      CommandGroup(
        name: "What vehicles say, on a screen or as lines",
        subcommands: [Watch.self, Tail.self, Stats.self]),
      CommandGroup(
        name: "A page in the browser, and alerts", subcommands: [Serve.self, Access.self, Alerts.self]),
      CommandGroup(
        name: "Into a database and out of it",
        subcommands: [Record.self, Export.self, Replay.self]),
      CommandGroup(name: "Trips, and how they were driven", subcommands: [Trips.self, Events.self]),
      CommandGroup(
        name: "Samples of sensors, traces of crashes",
        subcommands: [History.self, Samples.self, Trace.self]),
      CommandGroup(
        name: "Questions, settings and regions from afar",
        subcommands: [Command.self, Config.self, Regions.self]),
      CommandGroup(name: "A map of radio beacons of the fleet's own", subcommands: [Beacons.self]),
      CommandGroup(
        name: "A broker tried, loaded and tidied up",
        subcommands: [Check.self, Simulate.self, Verify.self, Forget.self]),
    ])

  static func main() { CommandProgram.main(Self.self) }
}

/// Runs a command with its options, and ends the process as it came out.
func perform<Options>(
  _ command: (Options) throws(FleetError) -> ExitStatus,
  _ options: @autoclosure () throws(FleetError) -> Options
) throws {
  let status: ExitStatus
  do throws(FleetError) {
    status = try command(options())
  } catch {
    StandardError.say(error.description)
    status = error.exit
  }
  if status != .done { throw ExitCode(status.rawValue) }
}

/// Runs a command that may begin from a recording.
func performBeginning<Options>(
  _ command: (Options, BeginningReader) throws(FleetError) -> ExitStatus,
  _ options: @autoclosure () throws(FleetError) -> Options
) throws {
  try perform(
    { options throws(FleetError) in try command(options, RecordedBeginning.read) }, try options())
}
