package import ArgumentParser
internal import Fleet
package import FleetConsole

/// The options of `odograph record`.
package struct RecordOptions: ParsableArguments {
  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup package var words: MessageProfileArguments

  @Argument(
    help: ArgumentHelp("An SQLite file, or a postgres:// URL (ODOGRAPH_STORE).", valueName: "store"))
  package var givenStore: String?

  @OptionGroup package var topics: TopicArguments

  @Option(
    help: ArgumentHelp("Split the messages with the other members of this group.", valueName: "group"))
  package var share: String?

  @Option(
    help: ArgumentHelp(
      "The session's name at the broker (default: one for this machine, store and selection).",
      valueName: "name"))
  package var clientID: String?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "How long the broker keeps what comes while nobody records (default: a day; with --share 300).",
      valueName: "seconds"))
  package var sessionExpiry: UInt32?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Messages after which a commit does not wait for more.", valueName: "messages"))
  package var commitCount = 2000

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How long a commit waits for more.", valueName: "seconds"))
  package var commitInterval = 0.05

  @Option(
    name: .customLong("buffer"), parsing: .unconditional,
    help: ArgumentHelp("Messages kept in memory at most while the database is away.", valueName: "messages"))
  package var bufferedMessages = 10_000

  @OptionGroup package var quality: QualityArguments

  @Option(
    parsing: .unconditional, help: ArgumentHelp("End after so many messages.", valueName: "messages"))
  package var count: Int?

  @OptionGroup package var time: TimeLimitArguments

  @Flag(name: .customLong("json"), help: "Print progress and result as JSON lines.")
  package var isJSON = false

  @Flag(name: [.customShort("q"), .customLong("quiet")], help: "No progress, no closing line.")
  package var isQuiet = false

  package init() {}

  /// A `postgres://` URL or the path of an SQLite file.
  var store: String { givenStore ?? environment("ODOGRAPH_STORE") ?? "odograph.sqlite" }

  /// - Throws: `FleetError` for options that make no sense.
  func check() throws(FleetError) {
    func demand(_ holds: Bool, _ option: String, _ cause: String) throws(FleetError) {
      if !holds { throw FleetError(operation: "use", object: option, cause: cause, exit: .usage) }
    }
    try demand(!store.isEmpty, "the store", "name a file or a postgres:// URL")
    try demand((1...100_000).contains(commitCount), "--commit-count \(commitCount)", "it is 1 to 100000")
    try demand(
      (0...60).contains(commitInterval), "--commit-interval \(commitInterval)", "it is 0 to 60 seconds")
    try demand(
      (1...10_000_000).contains(bufferedMessages), "--buffer \(bufferedMessages)", "it is 1 to 10000000")
    try demand(count ?? 1 >= 1, "--count \(count ?? 0)", "it is 1 or more")
    try demand((clientID?.utf8.count ?? 1) > 0, "--client-id", "it is empty")
  }
}
