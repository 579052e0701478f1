internal import ArgumentParser
internal import Fleet
internal import FleetCommand

struct Forget: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "forget",
    abstract: "Deletes the retained messages of removed vehicles.",
    discussion: """
      Lists what would be deleted: status, last location, regions, desired and reported settings, and everything \
      else retained below the vehicle's topic. --yes deletes it. Name one or more vehicles. A vehicle that is online \
      is skipped, because it would publish again immediately. Recordings are not changed. With a broker that \
      delivers retained messages only for exact topics (RabbitMQ), only the documented topics of vehicles named with \
      --fleet and --vehicle are deleted.

      Examples:
        odograph forget --fleet delivery --vehicle van-7
        odograph forget --fleet delivery --vehicle van-7 --yes

      Exit codes: 0 done; 64 usage; 69 broker unavailable or refuses, or a vehicle is online; 74 output not writable; 75 the \
      broker did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Vehicles") var vehicles: VehicleArguments
  @Flag(help: "Delete the retained messages (default: only list them).")
  var yes = false
  @Flag(help: "Include vehicles that are online; they publish most of the messages again.")
  var online = false
  @Option(help: ArgumentHelp("Time limit for the broker's responses.", valueName: "seconds"))
  var timeout = 30.0
  @Flag(help: "Print a JSON line for each vehicle.") var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(ForgetCommand.run, self) }
}
