internal import ArgumentParser
internal import FleetStore

struct Trips: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trips",
    abstract: "Shows vehicles' trips: all, one in full, its way as GPX or GeoJSON.",
    discussion: """
      Out of what odograph record has written (--recording), by vehicle and in the order in which trips began; \
      without it, trips as vehicles tell them, until it is interrupted. Of each trip counts what its vehicle told last, \
      in whatever order and how often it came. A trip belongs to the month in which it began.

      text     a line for each; with a vehicle and a number all that is known, and its driving events
      csv      a head, and a line for each, as for a logbook: metres, seconds, m/s, litres, kWh
      jsonl    the message of each as it came, with fleet and vehicle
      geojson  the way of each, with the times of its places; the rest is in the properties
      gpx      a track for each

      From the broker, csv, geojson and gpx have trips that have ended, text and jsonl also those that begin and are \
      under way; a file is there when the command ends, also by Ctrl-C.

      Examples:
        odograph trips --fleet delivery
        odograph trips --recording fleet.sqlite --month 2026-11 -o november.csv
        odograph trips --recording fleet.sqlite van-1
        odograph trips --recording fleet.sqlite van-1 41
        odograph trips --recording fleet.sqlite van-1 41 -o way.gpx
        odograph trips --recording fleet.sqlite --json | jq .distance

      Exit codes: 0 done, also when the reader left; 64 usage, the recording cannot be read, or has no such trip; \
      69 broker unavailable, or refuses; 74 the output cannot be written; 75 the time was over before the count was \
      reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: TripsOptions

  func run() throws { try perform(TripsCommand.run, options) }
}

struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Shows how vehicles were driven, and what was done to them.",
    discussion: """
      Harsh braking, acceleration and cornering, swerves, kerbs, potholes, speeding, idling; tow and tilt of what was \
      parked, supplies that are low or unplugged, positions that contradict the sensors. Out of what odograph record \
      has written (--recording), by vehicle and in order of time; without it, as vehicles tell them, until it is \
      interrupted. What goes on for a while is told when it begins, as ongoing, and again when it is over: of the broker, \
      text and jsonl show both, of a recording what was told last.

      Examples:
        odograph events --fleet delivery --severity high
        odograph events --recording fleet.sqlite van-1 --from 2026-11-21
        odograph events --recording fleet.sqlite --event harshBraking -o there.gpx
        odograph events --recording fleet.sqlite --json | jq .severity

      Exit codes: 0 done, also when the reader left; 64 usage, or the recording cannot be read; 69 broker unavailable, \
      or refuses; 74 the output cannot be written; 75 the time was over before the count was reached; 130 Ctrl-C; \
      143 SIGTERM.
      """)

  @OptionGroup var options: EventsOptions

  func run() throws { try perform(EventsCommand.run, options) }
}
