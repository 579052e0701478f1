package import ArgumentParser
internal import Fleet
package import FleetConsole

/// The options of `odograph simulate`.
package struct SimulateOptions: ParsableArguments {
  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How many vehicles.", valueName: "number"))
  package var vehicles = 10

  @Option(help: "The fleet that they are in.")
  package var fleet = "simulation"

  @Option(help: "What they are called, before their number.")
  package var prefix = "sim-"

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The first vehicle's number.", valueName: "number"))
  package var first = 1

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How many connections they share.", valueName: "number"))
  package var connections = 1

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Locations of each vehicle in a second.", valueName: "hertz"))
  package var rate = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Headings and attitudes of each vehicle in a second.", valueName: "hertz"))
  package var liveRate = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How much faster than life they drive.", valueName: "factor"))
  package var speed = 1.0

  @Option(
    name: .customLong("events"), parsing: .unconditional,
    help: ArgumentHelp("Motion events of each vehicle in an hour, on average.", valueName: "number"))
  package var eventsPerHour = 6.0

  @Option(
    name: .customLong("outages"), parsing: .unconditional,
    help: ArgumentHelp("Lost links of each vehicle in an hour, on average.", valueName: "number"))
  package var outagesPerHour = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("How long a lost link stays lost.", valueName: "seconds"))
  package var outageSeconds = 60.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("The quality of service of locations: 0 or 1.", valueName: "level"))
  package var qos: UInt8 = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("What places, noise, events and outages are drawn from.", valueName: "number"))
  package var seed: UInt64 = 1

  @OptionGroup package var time: TimeLimitArguments

  @Flag(name: .customLong("clear"), help: "At the end, take back what the broker keeps of the vehicles.")
  package var clears = false

  @Flag(help: "Print the summary as a JSON object.")
  package var json = false

  package init() {}

  /// - Throws: `FleetError` for a setting outside of its bounds, naming its option.
  func check() throws(FleetError) {
    try Self.check(vehicles, in: 1...1_000_000, "--vehicles")
    try Self.check(first, in: 0...1_000_000_000, "--first")
    try Self.check(connections, in: 1...min(4096, vehicles), "--connections")
    try Self.check(rate, in: 0.001...100, "--rate")
    try Self.check(liveRate, in: 0...100, "--live-rate")
    try Self.check(speed, in: 0.1...100, "--speed")
    try Self.check(eventsPerHour, in: 0...36_000, "--events")
    try Self.check(outagesPerHour, in: 0...3600, "--outages")
    try Self.check(outageSeconds, in: 1...86_400, "--outage-seconds")
    try Self.check(qos, in: 0...1, "--qos")
    if let seconds = try time.limit() { try Self.check(seconds, in: 0.1...1e8, "--seconds") }
  }

  private static func check<Value: Comparable>(
    _ value: Value, in range: ClosedRange<Value>, _ option: String
  ) throws(FleetError) {
    guard range.contains(value) else {
      throw FleetError(
        operation: "use", object: "\(option) \(value)",
        cause: "it is \(range.lowerBound) to \(range.upperBound)", exit: .usage)
    }
  }
}
