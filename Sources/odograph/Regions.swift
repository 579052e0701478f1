internal import ArgumentParser
internal import Fleet
internal import FleetConsole
internal import FleetControl

struct Regions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows and changes the regions that vehicles watch.",
    discussion: """
      Regions are polygons, or points with a radius, from GeoJSON, KML or WKT (one a line, with an optional name \
      and colon before it). Each has a name: the GeoJSON id, or its property identifier or name; the KML \
      placemark's id or name.

      Examples:
        odograph regions list --fleet delivery
        odograph regions push depots.geojson --fleet delivery --vehicle van-1
        odograph regions push stops.kml --radius 80 --add --fleet delivery
        echo 'yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.1))' | \\
          odograph regions push - --fleet delivery
        odograph regions diff depots.geojson --fleet delivery
        odograph regions remove yard --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage, a file that cannot be read, or a region to remove that \
      nobody has; 69 broker unavailable, or \
      a vehicle refused a region; 74 output gone; 75 a vehicle did not report in time; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [List.self, Push.self, Remove.self, Diff.self])

  fileprivate static func run(
    _ action: RegionsOptions.Action, _ broker: BrokerArguments, json: Bool, radius: Double? = nil,
    timeout: Double = 0, _ targets: () throws(FleetError) -> VehicleTargets
  ) throws {
    func options() throws(FleetError) -> RegionsOptions {
      var options = RegionsOptions(action, targets: try targets())
      options.broker = try broker.options()
      options.radius = radius
      options.timeout = timeout
      options.json = json
      return options
    }
    try perform(RegionsCommand.run, try options())
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints what vehicles watch, and what they are to.",
      discussion: """
        Examples:
          odograph regions list --fleet delivery
          odograph regions list --fleet delivery --vehicle van-1 --json

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: VehicleArguments
    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func run() throws { try Regions.run(.list, broker, json: json) { targets.targets(broker) } }
  }

  struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Wants the regions of a file watched, in place of those wanted before.",
      discussion: """
        Give --fleet or --vehicle; every vehicle of every fleet is told only with --every-vehicle.

        Examples:
          odograph regions push depots.geojson --fleet delivery --vehicle van-1
          odograph regions push stops.kml --radius 80 --add --fleet delivery

        Exit codes: 0 done; 64 usage, or a file that cannot be read; 69 broker unavailable, or a vehicle refused a region; \
        74 output gone; 75 a vehicle did not report in time; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: ChangedVehicleArguments
    @Argument(help: "A GeoJSON, KML or WKT file; - is standard input.") var file: String
    @Flag(help: "Beside those wanted before; one of the same name is replaced.") var add = false
    @Option(help: ArgumentHelp("Radius of points that have none.", valueName: "metres")) var radius: Double?
    @Option(
      help: ArgumentHelp("Only for this percentage of the vehicles, drawn by lot.", valueName: "percent"))
    var share: Double?
    @Option(help: ArgumentHelp("How long to wait for reports; 0 does not wait.", valueName: "seconds"))
    var timeout = 60.0
    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func run() throws {
      try Regions.run(
        .push(file: file, adding: add), broker, json: json, radius: radius, timeout: timeout
      ) { () throws(FleetError) in try targets.targets(broker, share: share) }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Wants regions watched no more.",
      discussion: """
        Give --fleet or --vehicle; every vehicle of every fleet is told only with --every-vehicle.

        Examples:
          odograph regions remove yard --fleet delivery
          odograph regions remove --all --fleet delivery --vehicle van-1

        Exit codes: 0 done; 64 usage, or nobody has such a region; 69 broker unavailable, or a vehicle refused; \
        74 output gone; 75 a vehicle did not \
        report in time; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: ChangedVehicleArguments
    @Argument(help: "Names of regions.") var names: [String] = []
    @Flag(help: "All of them.") var all = false
    @Option(help: ArgumentHelp("How long to wait for reports; 0 does not wait.", valueName: "seconds"))
    var timeout = 60.0
    @Flag(help: "Print a JSON line for each vehicle.") var json = false

    func validate() throws {
      if names.isEmpty != all { throw ValidationError("name the regions to remove, or say --all") }
    }

    func run() throws {
      try Regions.run(.remove(names), broker, json: json, timeout: timeout) { () throws(FleetError) in
        try targets.targets(broker)
      }
    }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints where vehicles do not watch what is wanted, or what a file holds.",
      discussion: """
        Examples:
          odograph regions diff --fleet delivery
          odograph regions diff depots.geojson --fleet delivery

        Exit codes: 0 nothing differs; 1 something does; 64 usage, or a file that cannot be read; 69 broker unavailable; \
        74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup(title: "Broker") var broker: BrokerArguments
    @OptionGroup(title: "Vehicles") var targets: VehicleArguments
    @Argument(help: "A GeoJSON, KML or WKT file (default: what is wanted of each vehicle).") var file: String?
    @Option(help: ArgumentHelp("Radius of points that have none.", valueName: "metres")) var radius: Double?
    @Flag(help: "Print a JSON line for each difference.") var json = false

    func run() throws {
      try Regions.run(.diff(file: file), broker, json: json, radius: radius) { targets.targets(broker) }
    }
  }
}
