internal import ArgumentParser
internal import Fleet
internal import FleetCommand

struct Check: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Tests a broker's configuration and access list as a consumer.",
    discussion: """
      Tests name lookup, TCP, TLS and login; reads the broker's limits; subscribes to the fleet's topics; \
      publishes to the management topics of a vehicle that does not exist, without leaving retained messages; \
      looks for retained states. Prints one line for each finding: ok, warning, failed, or unknown if the broker \
      does not report it.

      Examples:
        odograph check --broker mqtts://ann@broker.example --fleet delivery
        odograph check --profile work --json | jq '.[] | select(.verdict != "ok")'

      Exit codes: 0 nothing failed; 64 usage; 69 something failed; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @Option(help: "Fleet whose topics to test (default: all); repeat for several.")
  var fleet: [String] = []

  @Flag(help: "Print a JSON array of the findings.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(CheckCommand.run, self) }
}
