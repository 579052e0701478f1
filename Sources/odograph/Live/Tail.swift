internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetTerminal

struct Tail: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "tail",
    abstract: "Prints messages as JSON lines.",
    discussion: """
      Each line is an object with topic, qos, retain and payload. A JSON payload is printed unchanged, other text as \
      a string, anything else as {"base64":"..."}. Control characters are escaped. retain is true for messages that \
      the broker had retained, which may be of any age. With --share, tail drains its session before it exits, so \
      that the group loses nothing; that may be more than --count messages.

      Examples:
        odograph tail --vehicle van-1 --kind location | jq .payload.speed
        odograph tail --kind status --retained --timeout 2      # who is there
        odograph tail --vehicle van-1 --no-retained --count 1 --timeout 60
        odograph tail --topic 'sensors/+/temperature' --qos 0
        odograph tail --share readers             # one of many, with its part

      Exit codes: 0 done: the count or, without --count, the time limit was reached, or the pipe was closed; 64 \
      usage; 69 broker unavailable or access refused; 74 output not writable; 75 timed out before the count was \
      reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var topics: TopicArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription. Retained messages are not delivered to shared subscribers.",
      valueName: "group"))
  var share: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Stop after this number of messages.", valueName: "messages"))
  var count: Int?

  @OptionGroup var time: TimeLimitArguments

  @Flag(
    inversion: .prefixedNo,
    help: "Print only, or no, retained messages (default: all messages).")
  var retained: Bool?

  @OptionGroup var quality: QualityArguments

  @Flag(help: "No effect; the lines are always JSON.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup(title: "Broker") var words: MessageProfileArguments

  func run() throws {
    try perform({ command throws(FleetError) in try command.request().run() }, self)
  }

  /// Returns the request.
  ///
  /// - Throws: `FleetError` for invalid options.
  func request() throws(FleetError) -> TailRequest {
    if let count, count < 1 {
      throw .usage("print", "\(count) messages", "--count must be 1 or more")
    }
    let filters = try topics.filters(broker, words)
    let (qos, timeout) = (try quality.level(), try time.limit())
    var request = TailRequest(broker: try broker.configuration(), filters: filters)
    (request.qos, request.timeout) = (qos, timeout)
    (request.share, request.count, request.retained) = (share, count, retained)
    return request
  }
}
