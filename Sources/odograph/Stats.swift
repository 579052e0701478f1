internal import ArgumentParser
internal import FleetCore

struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts what a fleet says: rates, delays, what is missing, bytes.",
    discussion: """
      On a terminal, a live table: q quits, s sorts by the next column, r reverses, the arrow and page keys \
      scroll. In a pipe, with --once or --json, the counts are printed at the end. Rates are averages since the \
      start. MISSING are numbers of the vehicle's sequence that have not come, LATE those that came after later \
      ones, TWICE repetitions. A vehicle that was away leaves out positions that newer ones replaced, so a missing \
      number need not be a loss. DELAY is the mean from the vehicle's clock to this one. What the broker had kept \
      from before is counted apart, but for UNREADABLE: payloads that are no JSON, or whose time is none.

      Examples:
        odograph stats --fleet delivery
        odograph stats --once --seconds 60
        odograph stats --count 100000 --seconds 600
        odograph stats --json --seconds 10 | jq '.vehicles[] | .missing'

      Exit codes: 0 done; 64 usage; 69 broker unavailable, or refuses; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup var words: MessageProfileArguments

  @OptionGroup var vehicles: VehicleArguments

  @Flag(help: "Count for a while (10 s unless --seconds or --count says so), print the table and end.")
  var once = false

  @OptionGroup var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("End after so many messages, and print the table.", valueName: "n"))
  var count: Int?

  @OptionGroup var quality: QualityArguments

  @Option(
    help: ArgumentHelp(
      "Split the messages with the other members of this group, as one of many consumers sees them.",
      valueName: "group"))
  var share: String?

  @Flag(help: "Print the counts as a JSON object.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      let selection = try vehicles.selection(broker, words)
      var options = StatsOptions(filters: try selection.filters())
      options.broker = try broker.options()
      options.root = selection.root
      options.profile = selection.profile
      options.qos = try quality.level()
      options.share = share
      options.seconds = try time.limit()
      options.count = count
      options.once = once
      options.json = json
      options.usesColor = environment("NO_COLOR") == nil
      return try StatsCommand.run(options)
    }
  }
}
