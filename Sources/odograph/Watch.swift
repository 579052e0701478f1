internal import ArgumentParser
internal import FleetCore

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the vehicles of a fleet as they move.",
    discussion: """
      On a terminal, a live table: q quits, the arrow and page keys scroll, s sorts by the next column and r \
      reverses, / filters while you type and Esc shows all again. A position with ~ is the last known one of a \
      vehicle that is not heard live. In a pipe, one line for each vehicle that changed within the interval. \
      NO_COLOR turns colours off.

      Examples:
        odograph watch --fleet demo
        odograph watch --broker mqtt://10.0.0.5 --vehicle van-1
        odograph watch --once | grep offline            the table, for a script
        odograph watch --interval 10 >> fleet.log       lines, every 10 s

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @Option(help: "Only this fleet; repeat for several.")
  var fleet: [String] = []

  @Option(help: "Only this vehicle; repeat for several.")
  var vehicle: [String] = []

  @Flag(help: "Print the table once, as soon as what the broker had kept is in, and end.")
  var once = false

  @Option(help: ArgumentHelp("End after so long.", valueName: "seconds"))
  var timeout: Double?

  @Option(
    help: ArgumentHelp(
      "Time between redraws at least (default: 0.1; in a pipe: 1).", valueName: "seconds"))
  var interval: Double?

  func run() throws {
    try perform { () throws(FleetError) in
      var options = WatchOptions()
      options.broker = try broker.options()
      options.selection = FleetSelection(root: broker.topicRoot, fleets: fleet, vehicles: vehicle)
      options.once = once
      options.timeout = timeout
      options.interval = interval
      options.usesColor = environment("NO_COLOR") == nil
      return try WatchCommand.run(options)
    }
  }
}
