internal import Fleet
internal import FleetConsole
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// Tells vehicles what is wanted, stage by stage: a stage begins when all of the one before have taken it, so that a
/// mistake stays with the first few.
struct ConfigRollout {
  private let options: ConfigOptions
  private let settings: ConfigSettings
  private let documents: [VehicleKey: ConfigDocuments]
  private let exchange: FleetExchange
  private let name: String
  private var outcomes: [VehicleKey: (state: String, problem: String?)] = [:]
  /// Those of which the broker has the message.
  private var sent: Set<VehicleKey> = []
  private var progress = ProgressLine()

  init(
    _ options: ConfigOptions, _ settings: ConfigSettings, _ documents: [VehicleKey: ConfigDocuments],
    _ exchange: FleetExchange
  ) {
    self.options = options
    self.settings = settings
    self.documents = documents
    self.exchange = exchange
    name = options.name ?? Moment.now.time.rfc3339
  }

  mutating func run(_ vehicles: [VehicleKey], stages: [Double]) throws(FleetError) -> ExitStatus {
    // By lot and not by name: the first few are not all of one depot.
    let order = vehicles.sorted { ($0.lot, $0) < ($1.lot, $1) }
    var done = 0
    var status = ExitStatus.done
    for (index, stage) in stages.enumerated() {
      let end = max(done, stage >= 100 ? order.count : Int((Double(order.count) * stage / 100).rounded(.up)))
      let part = Array(order[done..<min(end, order.count)])
      done = min(end, order.count)
      guard !part.isEmpty else { continue }
      if stages.count > 1 {
        StandardError.say("stage \(index + 1) of \(stages.count): \(part.count) vehicles")
      }
      status = try run(stage: part)
      progress.clear()
      try print(part)
      if status != .done { break }
    }
    guard done < order.count else { return status }
    StandardError.say(
      status == .done
        ? "\(order.count - done) of \(order.count) vehicles were not asked: --stages ends at "
          + "\(QuantityText.fixed(stages.last ?? 0, decimals: 0) ?? "–") %"
        : "stopped: \(order.count - done) of \(order.count) vehicles were not asked")
    return status == .done ? .timedOut : status
  }

  private mutating func run(stage vehicles: [VehicleKey]) throws(FleetError) -> ExitStatus {
    var tokens: [UInt64: VehicleKey] = [:]
    for key in vehicles {
      let wanted = settings.applied(to: documents[key]?.wanted ?? [:])
      let payload = JSONValue.object(["version": .string(name), "settings": .object(wanted)]).text
      let message = MQTTMessage(
        topic: key.topic(root: options.targets.root, "config/desired"), text: payload, qos: .atLeastOnce,
        retain: true,
        properties: MQTTMessageProperties(contentType: "application/json"))
      tokens[exchange.publish(message)] = key
    }
    var unsent = Set(tokens.keys)
    var ending: ExitStatus?
    let deadline = SystemClock.monotonic + Int64(PendingReport.patience(timeout: options.timeout) * 1e9)
    var open = Set(vehicles)
    while ending == nil, !(options.timeout == 0 ? unsent.isEmpty : open.isEmpty),
      let event = try exchange.next(until: deadline)
    {
      switch event {
      case .published(let token, let reason):
        unsent.remove(token)
        guard let key = tokens[token] else { continue }
        if let reason {
          outcomes[key] = ("refused", "by the broker: \(reason); check its access list for this user")
          open.remove(key)
        } else {
          sent.insert(key)
          if options.timeout == 0 { outcomes[key] = ("sent", nil) }
        }
      case .interrupted(let status): ending = status
      case .message(let message):
        if let key = take(message), let state = outcomes[key]?.state, Self.isFinal(state) { open.remove(key) }
      case .disconnected(let reason): StandardError.say("\(reason); connecting again")
      default: break
      }
      let finished = vehicles.count - open.count
      progress.show { "\(finished) of \(vehicles.count) have reported" }
    }
    if let ending { return ending }
    let states = vehicles.map { outcomes[$0]?.state }
    if states.contains(where: { $0 == "refused" || $0 == "rolledBack" }) { return .unavailable }
    return states.allSatisfy { $0 == "applied" || $0 == "sent" } ? .done : .timedOut
  }

  private static func isFinal(_ state: String) -> Bool {
    ["applied", "refused", "rolledBack"].contains(state)
  }

  /// Takes a report of this document, and returns whose it is; those of others are none of ours.
  private mutating func take(_ message: MQTTMessage) -> VehicleKey? {
    guard let address = TopicAddress(topic: message.topic, root: options.targets.root),
      address.path == "config/reported", let json = try? JSONValue(parsing: message.payload),
      json["version"]?.string == name, let state = json["state"]?.string
    else { return nil }
    var problems = [json["problem"]?.string].compactMap { $0 }
    for refusal in json["refused"]?.array ?? [] {
      problems.append("\(refusal["key"]?.string ?? "?"): \(refusal["reason"]?.string ?? "refused")")
    }
    let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
    outcomes[key] = (state, problems.isEmpty ? nil : problems.joined(separator: "; "))
    return key
  }

  private func print(_ vehicles: [VehicleKey]) throws(FleetError) {
    if options.json {
      let text = vehicles.sorted().map { key in
        var members: [String: JSONValue] = ["fleet": .string(key.fleet), "vehicle": .string(key.vehicle)]
        members["version"] = .string(name)
        members["state"] = .string(outcomes[key]?.state ?? (sent.contains(key) ? "unanswered" : "unsent"))
        members["problem"] = outcomes[key]?.problem.map { .string($0) }
        return JSONValue.object(members).text + "\n"
      }
      return try CommandOutput.print(text.joined())
    }
    let lines = vehicles.sorted().map { key in
      var line = StyledText(key.description, style: .bold)
      let outcome = outcomes[key]
      let isGood = outcome?.state == "applied" || outcome?.state == "sent"
      line.append(
        "  \(outcome?.state ?? (sent.contains(key) ? PendingReport.unanswered : PendingReport.unsent))",
        style: TextStyle(isGood ? .green : .yellow))
      if let problem = outcome?.problem { line.append("  \(problem)") }
      return line
    }
    try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
  }
}
