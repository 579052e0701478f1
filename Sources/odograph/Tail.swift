internal import ArgumentParser
internal import FleetCore

struct Tail: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints messages as JSON lines.",
    discussion: """
      Each line is an object of topic, qos, retain and payload. A payload that is JSON stands there as it came, \
      other text as a string, and anything else as {"base64":"..."}; characters that a terminal acts upon are escaped. retain is true for what the broker had kept \
      from before, which may be of any age. With --share it takes all that the broker has for it before it leaves, so \
      that nothing is lost to the group; that may be more than --count.

      Examples:
        odograph tail --vehicle van-1 --kind location | jq .payload.speed
        odograph tail --kind status --retained --timeout 2      # who is there
        odograph tail --vehicle van-1 --no-retained --count 1 --timeout 60
        odograph tail --topic 'sensors/+/temperature' --qos 0
        odograph tail --share readers             # one of many, with its part

      Exit codes: 0 done: the count was reached, the time was over where no count was asked for, or the reader \
      left; 64 usage; 69 broker unavailable, or refuses; 74 the output cannot be written; 75 the time was over \
      before the count was reached; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup var words: MessageProfileArguments

  @OptionGroup var topics: TopicArguments

  @Option(
    help: ArgumentHelp(
      "Split the messages with the other members of this group; what the broker has kept comes to none of them.",
      valueName: "group"))
  var share: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("End after so many messages.", valueName: "messages"))
  var count: Int?

  @OptionGroup var time: TimeLimitArguments

  @Flag(
    inversion: .prefixedNo,
    help: "Only, or none of, the messages that the broker had kept from before (default: all).")
  var retained: Bool?

  @OptionGroup var quality: QualityArguments

  @Flag(help: "Changes nothing, for the lines are JSON anyway.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = TailOptions(filters: try topics.filters(broker, words))
      options.broker = try broker.options()
      options.qos = try quality.level()
      options.share = share
      options.count = count
      options.timeout = try time.limit()
      options.retained = retained.map { $0 ? .only : .excluded } ?? .included
      return try TailCommand.run(options)
    }
  }
}
