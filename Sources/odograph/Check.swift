internal import ArgumentParser
internal import FleetControl

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

  @OptionGroup var options: CheckOptions

  func run() throws { try perform(CheckCommand.run, options) }
}
