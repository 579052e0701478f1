internal import ArgumentParser
internal import FleetStore

struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Records a fleet's messages into a database.",
    discussion: """
      The database is an SQLite file, or PostgreSQL with a postgres:// URL. Missing tables are created. A message \
      is acknowledged to the broker after its commit, and duplicates are ignored, so each message is stored \
      exactly once, whichever process is killed. While no recorder runs, the broker queues messages for \
      --session-expiry, within its limits (mosquitto: max_queued_bytes, max_queued_messages); the same command \
      resumes the session. Messages without sequence number and time, such as those of other devices, are stored \
      once for each delivery. While the database is unavailable, nothing is acknowledged. --forget deletes the \
      session.

      With --share, several processes split the messages of a large fleet. A process that is stopped with Ctrl-C \
      or SIGTERM first drains its session. The messages of a killed process wait in its session; mosquitto does \
      not pass them to other members and drops them when the session expires. Start the same command again, or the \
      same --client-id on another machine.

      --from consumes a quorum queue of RabbitMQ instead of subscribing by MQTT, for a cluster whose vehicles use \
      RabbitMQ's MQTT plugin, which has no shared subscriptions in MQTT 3.1.1. A missing queue is created and \
      bound to the selection. Recorders with the same queue split its messages; if a recorder exits, its \
      unacknowledged messages go to another one. A queue remains, with its bindings and messages, until --forget \
      deletes it. Names of fleets and vehicles must not contain dots.

      Tables: messages (unchanged payloads, with columns for frequent queries), fixes (the positions of tracks), \
      latest (the newest position of each vehicle), trips and driving_events (the last report of each trip or \
      event); view: positions. In PostgreSQL they are in the schema odograph with a partition for each day, and \
      with PostGIS a spatial index. Config/database/README.md has example queries.

      --keep 90d deletes older messages at the start and every hour. Recordings of an older version are migrated \
      when they are opened; --prepare only migrates and deletes, and needs no broker.

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

      Passwords of PostgreSQL belong in ~/.pgpass or PGPASSWORD.

      Exit codes: 0 done: the count was reached, or the time limit without --count; 64 usage; 69 broker \
      unavailable or access refused; 74 the database cannot be opened, or failed before all messages were stored; \
      75 timed out before the count was reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: RecordOptions

  func run() throws { try perform(RecordCommand.run, options) }
}

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Writes a recording as GPX, GeoJSON, KML, CSV, JSON lines or Parquet.",
    discussion: """
      Reads what odograph record has written to a file or a postgres:// URL, also while it is writing. Writes the \
      positions of live messages and tracks by vehicle and time, at most one for each time of a vehicle. The \
      format follows from the file's name, or --format. The output file appears only when it is complete. An \
      existing file is replaced only with --force, and keeps its mode. Pipes and devices are written directly. \
      Memory use is constant.

        gpx      a track for each vehicle; speed and course as Garmin's TrackPointExtension
        geojson  a FeatureCollection of points
        kml      a gx:Track for each vehicle, which a map can play over time
        csv      with a header; a name that a spreadsheet would evaluate, such as =1+1, gets an apostrophe in front
        jsonl    an object in each line; with --messages all messages unchanged
        parquet  a folder for each day and fleet, date=2026-11-22/fleet-demo/positions.parquet, for DuckDB, pandas, \
      pyarrow and Spark

      A Parquet folder, too, appears only when it is complete. --force replaces a folder only if it contains \
      nothing but exported days. --update replaces single days in an existing folder: each exported day of a fleet \
      replaces the same day atomically; all others are unchanged. For this, the database sorts the positions by \
      day, with a temporary file as large as the export.

      Examples:
        odograph export fleet.sqlite -o today.gpx --from 2026-11-21
        odograph export fleet.sqlite --vehicle van-1 --format csv | grep van-1
        odograph export fleet.sqlite --region depots.geojson -o there.kml
        odograph export fleet.sqlite --format parquet -o positions
        odograph export fleet.sqlite --format parquet -o positions --update --from 2026-11-21 --to 2026-11-22
        odograph export --messages --from 2026-11-21 --to 2026-11-22 > day.jsonl

      Exit codes: 0 done, also if the pipe is closed; 64 usage, or the recording cannot be read; 74 the output \
      cannot be written; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ExportOptions

  func run() throws { try perform(ExportCommand.run, options) }
}

struct Replay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Republishes a recording to a broker.",
    discussion: """
      Reads what odograph record has written to a file or a postgres:// URL, and publishes it in the recorded order \
      and pace, or faster, for example to test a backend with yesterday's messages. Topics, quality of service and \
      retain flags are the recorded ones (retain is set for messages that were retained when they were recorded).

      --times shift (the default) moves the times in messages, also those of tracks, to now, and replaces the epochs \
      of the vehicles' sequences, so that consumers do not discard the messages as duplicates. With --speed max the \
      recording ends now. --times keep publishes every payload unchanged; recording it again gives the same rows.

      The target must be named: --to-fleet publishes to another fleet, which real consumers do not receive; \
      --as-live publishes to the recorded topics as the vehicles would. Messages to vehicles (commands, desired \
      settings and regions) are skipped and counted, because live vehicles would obey them. --orders publishes them, \
      too.

      Examples:
        odograph replay fleet.sqlite --to-fleet rehearsal --speed 10
        odograph replay fleet.sqlite --to-fleet rehearsal --from 2026-11-21
        odograph replay fleet.sqlite --to-fleet test --speed max --times keep
        odograph replay fleet.sqlite --as-live --longest-pause 5

      Exit codes: 0 all messages were acknowledged; 64 usage, or the recording cannot be read; 69 broker \
      unavailable, or it refused messages; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: ReplayOptions

  func run() throws { try perform(ReplayCommand.run, options) }
}

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares a recording with what simulated vehicles have sent.",
    discussion: """
      Compares the files of odograph simulate --told, one for each process, with a recording or with lines of \
      odograph tail, and reports missing and duplicated sequence numbers of each vehicle. Messages that the broker \
      has acknowledged must be recorded; other messages may be recorded, and are counted separately. Several \
      recordings, such as those of recorders that split a fleet, count as one.

      Examples:
        odograph simulate --vehicles 2000 --seed 7 --part 1/2 --seconds 900 --told one.jsonl
        odograph simulate --vehicles 2000 --seed 7 --part 2/2 --seconds 900 --told two.jsonl
        odograph verify one.jsonl two.jsonl --recording postgres://fleet@db.example/fleet
        odograph verify one.jsonl two.jsonl --recording a.sqlite --recording b.sqlite --json
        # odograph verify one.jsonl --lines heard.jsonl

      Exit codes: 0 each number is recorded once; 1 numbers are missing or duplicated; 64 usage, or a file or \
      recording cannot be read; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: VerifyOptions

  func run() throws { try perform(VerifyCommand.run, options) }
}
