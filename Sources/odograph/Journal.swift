internal import ArgumentParser
internal import FleetStore

struct Trips: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trips",
    abstract: "Lists trips, shows one trip, or writes routes as GPX or GeoJSON.",
    discussion: """
      Reads what odograph record has written (--recording), by vehicle and start of the trip. Without --recording it \
      prints trips as vehicles report them, until it is stopped. The last report of a trip counts, whatever the \
      order of arrival. A trip belongs to the month in which it started.

        text     a line for each trip; with a vehicle and a number all details and the trip's driving events
        csv      a header and a line for each trip, as for a logbook: metres, seconds, m/s, litres, kWh
        jsonl    each message unchanged, with fleet and vehicle
        geojson  the route of each trip with the time of every point; other data is in the properties
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

  @OptionGroup var options: TripsOptions

  func run() throws { try perform(TripsCommand.run, options) }
}

struct Events: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Lists driving events: braking, cornering, speeding, tow, and others.",
    discussion: """
      Harsh braking, acceleration and cornering, swerves, kerbs, potholes, speeding, idling; tow and tilt of a \
      parked vehicle; low or unplugged supplies; positions that contradict the sensors. Reads what odograph record \
      has written (--recording), by vehicle and time. Without --recording it prints events as vehicles report \
      them, until it is stopped. An event that lasts is reported at its start, as ongoing, and at its end. From \
      the broker, text and jsonl contain both reports; from a recording, only the last one.

      Examples:
        odograph events --fleet delivery --severity high
        odograph events --recording fleet.sqlite van-1 --from 2026-11-21
        odograph events --recording fleet.sqlite --event harshBraking -o there.gpx
        odograph events --recording fleet.sqlite --json | jq .severity

      Exit codes: 0 done, also if the pipe is closed; 64 usage, or the recording cannot be read; 69 broker \
      unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; 130 \
      Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: EventsOptions

  func run() throws { try perform(EventsCommand.run, options) }
}
