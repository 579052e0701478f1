internal import ArgumentParser
internal import FleetStore

struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Records what a fleet says into a database.",
    discussion: """
      Into an SQLite file, or into PostgreSQL with a postgres:// URL; tables are made when they are not there. \
      A message is acknowledged to the broker when it is committed, and one that comes again changes nothing, so each \
      is there once, whatever was killed in between. While nobody records, the broker keeps what comes for \
      --session-expiry, as far as it has room (mosquitto: max_queued_bytes, max_queued_messages); the same command takes it up \
      again. What says neither number nor time, as of other devices, is \
      stored as often as it comes. When the database goes away, nothing is acknowledged \
      until it is back. --forget ends what the broker keeps.

      With --share, as many processes as you like split the messages of a large fleet. One that ends with Ctrl-C or \
      SIGTERM first takes what the broker has for it. What one that was killed had waits for its session, with mosquitto for \
      nobody else, and is lost with it: start the same command again, or the same --client-id elsewhere when its machine does \
      not come back.

      --from takes the messages from a quorum queue of RabbitMQ instead, whose MQTT plugin the vehicles speak to: for a \
      cluster, which has no shared subscriptions in MQTT 3.1.1. The queue is made and bound to what is selected when it is \
      not there; recorders that name the same one split its messages, and what one had when it ended goes to another. A queue \
      keeps what it was bound with and what comes, until --forget deletes it. Names of fleets and vehicles \
      must have no dots there.

      Tables: messages (each as it came, with columns for what is asked for most), fixes (tracks, taken apart), latest \
      (the newest position of each vehicle), trips and driving_events (what was told last of each); view: positions. In PostgreSQL in the schema odograph, with a partition \
      for each day, and with PostGIS an index in space. Config/database/README.md has the queries.

      --keep 90d deletes what is older, at the start and each hour. A recording of an older version is brought up to \
      date when it is opened; --prepare does only these two, and needs no broker.

      Examples:
        odograph record                                  # into odograph.sqlite
        odograph record fleet.sqlite --fleet demo
        odograph record postgres://fleet@db.example/fleet --share recorders --client-id odograph-recorder-1
        odograph record postgres://fleet@db.example/fleet --from amqps://broker.example --queue odograph-record --ca ca.crt --cert dashboard.crt --key dashboard.key
        odograph record --message-profile owntracks phones.sqlite
        odograph record --topic 'sensors/#' other.sqlite
        odograph record fleet.sqlite --fleet demo --forget
        odograph record fleet.sqlite --keep 90d --prepare
        # sqlite3 odograph.sqlite 'select time, vehicle from positions'

      Passwords of PostgreSQL belong into ~/.pgpass or PGPASSWORD.

      Exit codes: 0 done: the count was reached, or the time was over where no count was asked for; 64 usage; 69 broker \
      unavailable, or refuses; 74 the database cannot be opened, or messages were left unstored as it failed; 75 the time was over before the count was reached; \
      130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: RecordOptions

  func run() throws { try perform(RecordCommand.run, options) }
}

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes a recording as GPX, GeoJSON, KML, CSV, JSON lines or Parquet.",
    discussion: """
      Reads what odograph record has written into a file or a postgres:// URL, also while it is writing, and puts out positions by vehicle and time: \
      those that were said at the time and those of tracks. Of one moment of a vehicle there is one. The form follows \
      from the file's name, or --format. A file is there when it is whole, and not before; one \
      that was there is replaced only with --force, and keeps its mode. Pipes and devices are written as they are. \
      Memory does not grow with the recording.

      gpx      a track for each vehicle; speed and course as Garmin's TrackPointExtension
      geojson  a FeatureCollection of points
      kml      a gx:Track for each vehicle, which a map plays along time
      csv      with a head; a name that a spreadsheet would evaluate, as =1+1, has an apostrophe in front
      jsonl    an object in each line; with --messages all messages as they came
      parquet  a folder for each day and fleet, date=2026-11-22/fleet-demo/positions.parquet, for DuckDB, pandas, pyarrow and Spark

      The folder of Parquet is there when all of it is whole, too. --force replaces one that holds such days and nothing \
      else. --update puts days into one that is there: each day of a fleet that has positions takes the place of the \
      same one, at once, and all others stay. The database sorts by day for it, with a temporary file of the size of what is exported.

      Examples:
        odograph export fleet.sqlite -o today.gpx --from 2026-11-21
        odograph export fleet.sqlite --vehicle van-1 --format csv | grep van-1
        odograph export fleet.sqlite --region depots.geojson -o there.kml
        odograph export fleet.sqlite --format parquet -o positions
        odograph export fleet.sqlite --format parquet -o positions --update --from 2026-11-21 --to 2026-11-22
        odograph export --messages --from 2026-11-21 --to 2026-11-22 > day.jsonl

      Exit codes: 0 done, also when the reader left; 64 usage, or the recording cannot be read; 74 the output cannot \
      be written; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ExportOptions

  func run() throws { try perform(ExportCommand.run, options) }
}

struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Plays a recording back onto a broker.",
    discussion: """
      Reads what odograph record has written into a file or a postgres:// URL, and publishes it in the order and at the pace in which it was received, \
      or faster: a backend can be tested with yesterday. Topics, quality of service and retain flags are the recorded \
      ones (retain is set on what the recording's broker had kept from before).

      --times shift, which is the default, moves the times in messages as if it all happened now, also those of tracks, \
      and gives the vehicles' sequences epochs of their own, so that nobody takes them for repetitions. With --speed max \
      the recording ends now. --times keep publishes every payload as it was; who records that again gets the same rows.

      Where it goes is said: --to-fleet keeps it apart from what real consumers listen to, --as-live speaks under the \
      recorded topics as if it were the vehicles. What was said to \
      vehicles (commands, and the settings and regions that were wanted) is left out, and its number said: live \
      vehicles would obey old orders. --orders plays it too.

      Examples:
        odograph replay fleet.sqlite --to-fleet rehearsal --speed 10
        odograph replay fleet.sqlite --to-fleet rehearsal --from 2026-11-21
        odograph replay fleet.sqlite --to-fleet test --speed max --times keep
        odograph replay fleet.sqlite --as-live --longest-pause 5

      Exit codes: 0 all is acknowledged; 64 usage, or the recording cannot be read; 69 broker unavailable, or it \
      refused some; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ReplayOptions

  func run() throws { try perform(ReplayCommand.run, options) }
}

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Says what of a simulated fleet has arrived.",
    discussion: """
      Holds what odograph simulate --told has written, a file for each process, against a recording, or against lines of \
      odograph tail: which numbers of which vehicle are missing, and which came more than once. What the broker had \
      acknowledged has to be there; what it had not is counted apart, and may be. Several recordings count as \
      one, as those of recorders that split a fleet.

      Examples:
        odograph simulate --vehicles 2000 --seed 7 --part 1/2 --seconds 900 --told one.jsonl
        odograph simulate --vehicles 2000 --seed 7 --part 2/2 --seconds 900 --told two.jsonl
        odograph verify one.jsonl two.jsonl --recording postgres://fleet@db.example/fleet
        odograph verify one.jsonl two.jsonl --recording a.sqlite --recording b.sqlite --json
        # odograph verify one.jsonl --lines heard.jsonl

      Exit codes: 0 each number is there once; 1 numbers are missing or doubled; 64 usage, or what is named cannot be \
      read; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: VerifyOptions

  func run() throws { try perform(VerifyCommand.run, options) }
}
