internal import ArgumentParser
internal import FleetCore

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

  @OptionGroup(title: "Broker") var broker: BrokerArguments

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How many vehicles.", valueName: "number"))
  var vehicles = 10

  @Option(help: "The fleet that they are in.")
  var fleet = "simulation"

  @Option(help: "What they are called, before their number.")
  var prefix = "sim-"

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The first vehicle's number.", valueName: "number"))
  var first = 1

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How many connections they share.", valueName: "number"))
  var connections = 1

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Locations of each vehicle in a second.", valueName: "hertz"))
  var rate = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Headings and attitudes of each vehicle in a second.", valueName: "hertz"))
  var liveRate = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How much faster than life they drive.", valueName: "factor"))
  var speed = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Motion events of each vehicle in an hour, on average.", valueName: "number"))
  var events = 6.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Lost links of each vehicle in an hour, on average.", valueName: "number"))
  var outages = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How long a lost link stays lost.", valueName: "seconds"))
  var outageSeconds = 60.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The quality of service of locations: 0 or 1.", valueName: "level"))
  var qos: UInt8 = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("What places, noise, events and outages are drawn from.", valueName: "number"))
  var seed: UInt64 = 1

  @OptionGroup var time: TimeLimitArguments

  @Flag(help: "At the end, take back what the broker keeps of the vehicles.")
  var clear = false

  @Flag(help: "Print the summary as a JSON object.")
  var json = false

  func run() throws {
    try perform { () throws(FleetError) in
      var options = SimulateOptions()
      options.broker = try broker.options()
      options.root = broker.topicRoot
      options.fleet = fleet
      options.vehicles = vehicles
      options.prefix = prefix
      options.first = first
      options.connections = connections
      options.rate = rate
      options.liveRate = liveRate
      options.speed = speed
      options.eventsPerHour = events
      options.outagesPerHour = outages
      options.outageSeconds = outageSeconds
      options.qos = qos
      options.seed = seed
      options.seconds = try time.limit()
      options.clears = clear
      options.json = json
      return try SimulateCommand.run(options)
    }
  }
}
