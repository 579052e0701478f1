internal import ArgumentParser
internal import Fleet
internal import FleetConsole
internal import FleetControl

struct Config: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows and changes vehicles' settings from afar.",
    discussion: """
      Examples:
        odograph config show --fleet delivery --vehicle van-1
        odograph config set status.interval=30 --fleet delivery --vehicle van-1
        odograph config set --unset location.distance_filter --fleet delivery
        odograph config set --file winter.json --fleet delivery --stages 5,100
        odograph config diff --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output \
      gone; 75 one did not report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Show.self, Set.self, Diff.self])

  /// Runs an action; the three share all but their own options.
  fileprivate static func run(
    _ action: ConfigOptions.Action, _ broker: BrokerArguments, json: Bool,
    _ targets: () throws(FleetError) -> VehicleTargets,
    change: (inout ConfigOptions) -> Void = { _ in }
  ) throws {
    func options() throws(FleetError) -> ConfigOptions {
      var options = ConfigOptions(action, targets: try targets())
      options.broker = try broker.options()
      options.json = json
      change(&options)
      return options
    }
    try perform(ConfigCommand.run, try options())
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the settings in force.",
      discussion: """
        Examples:
          odograph config show --fleet delivery --vehicle van-1
          odograph config show --fleet delivery --json | jq .settings

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: VehicleArguments
    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func run() throws {
      try Config.run(.show, broker, json: json) { targets.targets(broker) }
    }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints where what is wanted is not what is in force.",
      discussion: """
        Examples:
          odograph config diff --fleet delivery

        Exit codes: 0 nothing differs; 1 something does; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; \
        143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: VehicleArguments
    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func run() throws {
      try Config.run(.diff, broker, json: json) { targets.targets(broker) }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Wants settings of vehicles, and waits for what becomes of them.",
      discussion: """
        Settings come on top of those wanted before. A vehicle that is away reads them when it is back. With \
        --stages, each stage waits until its vehicles have taken them, and a refusal stops the roll-out.

        Give --fleet or --vehicle; every vehicle of every fleet is changed only with --every-vehicle.

        Examples:
          odograph config set status.interval=30 --fleet delivery --vehicle van-1
          odograph config set --unset location.distance_filter --fleet delivery
          odograph config set --file winter.json --fleet delivery --stages 5,100

        Exit codes: 0 done; 64 usage; 69 broker unavailable, or a vehicle refused; 74 output gone; 75 a vehicle did not \
        report in time, or was not asked; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: ChangedVehicleArguments

    @Argument(help: "Settings, as in location.distance_filter=50.") var settings: [String] = []

    @Option(help: ArgumentHelp("Take a setting back; repeat for several.", valueName: "key"))
    var unset: [String] = []

    @Option(help: ArgumentHelp("A JSON file with an object of settings.", valueName: "file"))
    var file: String?

    @Option(help: ArgumentHelp("What to call this change (default: the time).", valueName: "name"))
    var label: String?

    @Option(
      help: ArgumentHelp(
        "Roll out to these percentages of the vehicles, one after the other, as in 5,25,100.",
        valueName: "list"))
    var stages: String?

    @Option(
      help: ArgumentHelp("Only for this percentage of the vehicles, drawn by lot.", valueName: "percent"))
    var share: Double?

    @Option(help: ArgumentHelp("How long a stage waits for reports; 0 does not wait.", valueName: "seconds"))
    var timeout = 60.0

    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func validate() throws {
      guard let stages else { return }
      let parts = stages.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
      if parts.contains(nil) { throw ValidationError("--stages is a list of percentages, as in 5,25,100") }
    }

    func run() throws {
      try Config.run(.set, broker, json: json) { () throws(FleetError) in
        try targets.targets(broker, share: share)
      } change: { options in
        options.assignments = settings
        options.removals = unset
        options.file = file
        options.name = label
        options.stages = stages?.split(separator: ",").compactMap { Double($0) } ?? []
        options.timeout = timeout
      }
    }
  }
}
