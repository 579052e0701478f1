internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetTerminal

struct Stats: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "stats",
    abstract: "Counts messages, delays, gaps and bytes by vehicle.",
    discussion: """
      On a terminal, a live table: q quits, s sorts by the next column, r reverses, the arrow and page keys scroll. \
      In a pipe, with --once or --json, the counts are printed at the end. Rates are averages since the start.

      MISSING counts sequence numbers that did not arrive, LATE those that arrived out of order, TWICE duplicates. \
      A missing number does not prove a loss: after an outage a vehicle skips states that newer ones replaced, and \
      messages in other formats (OwnTracks, Home Assistant) have no sequence numbers. DELAY is the mean time \
      between a message's time by the vehicle's clock and its reception by this machine's clock. Retained messages \
      are counted separately, except in UNREADABLE: payloads that are not JSON or have an invalid time.

      Examples:
        odograph stats --fleet delivery
        odograph stats --once --seconds 60
        odograph stats --count 100000 --seconds 600
        odograph stats --json --seconds 10 | jq '.vehicles[] | .missing'

      Exit codes: 0 done: the count was reached, or the time limit without --count; 64 usage; 69 broker \
      unavailable or access refused; 74 output not writable; 75 timed out before the count was reached; 130 \
      Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var vehicles: VehicleArguments

  @Flag(help: "Count for 10 s (or --seconds, --count), print the table and exit.")
  var once = false

  @OptionGroup var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Stop after this number of messages, and print the table.", valueName: "n"))
  var count: Int?

  @OptionGroup var quality: QualityArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription, to count the messages of one of several consumers.",
      valueName: "group"))
  var share: String?

  @Flag(help: "Print the counts as a JSON object.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup(title: "Broker") var words: MessageProfileArguments

  func run() throws {
    try perform({ command throws(FleetError) in try command.request().run() }, self)
  }

  /// Returns the request.
  ///
  /// - Throws: `FleetError` for invalid options.
  func request() throws(FleetError) -> StatsRequest {
    let timeout = try time.limit()
    if let timeout, !(0.1...1e8).contains(timeout) {
      throw .usage("count", "for \(timeout) s", "--seconds must be 0.1 or more")
    }
    if let count, count < 1 {
      throw .usage("count", "\(count) messages", "--count must be 1 or more")
    }
    var request = StatsRequest(
      broker: try broker.configuration(), selection: try vehicles.selection(broker, words))
    (request.qos, request.timeout, request.share) = (try quality.level(), timeout, share)
    (request.count, request.isOnce, request.isJSON) = (count, once, json)
    return request
  }
}
