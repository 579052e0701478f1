package import Fleet
internal import FleetConsole
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// What `odograph config` is asked for.
package struct ConfigOptions: Sendable {
  package enum Action: Hashable, Sendable {
    /// What is in force.
    case show
    /// Where what is wanted is not what is in force.
    case diff
    /// Wants settings of the vehicles, on top of those wanted before.
    case set
  }

  package var broker = BrokerOptions()
  package var action: Action
  package var targets: VehicleTargets
  /// `key=value`.
  package var assignments: [String] = []
  package var removals: [String] = []
  package var file: String?
  /// The document's name, which comes back in the report; nil makes one of the time.
  package var name: String?
  /// Per cent of the vehicles at which a roll-out stops to wait for their reports, rising; empty does all at once.
  package var stages: [Double] = []
  /// Seconds that a stage's vehicles have to report, 0 ... 86,400; 0 does not wait.
  package var timeout = 0.0
  package var json = false

  package init(_ action: Action, targets: VehicleTargets) {
    self.action = action
    self.targets = targets
  }
}

/// Shows and changes the remotely changeable part of vehicles' settings.
///
/// What is wanted stands retained in `config/desired`, so that a vehicle that is asleep reads it when it is back; what
/// became of it stands in `config/reported`.
package enum ConfigCommand {
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached or refuses.
  package static func run(_ options: ConfigOptions) throws(FleetError) -> ExitStatus {
    guard (0...86_400).contains(options.timeout) else {
      throw .usage("wait", "\(options.timeout) s", "--timeout is 0 to 86400 seconds")
    }
    let settings = try ConfigSettings(
      assignments: options.assignments, removals: options.removals, file: options.file)
    if options.action == .set, settings.values.isEmpty, settings.removed.isEmpty {
      throw .usage("set", "nothing", "give key=value, --unset key or --file")
    }
    if options.action == .set { try options.targets.requireChoice() }
    let stages = options.stages.isEmpty ? [100] : options.stages
    guard stages.allSatisfy({ $0 > 0 && $0 <= 100 }), stages == stages.sorted() else {
      throw .usage("use", "--stages", "they are rising percentages, as in 5,25,100")
    }
    let paths = ["config/desired", "config/reported"]
    let needsStatus = options.action == .set && options.targets.named == nil
    let exchange = try FleetExchange(
      options.broker, kept: try options.targets.filters(paths + (needsStatus ? ["status"] : [])))
    try exchange.open()
    defer { exchange.close() }
    let kept = try exchange.retained()
    let documents = ConfigDocuments.collect(
      kept.map { ($0.topic, $0.payload) }, root: options.targets.root)
    switch options.action {
    case .show, .diff:
      let vehicles = try options.targets.resolve(kept)
      return try show(vehicles, documents, options)
    case .set:
      let vehicles = try options.targets.resolve(kept)
      var rollout = ConfigRollout(options, settings, documents, exchange)
      return try rollout.run(vehicles, stages: stages)
    }
  }

  private static func show(
    _ vehicles: [VehicleKey], _ documents: [VehicleKey: ConfigDocuments], _ options: ConfigOptions
  ) throws(FleetError) -> ExitStatus {
    var hasDifferences = false
    var lines: [StyledText] = []
    var text = ""
    for key in vehicles {
      let own = documents[key] ?? ConfigDocuments()
      let differences = own.differences
      if !differences.isEmpty { hasDifferences = true }
      if options.json {
        text += json(key, own) + "\n"
        continue
      }
      if options.action == .diff, differences.isEmpty { continue }
      var head = StyledText(key.description, style: .bold)
      let state = own.reported?["state"]?.string ?? "never reported"
      head.append("  \(state)", style: TextStyle(state == "applied" ? .green : .yellow))
      if let name = own.reported?["version"]?.string { head.append("  \(name)", style: .dim) }
      if let problem = own.reported?["problem"]?.string {
        head.append("  \(problem)", style: TextStyle(.red))
      }
      lines.append(head)
      if options.action == .diff {
        for (name, wanted, inForce) in differences {
          lines.append(StyledText("  \(name)"))
          if let inForce { lines.append(StyledText("    in force  \(inForce.text)", style: TextStyle(.red))) }
          if let wanted { lines.append(StyledText("    wanted    \(wanted.text)", style: TextStyle(.green))) }
        }
      } else {
        for (name, value) in own.inForce.sorted(by: { $0.key < $1.key }) {
          lines.append(StyledText("  \(name) = \(value.text)"))
        }
      }
      for refusal in own.reported?["refused"]?.array ?? [] {
        let reason = refusal["reason"]?.string ?? ""
        lines.append(
          StyledText("  \(refusal["key"]?.string ?? "?") refused: \(reason)", style: TextStyle(.red)))
      }
    }
    if options.json {
      try CommandOutput.print(text)
    } else {
      if options.action == .diff, lines.isEmpty {
        lines = [StyledText("all that is wanted is in force", style: .dim)]
      }
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
    }
    return options.action == .diff && hasDifferences ? .differs : .done
  }

  private static func json(_ key: VehicleKey, _ documents: ConfigDocuments) -> String {
    var members: [String: JSONValue] = ["fleet": .string(key.fleet), "vehicle": .string(key.vehicle)]
    members["desired"] = documents.desired
    members["reported"] = documents.reported
    members["differences"] = .array(
      documents.differences.map { difference in
        var parts: [String: JSONValue] = ["key": .string(difference.key)]
        parts["wanted"] = difference.wanted
        parts["inForce"] = difference.inForce
        return .object(parts)
      })
    return JSONValue.object(members).text
  }
}
