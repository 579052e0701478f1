internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore

struct Trips: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "trips",
    abstract: "Lists trips, shows one trip, or writes routes as GPX or GeoJSON.",
    discussion: """
      Reads what odograph record has written (--recording), by vehicle and start of the trip. Without --recording it \
      prints trips as vehicles report them, until it is stopped. The last report of a trip counts, whatever the \
      order of arrival. A trip belongs to the month in which it started.

        text     a line for each trip; with a vehicle and a number all details and
                 the trip's driving events
        csv      a header and a line for each trip, as for a logbook: metres,
                 seconds, m/s, litres, kWh
        jsonl    each message unchanged, with fleet and vehicle
        geojson  the route of each trip with the time of every point; other data is
                 in the properties
        gpx      a track for each trip

      From the broker, csv, geojson and gpx contain finished trips, text and jsonl also trips under way. A file \
      appears when the command ends, also by Ctrl-C.

      Examples:
        odograph trips --fleet delivery
        odograph trips --recording fleet.sqlite --month 2026-11 -o november.csv
        odograph trips --recording fleet.sqlite van-1
        odograph trips --recording fleet.sqlite van-1 41
        odograph trips --recording fleet.sqlite van-1 41 -o way.gpx
        odograph trips --recording fleet.sqlite --json | jq .distance

      Exit codes: 0 done, also if the pipe is closed; 64 usage, the recording cannot be read, or has no such trip; \
      69 broker unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; \
      130 Ctrl-C; 143 SIGTERM.
      """)

  @Argument(help: ArgumentHelp("Only this vehicle.", valueName: "vehicle"))
  var vehicle: String?

  @Argument(
    help: ArgumentHelp("Only the trip with this number, with all details.", valueName: "number"))
  var number: Int64?

  @Option(
    help: ArgumentHelp("Only driven, carried or unobserved trips; repeat for several.", valueName: "kind"))
  var kind: [String] = []

  @OptionGroup var journal: JournalOptions

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(TripsCommand.run, self) }

  /// Returns the selection.
  ///
  /// - Throws: `FleetError` for invalid options.
  func selection() throws(FleetError) -> TripSelection {
    if let number, number < 1 { throw .usage("look for", "trip \(number)", "trips are numbered from 1") }
    let known = ["driven", "carried", "unobserved"]
    for kind in kind where !known.contains(kind) {
      throw .usage("use", "--kind \(kind.prefix(40))", "must be \(known.joined(separator: ", "))")
    }
    var selection = TripSelection()
    selection.part = try journal.selection(vehicles: vehicle.map { [$0] } ?? [])
    (selection.number, selection.kinds) = (number, kind)
    return selection
  }
}
