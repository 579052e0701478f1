internal import ArgumentParser
internal import FleetStore

struct Record: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Records what a fleet says into a database.",
    discussion: """
      Into an SQLite file, or into PostgreSQL with a postgres:// URL; tables are made when they are not there. \
      A message is acknowledged to the broker when it is committed, and one that comes again changes nothing, so each \
      is there once, whatever was killed in between. While nobody records, the broker keeps what comes for \
      --session-expiry; the same command takes it up again. What says neither number nor time, as of other devices, is \
      stored as often as it comes. When the database goes away, nothing is acknowledged \
      until it is back.

      With --share, as many processes as you like split the messages of a large fleet. One that ends with Ctrl-C or \
      SIGTERM first takes what the broker has for it; what one that was killed had is taken by the next to start.

      Tables: messages (each as it came, with columns for what is asked for most), fixes (tracks, taken apart); view: \
      positions. In PostgreSQL in the schema odograph, partitioned by day.

      Examples:
        odograph record                                  # into odograph.sqlite
        odograph record fleet.sqlite --fleet demo
        odograph record postgres://fleet@db.example/fleet --share recorders
        odograph record --message-profile owntracks phones.sqlite
        odograph record --topic 'sensors/#' other.sqlite
        # sqlite3 odograph.sqlite 'select time, vehicle from positions'

      Passwords of PostgreSQL belong into ~/.pgpass or PGPASSWORD.

      Exit codes: 0 done: the count was reached, or the time was over where no count was asked for; 64 usage; 69 broker \
      unavailable, or refuses; 74 the database cannot be opened; 75 the time was over before the count was reached; \
      130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: RecordOptions

  func run() throws { try perform(RecordCommand.run, options) }
}
