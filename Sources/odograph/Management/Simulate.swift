internal import ArgumentParser
internal import Fleet
internal import FleetCommand
internal import FleetManagement

/// The default settings.
private let usual = SimulatedFleet.Configuration(root: "")

struct Simulate: ParsableCommand, BrokerOptions {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Simulates vehicles and publishes their messages, to test a broker under load.",
    discussion: """
      The vehicles drive the same streets at different positions and times, and publish status, location and \
      events as odographd does. Positions that they could not send during an outage follow as a track. Reports are \
      spread evenly over time. If the broker is slower than the vehicles, messages are dropped and counted. A \
      connection's will is that of its first vehicle; with as many --connections as --vehicles each vehicle has \
      its own.

      Several processes can simulate parts of one fleet with --part, the same options and the same --seed. --told \
      writes which sequence numbers each vehicle has published and which the broker has not acknowledged; odograph \
      verify compares a recording with that file. At the end simulate waits up to 30 s for acknowledgements; a \
      second Ctrl-C or SIGTERM stops it.

      Examples:
        odograph simulate --vehicles 2000               # 2000 messages a second
        odograph simulate --vehicles 50 --live-rate 10 --seconds 60
        odograph simulate --vehicles 500 --connections 500    # one for each
        odograph simulate --vehicles 20 --outages 30 --outage-seconds 20
        odograph simulate --vehicles 100 --seconds 10 --clear --json
        odograph simulate --vehicles 2000 --seed 7 --part 1/4 --seconds 60 \\
          --told one.jsonl

      Exit codes: 0 done; 64 usage; 69 broker unavailable; 74 output not writable; 130 Ctrl-C; 143 SIGTERM.
      """)

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Number of vehicles.", valueName: "number"))
  var vehicles = usual.vehicles

  @Option(help: "Fleet of the simulated vehicles.")
  var fleet = usual.fleet

  @Option(help: "Prefix of the vehicles' names, before the number.")
  var prefix = usual.prefix

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The first vehicle's number.", valueName: "number"))
  var first = usual.first

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Number of connections that the vehicles share.", valueName: "number")
  )
  var connections = usual.connections

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Locations of each vehicle per second.", valueName: "hertz"))
  var rate = usual.rate

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Headings and attitudes of each vehicle per second.", valueName: "hertz"))
  var liveRate = usual.liveRate

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Speed factor relative to real time.", valueName: "factor"))
  var speed = usual.speed

  @Option(
    name: .customLong("events"), parsing: .unconditional,
    help: ArgumentHelp("Mean number of motion events of each vehicle per hour.", valueName: "number"))
  var eventsPerHour = usual.eventsPerHour

  @Option(
    name: .customLong("outages"), parsing: .unconditional,
    help: ArgumentHelp("Connection losses of each vehicle per hour.", valueName: "number"))
  var outagesPerHour = usual.outagesPerHour

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Duration of a connection loss.", valueName: "seconds"))
  var outageSeconds = usual.outageSeconds

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Quality of service of locations: 0 or 1.", valueName: "level"))
  var qos = usual.qos

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Seed of positions, noise, events and outages.", valueName: "number"))
  var seed = usual.seed

  @Option(
    help: ArgumentHelp(
      "Simulate only this part of the vehicles, for example 2/4; run other processes with the same options and --seed for the other parts.",
      valueName: "part"))
  var part: String?

  @Option(
    help: ArgumentHelp(
      "At the end, write the sequence numbers that each vehicle has published, for odograph verify.",
      valueName: "file"),
    completion: .file(extensions: ["jsonl"]))
  var told: String?

  @Flag(help: "Replace an existing file of --told.")
  var force = false

  @OptionGroup var time: TimeLimitArguments

  @Flag(name: .customLong("clear"), help: "At the end, delete the vehicles' retained messages.")
  var clears = false

  @Flag(help: "Print the summary as a JSON object.")
  var json = false

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  func run() throws { try perform(SimulateCommand.run, self) }

  /// Returns the settings of the fleet.
  ///
  /// - Throws: `FleetError` for an invalid part.
  func fleetConfiguration() throws(FleetError) -> SimulatedFleet.Configuration {
    var configuration = SimulatedFleet.Configuration(root: broker.topicRoot)
    (configuration.vehicles, configuration.first) = (vehicles, first)
    (configuration.fleet, configuration.prefix) = (fleet, prefix)
    configuration.connections = connections
    (configuration.rate, configuration.liveRate, configuration.speed) = (rate, liveRate, speed)
    configuration.eventsPerHour = eventsPerHour
    (configuration.outagesPerHour, configuration.outageSeconds) = (outagesPerHour, outageSeconds)
    (configuration.qos, configuration.seed) = (qos, seed)
    try configuration.checkNumbers()
    configuration.part = try SimulatedPart(parsing: part)
    return configuration
  }
}
