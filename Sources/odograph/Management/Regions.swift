internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetManagement

struct Regions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "regions",
    abstract: "Shows and changes the regions that vehicles monitor.",
    discussion: """
      Regions are polygons, or points with a radius, from GeoJSON, KML, KMZ or WKT (one region per line, after an \
      optional name and colon). The name of a region is the GeoJSON id or its property identifier or name; in KML \
      the placemark's name, or its id if it has no name.

      --recording reads vehicle names from a recording of odograph record, for brokers that do not deliver \
      retained messages to wildcard subscriptions (RabbitMQ); the vehicles are then queried by name. A document \
      that the broker does not deliver even then is shown as recorded: desired documents regardless of their age, \
      reported ones from the week before the vehicle's last position, in a large fleet from at least the vehicle's \
      last 200 messages.

      Examples:
        odograph regions list --fleet delivery
        odograph regions list --recording fleet.sqlite
        odograph regions push depots.geojson --fleet delivery --vehicle van-1
        odograph regions push stops.kml --radius 80 --add --fleet delivery
        echo 'yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.1))' | \\
          odograph regions push - --fleet delivery
        odograph regions diff depots.geojson --fleet delivery
        odograph regions remove yard --fleet delivery

      Exit codes: 0 done; 1 diff found differences; 64 usage, a file that cannot be read, or no vehicle has the \
      region to remove; 69 broker unavailable, or a vehicle refused a region; 74 output not writable; 75 a vehicle \
      did not report in time; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [List.self, Push.self, Remove.self, Diff.self])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Shows monitored and desired regions with their states.",
      discussion: """
        The last reported state of each region is inside, outside or unknown, and since when. Regions of the \
        vehicle's own file are listed, too. A vehicle reports at most 200 regions: first those that it is inside, \
        then the nearest ones.

        Examples:
          odograph regions list --fleet delivery
          odograph regions list --fleet delivery --vehicle van-1 --json

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try perform(RegionsCommand.list, options) }
  }

  struct Push: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "push",
      abstract: "Sets the desired regions from a file.",
      discussion: """
        Requires --fleet or --vehicle; changing every vehicle of every fleet requires --every-vehicle.

        Examples:
          odograph regions push depots.geojson --fleet delivery --vehicle van-1
          odograph regions push stops.kml --radius 80 --add --fleet delivery

        Exit codes: 0 done; 64 usage, or a file that cannot be read; 69 broker unavailable, or a vehicle refused a region; \
        74 output not writable; 75 a vehicle did not report in time; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: "A GeoJSON, KML, KMZ or WKT file; - is standard input.", completion: .file())
    var file: String
    @Flag(help: "Add to the desired regions; a region of the same name is replaced.") var add = false
    @Option(help: ArgumentHelp("Radius of points without a radius property.", valueName: "metres"))
    var radius: Double?
    @Option(
      help: ArgumentHelp(
        "Only for this percentage of the vehicles, selected at random.", valueName: "percent"))
    var share: Double?

    @OptionGroup var change: VehicleChangeOptions

    func run() throws { try perform(RegionsCommand.push, self) }

    var broker: BrokerArguments { change.broker }
  }

  struct Remove: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Removes desired regions.",
      discussion: """
        Requires --fleet or --vehicle; changing every vehicle of every fleet requires --every-vehicle.

        Examples:
          odograph regions remove yard --fleet delivery
          odograph regions remove --all --fleet delivery --vehicle van-1

        Exit codes: 0 done; 64 usage, or no vehicle has such a region; 69 broker unavailable, or a vehicle \
        refused; 74 output not writable; 75 a vehicle did not report in time; 130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: "Names of regions.") var names: [String] = []
    @Flag(help: "Remove all regions.") var all = false

    @OptionGroup var change: VehicleChangeOptions

    func run() throws { try perform(RegionsCommand.remove, self) }

    var broker: BrokerArguments { change.broker }

    func validate() throws {
      if names.isEmpty != all {
        throw ValidationError("name the regions to remove, or use --all, but not both")
      }
    }
  }

  struct Diff: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Compares monitored regions with the desired ones or a file.",
      discussion: """
        Examples:
          odograph regions diff --fleet delivery
          odograph regions diff depots.geojson --fleet delivery

        Exit codes: 0 no differences; 1 differences found; 64 usage, or a file that cannot be read; 69 broker \
        unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
        """)

    @OptionGroup(title: "Vehicles") var vehicles: VehicleArguments
    @Argument(
      help: "A GeoJSON, KML, KMZ or WKT file (default: the desired regions of each vehicle).",
      completion: .file())
    var file: String?
    @Option(help: ArgumentHelp("Radius of points without a radius property.", valueName: "metres"))
    var radius: Double?
    @OptionGroup var beginning: BeginningArguments
    @Flag(help: "Print a JSON line for each difference.") var json = false

    @OptionGroup(title: "Broker") var broker: BrokerArguments

    func run() throws { try perform(RegionsCommand.diff, self) }
  }
}
