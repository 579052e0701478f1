internal import ArgumentParser
internal import FleetCore

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the vehicles of a fleet as they move.",
    discussion: """
      On a terminal, a live table: q quits, the arrow keys choose a vehicle, the page keys scroll, Enter shows \
      its details and m a map of all, or around the chosen one (+ and - zoom, 0 shows all); on a small terminal they \
      take the table's place. s sorts by the next column, 1 to 9 by the one that stands there, r reverses; / filters \
      while you type; Esc goes one step back; ? shows all keys. A position with ~ is the last known \
      one of a vehicle that is not heard live; one that is reported with a bound is predicted. In a pipe, one \
      line for each vehicle that changed within the interval. Messages that cannot be read are counted at the foot \
      (unreadable), in a vehicle's details and in --json. NO_COLOR turns colours off.

      Examples:
        odograph watch --fleet demo
        odograph watch --broker mqtt://10.0.0.5 --vehicle van-1
        odograph watch --once | grep offline           # the table, for a script
        odograph watch --once --json | jq '.[].speed'
        odograph watch --filter offline --sort age
        odograph watch --message-profile owntracks     # phones, OwnTracks
        odograph watch --interval 10 >> fleet.log      # lines, every 10 s

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @OptionGroup var words: MessageProfileArguments

  @OptionGroup var vehicles: VehicleArguments

  @Option(
    help: ArgumentHelp(
      "Split the messages with the other members of this group; each sees a part, and nothing that the broker had kept.",
      valueName: "group"))
  var share: String?

  @Flag(help: "Print the table once, as soon as what the broker had kept is in, and end.")
  var once = false

  @OptionGroup var time: TimeLimitArguments

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Time between redraws at least (default: 0.08; in a pipe: 1).", valueName: "seconds"))
  var interval: Double?

  @Option(
    help: ArgumentHelp(
      "Sort by \(WatchOptions.sortKeys.joined(separator: ", ")); -key is the other way round.",
      valueName: "key"))
  var sort: String?

  @Option(help: ArgumentHelp("Show only vehicles with these words in name or state.", valueName: "words"))
  var filter: String?

  @Flag(help: "Begin with the details of a vehicle shown.")
  var details = false

  @Flag(help: "Begin with the map shown.")
  var map = false

  @Flag(help: "With --once: print a JSON array. In a pipe: a JSON line for each vehicle that changed.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = WatchOptions()
      options.broker = try broker.options()
      options.selection = try vehicles.selection(broker, words)
      options.share = share
      options.once = once
      options.timeout = try time.limit()
      options.interval = interval
      if let sort { try options.sort(by: sort) }
      options.filter = filter ?? ""
      options.showsDetail = details
      options.showsMap = map
      options.json = json
      options.usesColor = environment("NO_COLOR") == nil
      return try WatchCommand.run(options)
    }
  }
}
