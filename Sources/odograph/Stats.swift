internal import ArgumentParser
internal import FleetConsole

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

  @OptionGroup var options: StatsOptions

  func run() throws { try perform(StatsCommand.run, options) }
}
