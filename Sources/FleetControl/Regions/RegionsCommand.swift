package import Fleet
internal import FleetConsole
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// What `odograph regions` is asked for.
package struct RegionsOptions: Sendable {
  package enum Action: Hashable, Sendable {
    /// What the vehicles watch.
    case list
    /// Wants the regions of a file watched; those wanted before stay when `adding`.
    case push(file: String, adding: Bool)
    /// Wants regions no more; none named means all.
    case remove([String])
    /// Where what is wanted, or in a file, is not what vehicles report.
    case diff(file: String?)
  }

  package var broker = BrokerOptions()
  package var action: Action
  package var targets: VehicleTargets
  /// Metres, for points in a file that have none.
  package var radius: Double?
  /// Seconds that the vehicles have to report, 0 ... 86,400; 0 does not wait.
  package var timeout = 0.0
  package var json = false

  package init(_ action: Action, targets: VehicleTargets) {
    self.action = action
    self.targets = targets
  }
}

/// Shows and changes what vehicles watch.
///
/// What is wanted stands retained in `regions/desired`, what was accepted in `regions/reported`.
package enum RegionsCommand {
  /// - Throws: `FleetError` for options and files that make no sense, and a broker that cannot be reached or refuses.
  package static func run(_ options: RegionsOptions) throws(FleetError) -> ExitStatus {
    guard (0...86_400).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout is 0 to 86400 seconds")
    }
    let isChange =
      switch options.action {
      case .push, .remove: true
      case .list, .diff: false
      }
    if isChange { try options.targets.requireChoice() }
    // Files are read before anybody is asked anything.
    var file: RegionDocument?
    switch options.action {
    case .push(let path, _): file = try RegionFile.read(path, radius: options.radius)
    case .diff(let path?): file = try RegionFile.read(path, radius: options.radius)
    default: break
    }
    var paths = ["regions/desired", "regions/reported"]
    // Vehicles that have never heard of regions are there too.
    if options.targets.named == nil { paths.append("status") }
    let exchange = try FleetExchange(options.broker, kept: try options.targets.filters(paths))
    try exchange.open()
    defer { exchange.close() }
    let messages = try exchange.retained()
    if options.action == .list, options.targets.isNobody(messages) {
      StandardError.say("no vehicle has regions: the broker keeps nothing of any")
      return .done
    }
    let vehicles = try options.targets.resolve(messages)
    let kept = collect(messages, root: options.targets.root)
    switch options.action {
    case .list: return try list(vehicles, kept, options)
    case .diff: return try diff(vehicles, kept, file, options)
    case .push(_, let adding):
      return try push(vehicles, options, exchange) { key in
        var document = adding ? kept[key]?.wanted ?? RegionDocument() : RegionDocument()
        for feature in file?.features ?? [] {
          document.features.removeAll { $0.identifier == feature.identifier }
          document.features.append(feature)
        }
        return document
      }
    case .remove(let names):
      let removal = try RegionRemoval(names, from: vehicles, kept)
      for sentence in removal.notes { StandardError.say(sentence) }
      return try push(removal.vehicles, options, exchange) { key in
        var document = kept[key]?.wanted ?? RegionDocument()
        document.features.removeAll { names.isEmpty || names.contains($0.identifier) }
        return document
      }
    }
  }

  private static func collect(_ messages: [MQTTMessage], root: String) -> [VehicleKey: RegionReport] {
    var kept: [VehicleKey: RegionReport] = [:]
    for message in messages {
      guard let address = TopicAddress(topic: message.topic, root: root) else { continue }
      let json = try? JSONValue(parsing: message.payload)
      let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
      switch address.path {
      case "regions/desired": kept[key, default: RegionReport()].desired = json
      case "regions/reported": kept[key, default: RegionReport()].reported = json
      default: break
      }
    }
    return kept
  }

  private static func list(
    _ vehicles: [VehicleKey], _ kept: [VehicleKey: RegionReport], _ options: RegionsOptions
  ) throws(FleetError) -> ExitStatus {
    var lines: [StyledText] = []
    var text = ""
    for key in vehicles {
      let own = kept[key] ?? RegionReport()
      if options.json {
        var members: [String: JSONValue] = ["fleet": .string(key.fleet), "vehicle": .string(key.vehicle)]
        members["desired"] = own.desired
        members["reported"] = own.reported
        text += JSONValue.object(members).text + "\n"
        continue
      }
      lines.append(StyledText(key.description, style: .bold))
      let watched = own.accepted ?? []
      for feature in own.wanted.features {
        let isWatched = watched.contains(feature.identifier) && own.isCurrent
        lines.append(
          line(
            feature.identifier, feature.summary,
            note: isWatched ? nil : own.refusal(of: feature.identifier) ?? "wanted, not reported"))
      }
      for identifier in watched where own.wanted[identifier] == nil {
        lines.append(line(identifier, "", note: "watched, not wanted"))
      }
      if own.wanted.features.isEmpty, watched.isEmpty { lines.append(StyledText("  none", style: .dim)) }
    }
    if options.json {
      try CommandOutput.print(text)
    } else {
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
    }
    if vehicles.allSatisfy({ kept[$0]?.names.isEmpty ?? true }) {
      StandardError.say("no vehicle has regions")
    }
    return .done
  }

  private static func line(_ identifier: String, _ summary: String, note: String?) -> StyledText {
    var line = StyledText("  ")
    line.append(StyledText(identifier).fitted(to: 24))
    line.append("  \(summary)", style: .dim)
    if let note { line.append("  \(note)", style: TextStyle(.yellow)) }
    return line
  }

  private static func diff(
    _ vehicles: [VehicleKey], _ kept: [VehicleKey: RegionReport], _ file: RegionDocument?,
    _ options: RegionsOptions
  ) throws(FleetError) -> ExitStatus {
    var lines: [StyledText] = []
    var text = ""
    for key in vehicles {
      let own = kept[key] ?? RegionReport()
      let differences = own.differences(to: file)
      if differences.isEmpty { continue }
      lines.append(StyledText(key.description, style: .bold))
      for difference in differences {
        var line = StyledText(
          "  \(difference.sign) ", style: TextStyle(difference.kind == .extra ? .red : .green))
        line.append(StyledText(difference.identifier).fitted(to: 24))
        line.append(
          "  " + (own.refusal(of: difference.identifier) ?? difference.text), style: .dim)
        lines.append(line)
        let members: [String: JSONValue] = [
          "fleet": .string(key.fleet), "vehicle": .string(key.vehicle),
          "region": .string(difference.identifier),
          "difference": .string("\(difference.kind)"),
        ]
        text += JSONValue.object(members).text + "\n"
      }
    }
    let isSame = lines.isEmpty
    if options.json {
      try CommandOutput.print(text)
    } else {
      if isSame { lines = [StyledText("vehicles watch what is wanted", style: .dim)] }
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
    }
    return isSame ? .done : .differs
  }
}

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
