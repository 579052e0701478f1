internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetStore

struct Record: ParsableCommand, BrokerOptions {
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
        odograph record postgres://fleet@db.example/fleet --share recorders \\
          --client-id odograph-recorder-1
        odograph record postgres://fleet@db.example/fleet \\
          --from amqps://broker.example --queue odograph-record --ca ca.crt \\
          --cert dashboard.crt --key dashboard.key
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

  @Argument(
    help: ArgumentHelp("An SQLite file, or a postgres:// URL (ODOGRAPH_STORE).", valueName: "store"),
    completion: .file())
  var givenStore: String?

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
      "Expiry of the session at the broker (default: \(RecordEntry.usualSessionExpiry), a day); not with MQTT 3.1.1.",
      valueName: "seconds"))
  var sessionExpiry: UInt32?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Maximum number of messages per commit.", valueName: "messages"))
  var commitCount = RecordPlan.usualCommitCount

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Maximum time before a commit.", valueName: "seconds"))
  var commitInterval = RecordPlan.usualCommitInterval

  @Option(
    name: .customLong("buffer"), parsing: .unconditional,
    help: ArgumentHelp(
      "Maximum messages in memory while the database fails.", valueName: "messages"))
  var bufferedMessages = RecordPlan.usualBufferedMessages

  @Option(
    help: ArgumentHelp(
      "Delete messages older than this, for example 90d, at the start and every hour (default: never).",
      valueName: "days"))
  var keep: String?

  @Flag(
    name: .customLong("prepare"),
    help:
      "Only create or migrate the tables, and apply --keep."
  )
  var prepares = false

  @Flag(
    name: .customLong("forget"),
    help:
      "Delete this command's session and queued messages. A recorder that runs with the same --client-id on another machine loses its session, too."
  )
  var forgets = false

  @OptionGroup var queues: QueueArguments

  @OptionGroup var quality: QualityArguments

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Stop after this number of messages.", valueName: "messages"))
  var count: Int?

  @OptionGroup var time: TimeLimitArguments

  @Flag(name: .customLong("json"), help: "Print progress and result as JSON lines.")
  var isJSON = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "Print no progress and no summary.")
  var isQuiet = false

  @Option(
    help: ArgumentHelp(
      "Write counters for the textfile collector of Prometheus' node exporter into this file, every 5 s.",
      valueName: "file"), completion: .file(extensions: ["prom"]))
  var metrics: String?

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup(title: "Broker") var words: MessageProfileArguments

  func run() throws { try perform(RecordCommand.run, self) }

  /// A `postgres://` URL or the path of an SQLite file.
  var store: String { givenStore ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }

  /// Returns the number of days of `--keep`; nil without the option, which retains all days.
  /// - Throws: `FleetError` for an invalid number of days.
  func keptDays() throws(FleetError) -> Int? {
    try keep.map { text throws(FleetError) in try RecordPlan.days(text) }
  }

  /// Returns the plan.
  ///
  /// - Throws: `FleetError` for invalid options.
  func plan() throws(FleetError) -> RecordPlan {
    var plan = RecordPlan(
      store: store, filters: try topics.filters(broker, words), root: try words.root(broker),
      profile: try words.profile(broker))
    (plan.share, plan.clientID, plan.sessionExpiry) = (share, clientID, sessionExpiry)
    (plan.commitCount, plan.commitInterval) = (commitCount, commitInterval)
    (plan.bufferedMessages, plan.count) = (bufferedMessages, count)
    plan.keptDays = try keptDays()
    return plan
  }

  /// Checks the options.
  ///
  /// - Throws: `FleetError` for invalid options.
  func check() throws(FleetError) {
    _ = try keptDays()
    func demand(_ holds: Bool, _ option: String, _ cause: String) throws(FleetError) {
      if !holds { throw .usage("use", option, cause) }
    }
    try RecordPlan.check(store: store)
    try demand((1...100_000).contains(commitCount), "--commit-count \(commitCount)", "must be 1 to 100000")
    try demand(
      (0...60).contains(commitInterval), "--commit-interval \(commitInterval)", "must be 0 to 60 seconds")
    try demand(
      (1...10_000_000).contains(bufferedMessages), "--buffer \(bufferedMessages)", "must be 1 to 10000000")
    try demand(count ?? 1 >= 1, "--count \(count ?? 0)", "must be 1 or more")
    try demand((clientID?.utf8.count ?? 1) > 0, "--client-id", "it is empty")
  }
}
