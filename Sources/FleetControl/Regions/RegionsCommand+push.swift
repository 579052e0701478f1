package import Fleet
internal import FleetConsole
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

extension RegionsCommand {
  /// What became of a vehicle's regions.
  private struct Outcome {
    var accepted = 0
    var problems: [String] = []
    var isSent = false
  }

  /// Tells vehicles what to watch, and waits until they have reported.
  package static func push(
    _ vehicles: [VehicleKey], _ options: RegionsOptions, _ exchange: FleetExchange,
    _ document: (VehicleKey) -> RegionDocument
  ) throws(FleetError) -> ExitStatus {
    let version = Moment.now.time.rfc3339
    var tokens: [UInt64: VehicleKey] = [:]
    var wanted: [VehicleKey: RegionDocument] = [:]
    for key in vehicles {
      let own = document(key)
      wanted[key] = own
      let message = MQTTMessage(
        topic: key.topic(root: options.targets.root, "regions/desired"),
        text: own.json(version: version).text,
        qos: .atLeastOnce, retain: true,
        properties: MQTTMessageProperties(contentType: "application/geo+json"))
      tokens[exchange.publish(message)] = key
    }
    var outcomes: [VehicleKey: Outcome] = [:]
    var unsent = Set(tokens.keys)
    var ending: ExitStatus?
    let deadline = SystemClock.monotonic + Int64(PendingReport.patience(timeout: options.timeout) * 1e9)
    var progress = ProgressLine()
    while ending == nil, options.timeout == 0 ? !unsent.isEmpty : outcomes.count < vehicles.count,
      let event = try exchange.next(until: deadline)
    {
      switch event {
      case .published(let token, let reason):
        unsent.remove(token)
        guard let key = tokens[token] else { continue }
        if let reason {
          outcomes[key] = Outcome(problems: ["by the broker: \(reason); check its access list for this user"])
        } else if options.timeout == 0 {
          outcomes[key] = Outcome(isSent: true)
        }
      case .message(let message):
        guard let address = TopicAddress(topic: message.topic, root: options.targets.root),
          address.path == "regions/reported", let json = try? JSONValue(parsing: message.payload)
        else { continue }
        let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
        // A report of another document is none of ours; one that names none came after ours was sent.
        guard let own = wanted[key], json["version"]?.string ?? version == version else { continue }
        let report = RegionReport(desired: own.json(version: version), reported: json)
        let accepted = report.accepted ?? []
        var outcome = Outcome(accepted: own.features.filter { accepted.contains($0.identifier) }.count)
        for feature in own.features {
          if let why = report.refusal(of: feature.identifier) {
            outcome.problems.append("\(feature.identifier) \(why)")
          }
        }
        if let problem = json["problem"]?.string { outcome.problems.append(problem) }
        outcomes[key] = outcome
      case .disconnected(let reason): StandardError.say("\(reason); connecting again")
      case .interrupted(let status): ending = status
      default: break
      }
      progress.show { "\(outcomes.count) of \(vehicles.count) have reported" }
    }
    progress.clear()
    let unsentKeys = Set(unsent.compactMap { tokens[$0] })
    try print(vehicles, outcomes, wanted, unsent: unsentKeys, options)
    if let ending { return ending }
    if outcomes.values.contains(where: { !$0.problems.isEmpty }) { return .unavailable }
    return outcomes.count == vehicles.count ? .done : .timedOut
  }

  private static func print(
    _ vehicles: [VehicleKey], _ outcomes: [VehicleKey: Outcome], _ wanted: [VehicleKey: RegionDocument],
    unsent: Set<VehicleKey>, _ options: RegionsOptions
  ) throws(FleetError) {
    if options.json {
      let text = vehicles.map { key in
        let outcome = outcomes[key]
        let members: [String: JSONValue] = [
          "fleet": .string(key.fleet), "vehicle": .string(key.vehicle),
          "wanted": .integer(Int64(wanted[key]?.features.count ?? 0)),
          "accepted": outcome.map { .integer(Int64($0.accepted)) } ?? .null,
          "problems": .array(outcome?.problems.map { .string($0) } ?? []),
          "state": .string(
            outcome.map { $0.isSent ? "sent" : "reported" }
              ?? (unsent.contains(key) ? "unsent" : "unanswered")),
        ]
        return JSONValue.object(members).text + "\n"
      }
      return try CommandOutput.print(text.joined())
    }
    let lines = vehicles.map { key in
      var line = StyledText(key.description, style: .bold)
      guard let outcome = outcomes[key] else {
        let text = unsent.contains(key) ? PendingReport.unsent : PendingReport.unanswered
        line.append("  \(text)", style: TextStyle(.yellow))
        return line
      }
      let count = wanted[key]?.features.count ?? 0
      line.append(
        outcome.isSent ? "  sent, \(count) regions" : "  watches \(outcome.accepted) of \(count)",
        style: TextStyle(outcome.problems.isEmpty ? .green : .red))
      if !outcome.problems.isEmpty { line.append("  " + outcome.problems.joined(separator: "; ")) }
      return line
    }
    try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
  }
}
