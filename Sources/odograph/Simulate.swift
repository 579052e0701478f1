internal import ArgumentParser
internal import FleetControl

struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drives many virtual vehicles at once.",
    discussion: """
      Each vehicle drives the same streets at its own place and time, and sends status, location and events as \
      odographd does; what it could not send during an outage comes afterwards, as a track. Reports are spread \
      evenly over time. A broker that is slower than the vehicles costs messages, and their number is said. \
      The broker's will for a connection is that of its first vehicle: --connections as many as --vehicles \
      gives each vehicle its own. At the end it waits up to 30 s for what the broker has not acknowledged; a second \
      Ctrl-C or SIGTERM ends that.

      Examples:
        odograph simulate --vehicles 2000               # 2000 messages a second
        odograph simulate --vehicles 50 --live-rate 10 --seconds 60
        odograph simulate --vehicles 500 --connections 500    # one for each
        odograph simulate --vehicles 20 --outages 30 --outage-seconds 20
        odograph simulate --vehicles 100 --seconds 10 --clear --json

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output gone; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: SimulateOptions

  func run() throws { try perform(SimulateCommand.run, options) }
}
