internal import ArgumentParser
internal import CommandHelp
internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import Platform

@main
struct Odograph: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "odograph",
    abstract: "Fleet command line and server for vehicles that run odographd.",
    discussion: """
      Vehicles publish below odograph/v1/FLEET/VEHICLE; odograph subscribes to these topics at the broker. \
      odograph completion prints the script that completes commands and options in bash, zsh or fish.

      Examples:
        odograph watch                          # the fleet on the local broker
        odograph watch --broker mqtts://ann@broker.example
        odograph tail --vehicle van-1 --kind location
        odograph record fleet.sqlite
        ODOGRAPH_BROKER=mqtt://10.0.0.5 odograph watch

      Exit codes: 0 done; 1 a comparison found differences; 64 usage; 69 broker unavailable or access refused; 74 output \
      not writable; 75 timed out; 130 Ctrl-C; 143 SIGTERM.
      """,
    version: BuildInformation.current.description,
    groupedSubcommands: [
      CommandGroup(
        name: "Live messages",
        subcommands: [Watch.self, Tail.self, Stats.self]),
      CommandGroup(
        name: "Web page and alerts", subcommands: [Serve.self, Access.self, Alerts.self]),
      CommandGroup(
        name: "Recording and export",
        subcommands: [Record.self, Export.self, Replay.self]),
      CommandGroup(name: "Trips and driving events", subcommands: [Trips.self, Events.self]),
      CommandGroup(
        name: "Sensor samples and crash traces",
        subcommands: [History.self, Samples.self, Trace.self]),
      CommandGroup(
        name: "Remote commands, settings and regions",
        subcommands: [Command.self, Config.self, Regions.self]),
      CommandGroup(name: "Radio beacon map", subcommands: [Beacons.self]),
      CommandGroup(
        name: "Broker test, load and clean-up",
        subcommands: [Check.self, Simulate.self, Verify.self, Forget.self]),
      CommandGroup(name: "Shell", subcommands: [Completion.self]),
    ])

  static func main() { CommandProgram.main(Self.self) }
}

/// Runs a command with its options, and ends the process with its exit status. A failure to connect to the
/// broker is reported with the origin of the address and the next steps.
func perform<Options>(
  _ command: (Options) throws(FleetError) -> ExitStatus, _ options: Options
) throws {
  let status: ExitStatus
  do throws(FleetError) { status = try command(options) } catch {
    StandardError.report(error.commandText)
    (options as? any BrokerOptions)?.advice(on: error).forEach(StandardError.report)
    status = ExitStatus(error.kind)
  }
  if status != .done { throw ExitCode(status.rawValue) }
}
