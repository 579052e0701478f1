internal import ArgumentParser
internal import FleetControl

struct Regions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "regions",
    abstract: "Shows and changes the regions that vehicles watch.",
    discussion: """
      Regions are polygons, or points with a radius, from GeoJSON, KML, KMZ or WKT (one a line, with an optional name \
      and colon before it). Each has a name: the GeoJSON id, or its property identifier or name; the KML \
      placemark's name, or its id if it has none.

      --recording names vehicles out of what odograph record has stored, at a broker that does not hand out for wildcards \
      what it keeps (RabbitMQ): they are then asked for by name. What the broker does not hand out even so is shown as it was \
      recorded: what is wanted of a vehicle always, what it said about it from the week before its last position, of a \
      large fleet from its last 200 messages at least.

      Examples:
        odograph regions list --fleet delivery
        odograph regions list --recording fleet.sqlite
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

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "Shows the regions that vehicles watch, and the desired ones.",
      discussion: """
        Beside each region stands whether the vehicle is inside, as it told last, and since when. Regions of the \
        vehicle's own file are shown too. Of more than 200 those that it is in and the nearest are told.

        Examples:
          odograph regions list --fleet delivery
          odograph regions list --fleet delivery --vehicle van-1 --json

        Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: VehicleQueryOptions

    func run() throws { try performBeginning(RegionsCommand.list, options) }
  }

  struct Push: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "push",
      abstract: "Sets the desired regions to those of a file.",
      discussion: """
        Give --fleet or --vehicle; every vehicle of every fleet is told only with --every-vehicle.

        Examples:
          odograph regions push depots.geojson --fleet delivery --vehicle van-1
          odograph regions push stops.kml --radius 80 --add --fleet delivery

        Exit codes: 0 done; 64 usage, or a file that cannot be read; 69 broker unavailable, or a vehicle refused a region; \
        74 output gone; 75 a vehicle did not report in time; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: RegionsPushOptions

    func run() throws { try performBeginning(RegionsCommand.push, options) }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Removes desired regions.",
      discussion: """
        Give --fleet or --vehicle; every vehicle of every fleet is told only with --every-vehicle.

        Examples:
          odograph regions remove yard --fleet delivery
          odograph regions remove --all --fleet delivery --vehicle van-1

        Exit codes: 0 done; 64 usage, or nobody has such a region; 69 broker unavailable, or a vehicle refused; \
        74 output gone; 75 a vehicle did not \
        report in time; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: RegionsRemoveOptions

    func run() throws { try performBeginning(RegionsCommand.remove, options) }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Shows where watched and desired regions, or those of a file, differ.",
      discussion: """
        Examples:
          odograph regions diff --fleet delivery
          odograph regions diff depots.geojson --fleet delivery

        Exit codes: 0 nothing differs; 1 something does; 64 usage, or a file that cannot be read; 69 broker unavailable; \
        74 output gone; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: RegionsDiffOptions

    func run() throws { try performBeginning(RegionsCommand.diff, options) }
  }
}
