internal import ArgumentParser
internal import FleetControl

struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Asks vehicles for something and waits for their answers.",
    discussion: """
        locate         a new position
        status         a status message now
        reload         read the configuration file again
        track          the positions of a time, from the vehicle's own history (--from, --to)
        reset-regions  forget which regions it is in, and find out anew

      Without --vehicle, every vehicle of the fleet is asked of which the broker keeps a status; all fleets are asked \
      only with --every-vehicle. A vehicle that is asleep or offline answers when it is back, or not: the request \
      expires after --timeout under MQTT 5.

      Examples:
        odograph command locate --fleet delivery --vehicle van-1
        odograph command status --fleet delivery --json | jq .state
        odograph command reload --fleet delivery
        odograph command track --fleet delivery --from 2026-11-21T08:00:00Z

      Exit codes: 0 all have done it; 64 usage; 69 broker unavailable, or one of them refused or failed; 74 output \
      gone; 75 one did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup var options: CommandOptions

  func run() throws { try perform(CommandCommand.run, options) }
}
