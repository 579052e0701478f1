internal import ArgumentParser
internal import Fleet
internal import FleetCommand

struct Beacons: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "beacons",
    abstract: "Builds a map of radio beacons, and serves it to vehicles.",
    discussion: """
      Beacons are Wi-Fi access points and cells of mobile networks. They give vehicles a coarse position without a \
      receiver. Vehicles with beacons.share = true report the beacons that they receive beside accurate fixes, and \
      odograph record stores them. build makes a map of these reports, show prints its contents, and serve sends \
      parts of it to vehicles that request them (beacons.receive = true).

      Examples:
        odograph beacons build fleet.sqlite -o map.csv
        odograph beacons show map.csv
        odograph beacons serve map.csv --fleet demo

      Exit codes: 0 done; 64 usage, or a file that cannot be read; 69 broker unavailable or access refused; 74 the output \
      cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Build.self, Show.self, Serve.self])

  struct Build: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "build",
      abstract: "Builds a map from the scans in a recording.",
      discussion: """
        More than half of the vehicles that received a beacon must agree on its position: two vehicles outvote a \
        single vehicle with false reports. Moving beacons are omitted. The map is CSV with one line for each \
        beacon: address or cell, position in degrees, reach in metres, number of receptions, number of vehicles, \
        day of the last reception in days since 1970, and source: fleet, or the host of a service. It contains no \
        vehicle names.

        With --geolocate an external geolocation service, such as BeaconDB, is queried for beacons that too few \
        vehicles have received. It receives the fleet's API key, at least two addresses and signal strengths of \
        access points, and identities and signal strengths of cells. It receives no names, vehicles, times, \
        positions or moving beacons. It sees the IP address of the request. Answers that contradict the vehicles' \
        reports are refused; other answers are added with the lowest weight until vehicles report better \
        positions. A service that refuses, fails or contradicts repeatedly is not queried further; the map is \
        written, and the command exits with 69.

        Examples:
          odograph beacons build fleet.sqlite -o map.csv
          odograph beacons build fleet.sqlite --vehicles 2 --from 2026-06-01 > map.csv
          odograph beacons build -o m.csv --geolocate https://api.example/v1/geolocate

        Exit codes: 0 done; 64 usage, or the recording cannot be read; 69 the service refuses, or contradicts the \
        vehicles' reports; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
        """)

    @OptionGroup(title: "Selection") var part: RecordingArguments

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp("The map to write (default: standard output).", valueName: "file"),
      completion: .file())
    var output: String?
    @Flag(help: "Replace an existing file.") var force = false
    @Option(help: ArgumentHelp("Minimum number of vehicles that agree on a beacon.", valueName: "count"))
    var vehicles = 1
    @Option(help: ArgumentHelp("Minimum number of receptions.", valueName: "count"))
    var sightings = 2
    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
    var isQuiet = false
    @OptionGroup(title: "Outside service") var geolocate: GeolocateArguments

    func run() throws { try perform(BeaconsCommand.build, self) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Shows the contents of a map.",
      discussion: """
        Prints the number of beacons by technology, source, day of the last reception and area of about 20 by 30 km; \
        or one beacon, or those near a position. The source is fleet, or the host of the geolocation service.

        Examples:
          odograph beacons build -o map.csv
          odograph beacons show map.csv
          odograph beacons show map.csv --near 48.1371,11.5754 --within 500
          odograph beacons show map.csv --json | jq .source

        Exit codes: 0 done; 64 usage, or the map cannot be read or does not contain the beacon; 74 output not \
        writable.
        """)

    @Argument(help: "The map, as odograph beacons build writes it.", completion: .file())
    var map: String
    @Option(
      help: ArgumentHelp(
        "Only this access point (b8:27:eb:00:12:34) or cell (lte-262-1-26385410).", valueName: "beacon"))
    var beacon: String?
    @Option(
      parsing: .unconditional,
      help: ArgumentHelp("Only beacons near a position, the nearest first.", valueName: "lat,lon"))
    var near: String?
    @Option(help: ArgumentHelp("Maximum distance in metres for --near.", valueName: "metres"))
    var within = 200.0
    @Flag(help: "Print JSON: an object with counts, or a line for each beacon.") var json = false

    func run() throws { try perform(BeaconsCommand.show, self) }
  }

  struct Serve: ParsableCommand, BrokerOptions {
    static let configuration = CommandConfiguration(
      commandName: "serve",
      abstract: "Sends parts of a map to vehicles that request them.",
      discussion: """
        A vehicle with beacons.receive = true requests the cells of about 20 by 30 km around it on beacons/wanted, \
        and receives the parts that it lacks, in pieces of at most 64 KiB on its own topic beacons/piece. At most \
        the 24,000 most received beacons of a cell are sent. Runs until it is stopped. A changed map file is \
        loaded within ten seconds, and vehicles receive every changed cell as a whole.

        Examples:
          odograph beacons build --vehicles 2 fleet.sqlite -o map.csv
          odograph beacons serve map.csv --fleet demo
          odograph beacons serve map.csv --broker mqtts://ann@broker.example

        Exit codes: 0 time limit reached; 64 usage, or the map cannot be read; 69 broker unavailable or access refused; \
        130 Ctrl-C; 143 SIGTERM.
        """)

    @Argument(help: "The map, as odograph beacons build writes it.", completion: .file())
    var map: String
    @OptionGroup(title: "Vehicles") var vehicles: VehicleArguments
    @OptionGroup var time: TimeLimitArguments
    @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Do not print the sent pieces.")
    var isQuiet = false

    @OptionGroup(title: "Broker") var broker: BrokerArguments

    func run() throws { try perform(BeaconsCommand.serve, self) }
  }
}
