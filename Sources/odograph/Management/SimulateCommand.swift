internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The `odograph simulate` command: drives many virtual vehicles as a load for tests and for sizing a broker.
enum SimulateCommand {
  /// The interval in seconds between two checks for due reports: short enough for an even load, without
  /// noticeable cost.
  private static let tick = 0.01
  /// The time in seconds to wait at the end for the broker's acknowledgements.
  private static let drain = 30.0

  /// Runs until the time limit or a signal; then every vehicle signs off, and a summary is printed.
  /// - Throws: `FleetError` for invalid options and an unreachable broker.
  static func run(_ options: Simulate) throws(FleetError) -> ExitStatus {
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let begin = Moment.now
    let limit = try options.time.limit()
    guard options.told == nil || options.qos == 1 else {
      throw .usage("use", "--told", "messages with --qos 0 are not acknowledged; remove one of them")
    }
    if let limit { try SimulatedFleet.Configuration.check(limit, in: 0.1...1e8, "seconds") }
    var fleet = try SimulatedFleet(options.fleetConfiguration(), start: begin.time)
    let ledger = options.told.map { _ in SimulateLedger() }
    var file: OutputFile? = nil
    if let path = options.told { file = try OutputFile(path: path, replaces: options.force) }
    let links = try SimulateLinks(options.broker.configuration(), fleet: fleet, ledger: ledger) {
      waiter.observe($0)
    }
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
    if options.clears { links.send(fleet.removals) }
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
    _ options: Simulate, _ vehicles: Int, _ links: SimulateLinks, seconds: Double
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
