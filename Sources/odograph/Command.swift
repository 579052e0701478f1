internal import ArgumentParser
internal import FleetCore

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
        odograph command track --vehicle van-1 --from 2026-11-21T08:00:00Z

      Exit codes: 0 all have done it; 64 usage; 69 broker unavailable, or one of them refused or failed; 74 output \
      gone; 75 one did not answer in time; 130 Ctrl-C; 143 SIGTERM.
      """)

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @Argument(help: ArgumentHelp("\(CommandOptions.names.joined(separator: ", ")).", valueName: "command"))
  var name: String

  @OptionGroup(title: "Vehicles") var targets: ChangedVehicleArguments

  @Option(help: ArgumentHelp("Of track: from when on, RFC 3339.", valueName: "time"))
  var from: String?

  @Option(help: ArgumentHelp("Of track: until when, RFC 3339 (default: now).", valueName: "time"))
  var to: String?

  @Option(help: ArgumentHelp("How long they have to answer.", valueName: "seconds"))
  var timeout = 30.0

  @Flag(help: "Print a JSON line for each vehicle.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = CommandOptions(name: name, targets: try targets.targets(broker))
      options.broker = try broker.options()
      options.from = from
      options.to = to
      options.timeout = timeout
      options.json = json
      options.usesColor = environment("NO_COLOR") == nil
      return try CommandCommand.run(options)
    }
  }
}
