package import ArgumentParser
package import Fleet
package import FleetCommand
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The options of `odograph simulate`.
package struct SimulateOptions: BrokerOptions {
  @Option(
    parsing: .unconditional, help: ArgumentHelp("Number of vehicles.", valueName: "number"))
  package var vehicles = 10

  @Option(help: "Fleet of the simulated vehicles.")
  package var fleet = "simulation"

  @Option(help: "Prefix of the vehicles' names, before the number.")
  package var prefix = "sim-"

  @Option(
    parsing: .unconditional, help: ArgumentHelp("The first vehicle's number.", valueName: "number"))
  package var first = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Number of connections that the vehicles share.", valueName: "number")
  )
  package var connections = 1

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Locations of each vehicle per second.", valueName: "hertz"))
  package var rate = 1.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Headings and attitudes of each vehicle per second.", valueName: "hertz"))
  var liveRate = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Speed factor relative to real time.", valueName: "factor"))
  package var speed = 1.0

  @Option(
    name: .customLong("events"), parsing: .unconditional,
    help: ArgumentHelp("Mean number of motion events of each vehicle per hour.", valueName: "number"))
  var eventsPerHour = 6.0

  @Option(
    name: .customLong("outages"), parsing: .unconditional,
    help: ArgumentHelp("Connection losses of each vehicle per hour.", valueName: "number"))
  var outagesPerHour = 0.0

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Duration of a connection loss.", valueName: "seconds"))
  var outageSeconds = 60.0

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Quality of service of locations: 0 or 1.", valueName: "level"))
  package var qos: UInt8 = 1

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Seed of positions, noise, events and outages.", valueName: "number"))
  package var seed: UInt64 = 1

  @Option(
    help: ArgumentHelp(
      "Simulate only this part of the vehicles, for example 2/4; run other processes with the same options and --seed for the other parts.",
      valueName: "part"))
  package var part: String?

  @Option(
    help: ArgumentHelp(
      "At the end, write the sequence numbers that each vehicle has published, for odograph verify.",
      valueName: "file"),
    completion: .file(extensions: ["jsonl"]))
  var told: String?

  @Flag(help: "Replace an existing file of --told.")
  var force = false

  @OptionGroup package var time: TimeLimitArguments

  @Flag(name: .customLong("clear"), help: "At the end, delete the vehicles' retained messages.")
  var clears = false

  @Flag(help: "Print the summary as a JSON object.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}

  /// Checks the options.
  ///
  /// - Throws: `FleetError` with the option that is out of range.
  func check() throws(FleetError) {
    try Self.check(vehicles, in: 1...1_000_000, "--vehicles")
    try Self.check(first, in: 0...1_000_000_000, "--first")
    let share = try simulatedPart().share(of: vehicles)
    try Self.check(connections, in: 1...min(4096, share), "--connections")
    try Self.check(rate, in: 0.001...100, "--rate")
    try Self.check(liveRate, in: 0...100, "--live-rate")
    try Self.check(speed, in: 0.1...100, "--speed")
    try Self.check(eventsPerHour, in: 0...36_000, "--events")
    try Self.check(outagesPerHour, in: 0...3600, "--outages")
    try Self.check(outageSeconds, in: 1...86_400, "--outage-seconds")
    try Self.check(qos, in: 0...1, "--qos")
    guard told == nil || qos == 1 else {
      throw .usage("use", "--told", "messages with --qos 0 are not acknowledged; remove one of them")
    }
    if let seconds = try time.limit() { try Self.check(seconds, in: 0.1...1e8, "--seconds") }
  }

  private static func check<Value: Comparable>(
    _ value: Value, in range: ClosedRange<Value>, _ option: String
  ) throws(FleetError) {
    guard range.contains(value) else {
      throw .usage("use", "\(option) \(value)", "must be \(range.lowerBound) to \(range.upperBound)")
    }
  }
}

/// The `odograph simulate` command: drives many virtual vehicles as a load for tests and for sizing a broker.
package enum SimulateCommand {
  /// The interval in seconds between two checks for due reports: short enough for an even load, without
  /// noticeable cost.
  private static let tick = 0.01
  /// The time in seconds to wait at the end for the broker's acknowledgements.
  private static let drain = 30.0

  /// Runs until the time limit or a signal; then every vehicle signs off, and a summary is printed.
  /// - Throws: `FleetError` for invalid options and an unreachable broker.
  package static func run(_ options: SimulateOptions) throws(FleetError) -> ExitStatus {
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let begin = Moment.now
    let limit = try options.time.limit()
    var fleet = try SimulatedFleet(options, start: begin.time)
    let ledger = options.told.map { _ in SimulateLedger() }
    var file: OutputFile? = nil
    if let path = options.told { file = try OutputFile(path: path, replaces: options.force) }
    let links = try SimulateLinks(options, fleet: fleet, ledger: ledger, waiter: waiter)
    try links.start()
    defer { links.stop(seconds: 5) }
    links.send(fleet.status(.online, at: begin.time))
    var progress = ProgressLine()
    var outputs: [SimulatedFleet.Output] = []
    var ending: CommandWaiter.Ending?
    var seconds = 0.0
    while ending == nil {
      seconds = Moment.now.seconds(since: begin)
      if let limit, seconds >= limit { break }
      if let isRenewed = links.takeRenewed() {
        links.sendVital(fleet.statusAgain(at: Moment.now.time, of: isRenewed))
      }
      fleet.advance(to: min(seconds, limit ?? .infinity), into: &outputs)
      links.send(outputs)
      outputs.removeAll(keepingCapacity: true)
      progress.show(every: 1) {
        describe(fleet.vehicles.count, links.counters, pending: links.pending, seconds: seconds)
      }
      let pause = min(max(tick, fleet.nextDue - Moment.now.seconds(since: begin)), 1)
      let waited = waiter.wait(seconds: pause)
      if case .timedOut = waited { continue }
      ending = waited
    }
    if case .failed(let error)? = ending {
      progress.clear()
      throw error
    }
    if ending == nil, !waiter.wasConnected {
      progress.clear()
      try waiter.requireAnswer(within: limit)
    }
    links.send(fleet.status(.offline, at: Moment.now.time))
    if options.clears {
      links.send(
        fleet.vehicles.indices.flatMap { place in
          fleet.vehicles[place].removals.map { SimulatedFleet.Output(vehicle: place, message: $0) }
        })
    }
    progress.clear()
    waiter.drain(seconds: drain) { links.pending }
    if let ledger {
      let told = SentNumbersFile(root: options.broker.topicRoot, numbers: ledger.told(by: fleet))
      _ = try file?.write(told.bytes)
      try file?.finish()
    }
    let isWritten = summary(options, fleet.vehicles.count, links, seconds: seconds)
    guard isWritten else { return .outputFailed }
    if case .ended(let status)? = ending { return status }
    return .done
  }

  private static func describe(
    _ vehicles: Int, _ counters: PublishQueue.Counters, pending: Int, seconds: Double
  ) -> String {
    let rate = seconds > 0 ? Double(counters.acknowledged) / seconds : 0
    var text = "\(vehicles) vehicles  \(counters.acknowledged) sent"
    text += "  \(QuantityText.fixed(rate, decimals: 0) ?? "–")/s  \(pending) waiting"
    if counters.dropped > 0 { text += "  \(counters.dropped) dropped: the broker is too slow" }
    return text
  }

  /// Prints the summary; returns false if the output is closed.
  private static func summary(
    _ options: SimulateOptions, _ vehicles: Int, _ links: SimulateLinks, seconds: Double
  ) -> Bool {
    let counters = links.counters
    let cpu = Double(clock()) / Double(CLOCKS_PER_SEC)
    var text: String
    if options.json {
      let bytes = JSONWriter.object { json in
        json.field("vehicles", vehicles)
        json.field("connections", options.connections)
        json.field("seconds", seconds, decimals: 3)
        json.field("messages", counters.accepted)
        json.field("acknowledged", counters.acknowledged)
        json.field("dropped", counters.dropped)
        json.field("rejected", counters.rejected)
        json.field("unacknowledged", links.pending)
        json.field("bytes", counters.bytes)
        json.field("cpuSeconds", cpu, decimals: 3)
      }
      text = String(decoding: bytes, as: UTF8.self) + "\n"
    } else {
      text = "\(vehicles) vehicles, \(QuantityText.fixed(seconds, decimals: 1) ?? "–") s: "
      text += "\(counters.acknowledged) of \(counters.accepted) messages acknowledged"
      if counters.dropped > 0 { text += ", \(counters.dropped) dropped because the broker was too slow" }
      if counters.rejected > 0 { text += ", \(counters.rejected) refused by the broker" }
      text += "; \(QuantityText.fixed(100 * cpu / max(seconds, 0.001), decimals: 1) ?? "–") % of a core\n"
    }
    return CommandOutput.write(text) != .outputFailed
  }
}
