internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import Settings
internal import Telemetry

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config",
    abstract: "Shows and changes vehicle settings remotely.",
    discussion: """
      --recording reads vehicle names from a recording of odograph record, for brokers that do not deliver \
      retained messages to wildcard subscriptions (RabbitMQ); the vehicles are then queried by name. A document \
      that the broker does not deliver even then is shown as recorded: desired documents regardless of their age, \
      reported ones from the week before the vehicle's last position, in a large fleet from at least the vehicle's \
      last 200 messages.

      Examples:
        odograph config show --fleet delivery --vehicle van-1
        odograph config show --recording fleet.sqlite
        odograph config set status.interval=30 --fleet delivery --vehicle van-1
        odograph config set --unset location.distance_filter --fleet delivery
        odograph config set --file winter.json --fleet delivery --stages 5,100
        odograph config diff --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage; 69 broker unavailable, or a vehicle refused; 74 \
      output not writable; 75 a vehicle did not report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Show.self, Set.self, Diff.self])

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Prints the settings that were set remotely and are in effect.",
      discussion: """
        Examples:
          odograph config show --fleet delivery --vehicle van-1
          odograph config show --fleet delivery --json | jq .reported.settings

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try perform(ConfigCommand.show, options) }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Shows settings that differ from the desired ones.",
      discussion: """
        Examples:
          odograph config diff --fleet delivery

        Exit codes: 0 no differences; 1 differences found; 64 usage; 69 broker unavailable; 74 output not \
        writable; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try perform(ConfigCommand.diff, options) }
  }

  struct Set: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Sets vehicle settings and waits for confirmation.",
      discussion: """
        Settings are added to the desired ones. An offline vehicle applies them when it reconnects. With --stages, \
        each stage waits until its vehicles have applied the settings; a refusal stops the rollout.

        Requires --fleet or --vehicle; changing every vehicle of every fleet requires --every-vehicle.

        Examples:
          odograph config set status.interval=30 --fleet delivery --vehicle van-1
          odograph config set 'motion.events=["impact", "shake"]' \\
            --fleet delivery --vehicle van-1
          odograph config set --unset location.distance_filter --fleet delivery
          odograph config set --file winter.json --fleet delivery --stages 5,100

        Exit codes: 0 done; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output not writable; 75 a vehicle did not \
        report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(
      help:
        "Settings, as in location.distance_filter=50; an array as in 'motion.events=[\"impact\", \"shake\"]'.",
      completion: .list(Config.Set.keys.map { $0 + "=" }))
    var settings: [String] = []

    @Option(
      help: ArgumentHelp("Remove a desired setting; repeat for several.", valueName: "key"),
      completion: .list(Config.Set.keys))
    var unset: [String] = []

    @Option(
      help: ArgumentHelp("A JSON file with an object of settings.", valueName: "file"),
      completion: .file(extensions: ["json"]))
    var file: String?

    @Option(help: ArgumentHelp("Name of this change (default: the time).", valueName: "name"))
    var label: String?

    @Option(
      name: .customLong("stages"),
      help: ArgumentHelp(
        "Roll out to these percentages of the vehicles in stages, as in 5,25,100; --timeout applies to each.",
        valueName: "list"))
    var stageList: String?

    @Option(
      help: ArgumentHelp(
        "Only for this percentage of the vehicles, selected at random.", valueName: "percent"))
    var share: Double?

    @OptionGroup var change: VehicleChangeOptions

    func run() throws { try perform(ConfigCommand.set, self) }

    var broker: BrokerArguments { change.broker }

    /// The settings that can be changed remotely.
    private static var keys: [String] {
      ConfigurationKey.all.map(\.path).filter { RemoteKeys.problem(with: $0) == nil }.sorted()
    }

    func validate() throws {
      if let stageList, Self.numbers(stageList).contains(nil) {
        throw ValidationError("--stages must be a list of percentages, as in 5,25,100")
      }
    }

    /// Returns the ascending percentages of vehicles at which the roll-out waits for reports.
    func stages() throws(FleetError) -> [Double] {
      let stages = Self.numbers(stageList ?? "100").compactMap { $0 }
      guard stages.allSatisfy({ $0 > 0 && $0 <= 100 }), stages == stages.sorted() else {
        throw .usage("use", "--stages", "must be rising percentages, for example 5,25,100")
      }
      return stages
    }

    private static func numbers(_ list: String) -> [Double?] {
      list.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    }
  }
}
