internal import ArgumentParser
internal import FleetCore

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

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup var words: MessageProfileArguments

  @Argument(
    help: ArgumentHelp("An SQLite file, or a postgres:// URL (ODOGRAPH_STORE).", valueName: "store"))
  var store: String?

  @OptionGroup var topics: TopicArguments

  @Option(
    help: ArgumentHelp("Split the messages with the other members of this group.", valueName: "group"))
  var share: String?

  @Option(
    help: ArgumentHelp(
      "The session's name at the broker (default: one for this machine, store and selection).",
      valueName: "name"))
  var clientID: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How long the broker keeps what comes while nobody records (default: a day; with --share 300).",
      valueName: "seconds"))
  var sessionExpiry: UInt32?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Messages after which a commit does not wait for more.", valueName: "messages"))
  var commitCount = 2000

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How long a commit waits for more.", valueName: "seconds"))
  var commitInterval = 0.05

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Messages kept in memory at most while the database is away.", valueName: "messages"))
  var buffer = 10_000

  @OptionGroup var quality: QualityArguments

  @Option(
    parsing: .unconditional, help: ArgumentHelp("End after so many messages.", valueName: "messages"))
  var count: Int?

  @OptionGroup var time: TimeLimitArguments

  @Flag(help: "Print progress and result as JSON lines.")
  var json = false

  @Flag(name: .shortAndLong, help: "No progress, no closing line.")
  var quiet = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = RecordOptions(
        filters: try topics.filters(broker, words),
        store: store ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite")
      options.broker = try broker.options()
      options.root = try words.root(broker)
      options.profile = try words.profile(broker)
      options.qos = try quality.level()
      options.share = share
      options.clientID = clientID
      options.sessionExpiry = sessionExpiry
      options.commitCount = commitCount
      options.commitInterval = commitInterval
      options.bufferedMessages = buffer
      options.count = count
      options.timeout = try time.limit()
      options.isJSON = json
      options.isQuiet = quiet
      return try RecordCommand.run(options)
    }
  }
}
