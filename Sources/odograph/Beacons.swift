internal import ArgumentParser
internal import FleetStore

struct Beacons: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "beacons",
    abstract: "Makes the fleet's map of beacons, and serves it to vehicles.",
    discussion: """
      Beacons are access points and cells of mobile networks, by which vehicles know roughly where they are without a \
      receiver. Vehicles with beacons.share = true tell what they hear beside good fixes; odograph record keeps it, \
      build makes a map of it, show shows what is in it, and serve tells the parts of it to vehicles that ask for them (beacons.receive = true).

      Examples:
        odograph beacons build fleet.sqlite -o map.csv
        odograph beacons show map.csv
        odograph beacons serve map.csv --fleet demo

      Exit codes: 0 done; 64 usage, or a file that cannot be read; 69 broker unavailable, or refuses; 74 the output \
      cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """,
    subcommands: [Build.self, Show.self, Serve.self])

  struct Build: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "build",
      abstract: "Makes a map of the scans in a recording.",
      discussion: """
        A transmitter stands where more than half of the vehicles that have heard it say so: what one vehicle makes up is \
        outvoted where two others have been. What travels is left out. The map is CSV, a line for each transmitter: \
        address or cell, degrees, metres of reach, how often it was heard, by how many vehicles, the day of the last \
        time as days since 1970, and where that comes from: fleet, or the host of a service. It names no vehicle.

        With --geolocate a service of others, as Mozilla's was and BeaconDB is, is asked for what is left out because \
        too few vehicles have heard it. It is sent the fleet's key, addresses and signals of access points, two at \
        least, and numbers and signals of cells; never names, vehicles, times or places, nor what travels. It sees \
        from which address it is asked. What it answers is refused where it contradicts what vehicles have found, and \
        goes into the map with the least weight, until vehicles know better. A service that refuses, fails or \
        contradicts repeatedly is asked no more: then the map is written, and the command ends with 69.

        Examples:
          odograph beacons build fleet.sqlite -o map.csv
          odograph beacons build fleet.sqlite --vehicles 2 --from 2026-06-01 > map.csv
          odograph beacons build -o m.csv --geolocate https://api.example/v1/geolocate

        Exit codes: 0 done; 64 usage, or the recording cannot be read; 69 the service refuses or is not to be \
        trusted; 74 the output cannot be written; 130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: BeaconsBuildOptions

    func run() throws { try perform(BeaconsCommand.build, options) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Shows what a map holds.",
      discussion: """
        How many transmitters there are, by technology, source, day of the last time and area of some 20 by 30 km; or \
        one of them, or those near a place. The source is fleet, or the host of the service that has told it.

        Examples:
          odograph beacons build -o map.csv
          odograph beacons show map.csv
          odograph beacons show map.csv --near 48.1371,11.5754 --within 500
          odograph beacons show map.csv --json | jq .source

        Exit codes: 0 done; 64 usage, the map cannot be read, or does not have it; 74 the output cannot be written.
        """)
    @OptionGroup var options: BeaconsShowOptions

    func run() throws { try perform(BeaconsCommand.show, options) }
  }

  struct Serve: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "serve",
      abstract: "Answers vehicles that ask for parts of a map.",
      discussion: """
        A vehicle with beacons.receive = true tells in beacons/wanted which cells of some 20 by 30 km are around it, and \
        gets what it does not have of their map in pieces of at most 64 KiB on its own topic beacons/piece. The most \
        heard 24,000 transmitters of a cell are told. Runs until it is interrupted; another map in the file is taken within \
        ten seconds, and vehicles get the cells that have changed, each as a whole.

        Examples:
          odograph beacons build --vehicles 2 fleet.sqlite -o map.csv
          odograph beacons serve map.csv --fleet demo
          odograph beacons serve map.csv --broker mqtts://ann@broker.example

        Exit codes: 0 the time was over; 64 usage, or the map cannot be read; 69 broker unavailable, or refuses; \
        130 Ctrl-C; 143 SIGTERM.
        """)
    @OptionGroup var options: BeaconsServeOptions

    func run() throws { try perform(BeaconsCommand.serve, options) }
  }
}
