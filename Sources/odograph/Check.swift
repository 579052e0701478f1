internal import ArgumentParser
internal import FleetCore

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Tests a broker's set-up and access list as a consumer sees it.",
    discussion: """
      Tries name lookup, TCP, TLS and login; reads the broker's limits; subscribes to the fleet's topics; publishes \
      to the management topics of a vehicle that does not exist, without leaving anything; looks for kept states. \
      A line for each finding: ok, warning, failed, or unknown where the broker does not tell.

      Examples:
        odograph check --broker mqtts://ann@broker.example --fleet delivery
        odograph check --profile work --json | jq '.[] | select(.verdict != "ok")'

      Exit codes: 0 nothing failed; 64 usage; 69 something failed; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @Option(help: "The fleet whose topics to try (default: all); repeat for several.")
  var fleet: [String] = []

  @Flag(help: "Print a JSON array of the findings.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = CheckOptions()
      options.broker = try broker.options()
      options.root = broker.topicRoot
      options.fleets = broker.fleets(fleet)
      options.json = json
      options.usesColor = environment("NO_COLOR") == nil
      return try CheckCommand.run(options)
    }
  }
}
