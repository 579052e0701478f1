package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry

/// The options of `odograph config set`.
package struct ConfigSetOptions: BrokerOptions {
  @Argument(
    help:
      "Settings, as in location.distance_filter=50; an array as in 'motion.events=[\"impact\", \"shake\"]'.",
    completion: .list(ConfigSetOptions.keys.map { $0 + "=" }))
  package var settings: [String] = []

  @Option(
    help: ArgumentHelp("Remove a desired setting; repeat for several.", valueName: "key"),
    completion: .list(ConfigSetOptions.keys))
  package var unset: [String] = []

  @Option(
    help: ArgumentHelp("A JSON file with an object of settings.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  package var file: String?

  @Option(help: ArgumentHelp("Name of this change (default: the time).", valueName: "name"))
  var label: String?

  @Option(
    name: .customLong("stages"),
    help: ArgumentHelp(
      "Roll out to these percentages of the vehicles in stages, as in 5,25,100; --timeout applies to each.",
      valueName: "list"))
  var stageList: String?

  @Option(
    help: ArgumentHelp("Only for this percentage of the vehicles, selected at random.", valueName: "percent"))
  package var share: Double?

  @OptionGroup var change: VehicleChangeOptions

  package init() {}

  package var broker: BrokerArguments { change.broker }

  /// The settings that can be changed remotely.
  private static var keys: [String] {
    ConfigurationKey.all.map(\.path).filter { RemoteKeys.problem(with: $0) == nil }.sorted()
  }

  package func validate() throws {
    if let stageList, Self.numbers(stageList).contains(nil) {
      throw ValidationError("--stages must be a list of percentages, as in 5,25,100")
    }
  }

  /// Returns the ascending percentages of vehicles at which the roll-out waits for reports.
  func stages() throws(FleetError) -> [Double] {
    let stages = Self.numbers(stageList ?? "100").compactMap { $0 }
    guard stages.allSatisfy({ $0 > 0 && $0 <= 100 }), stages == stages.sorted() else {
      throw .usage("use", "--stages", "must be rising percentages, for example 5,25,100")
    }
    return stages
  }

  private static func numbers(_ list: String) -> [Double?] {
    list.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
  }
}

/// The `odograph config` commands: show and change vehicles' remote settings.
///
/// Desired settings are retained in `config/desired`, so that a vehicle that is asleep reads them when it is
/// back; the result is retained in `config/reported`.
package enum ConfigCommand {
  /// Prints the settings in effect.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  package static func show(
    _ options: VehicleQueryOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let kept = try read(options, reader)
    try CommandOutput.print(kept.vehicles, asJSON: options.json) {
      members(kept[$0])
    } lines: { key in
      let own = kept[key]
      let settings = own.settingsInForce.sorted { $0.key < $1.key }
      return [head(key, own)] + settings.map { StyledText("  \($0.key) = \($0.value.text)") } + refusals(own)
    }
    return .done
  }

  /// Prints the desired settings that are not in effect.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  package static func diff(
    _ options: VehicleQueryOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let kept = try read(options, reader)
    let isSame = kept.vehicles.allSatisfy { kept[$0].settingDifferences.isEmpty }
    if isSame, !options.json {
      try CommandOutput.print(
        [StyledText("all settings are applied", style: .dim)], styles: CommandOutput.usesStyles)
      return .done
    }
    try CommandOutput.print(kept.vehicles, asJSON: options.json) {
      members(kept[$0])
    } lines: { key in
      let own = kept[key]
      guard !own.settingDifferences.isEmpty else { return [] }
      var lines = [head(key, own)]
      for (name, wanted, inForce) in own.settingDifferences {
        lines.append(StyledText("  \(name)"))
        if let inForce { lines.append(StyledText("    in force  \(inForce.text)", style: TextStyle(.red))) }
        if let wanted { lines.append(StyledText("    wanted    \(wanted.text)", style: TextStyle(.green))) }
      }
      return lines + refusals(own)
    }
    return isSame ? .done : .differs
  }

  /// Adds desired settings to the existing ones, and waits until the vehicles have applied them.
  ///
  /// A stage starts when all vehicles of the previous stage have applied the settings, so that a mistake only
  /// affects the first few vehicles.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  package static func set(
    _ options: ConfigSetOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let settings = try ConfigSettings(
      assignments: options.settings, removals: options.unset, file: options.file)
    if settings.values.isEmpty, settings.removed.isEmpty {
      throw .usage("set", "nothing", "give key=value, --unset key or --file")
    }
    let targets = try options.change.targets(share: options.share)
    let stages = try options.stages()
    let paths = ["config/desired", "config/reported", "status"]
    let (exchange, retained) = try FleetExchange.reading(
      options.change.broker, targets, paths, beginning: options.change.beginning, reader)
    defer { exchange.close() }
    let kept = RetainedDocuments(
      vehicles: try targets.resolve(retained), subject: "config", from: retained, root: targets.root)
    try settings.checkRemovals(kept.vehicles.map { kept[$0] })
    // Vehicles are in pseudo-random order instead of sorted by name, so that the first few do not all belong
    // to one depot.
    let order = kept.vehicles.sorted { ($0.lot, $0) < ($1.lot, $1) }
    let version = options.label ?? Moment.now.time.rfc3339
    var done = 0
    var status = ExitStatus.done
    for (index, stage) in stages.enumerated() {
      let end = stage >= 100 ? order.count : Int((Double(order.count) * stage / 100).rounded(.up))
      guard end > done else { continue }
      let part = Array(order[done..<end])
      done = end
      if stages.count > 1 {
        StandardError.report("stage \(index + 1) of \(stages.count): \(part.count) vehicles")
      }
      var requests = VehicleRequests(exchange, part, retained: retained, root: targets.root) { key in
        let document = settings.document(on: kept[key], version: version)
        for (name, reason) in document.leftBehind {
          StandardError.report(
            "\(key): \(name) is no longer requested, because the vehicle refuses it: \(reason)")
        }
        return MQTTMessage(
          topic: key.topic(root: targets.root, "config/desired"), text: document.json.text,
          qos: .atLeastOnce, retain: true,
          properties: MQTTMessageProperties(contentType: "application/json"))
      }
      let ending = try requests.wait(timeout: options.change.timeout) { message in
        // Reports about other documents are ignored.
        guard let address = TopicAddress(topic: message.topic, root: targets.root),
          address.path == "config/reported", let json = try? JSONValue(parsing: message.payload),
          json["version"]?.string == version, let state = json["state"]?.string
        else { return nil }
        return (address.key, outcome(state, json))
      }
      try print(part, requests, version, asJSON: options.change.json)
      status = ending ?? requests.status
      if status != .done { break }
    }
    guard done < order.count else { return status }
    let left = "\(order.count - done) of \(order.count) vehicles were not asked"
    let last = QuantityText.fixed(stages.last ?? 0, decimals: 0) ?? "–"
    StandardError.report(status == .done ? "\(left): --stages ends at \(last) %" : "stopped: \(left)")
    return status == .done ? .timedOut : status
  }

  // MARK: Reading

  private static func read(
    _ options: VehicleQueryOptions, _ reader: BeginningReader
  ) throws(FleetError) -> RetainedDocuments {
    let targets = options.targets
    let (exchange, retained) = try FleetExchange.reading(
      // The filter for `status` also finds vehicles without desired settings.
      options.broker, targets, ["config/desired", "config/reported", "status"],
      beginning: options.beginning, reader)
    exchange.close()
    return RetainedDocuments(
      vehicles: try targets.resolve(retained), subject: "config", from: retained, root: targets.root)
  }

  private static func head(_ key: VehicleKey, _ documents: VehicleDocuments) -> StyledText {
    var head = StyledText(key.description, style: .bold)
    let state =
      documents.reported?["state"]?.string
      ?? (documents.desired == nil ? "no remote settings" : "has not answered yet")
    head.append("  \(state)", style: TextStyle(state == "applied" ? .green : .yellow))
    if let name = documents.reported?["version"]?.string { head.append("  \(name)", style: .dim) }
    if let problem = documents.reported?["problem"]?.string {
      head.append("  \(problem)", style: TextStyle(.red))
    }
    return head
  }

  /// Returns one line for each setting that the vehicle refused or that has no effect.
  private static func refusals(_ documents: VehicleDocuments) -> [StyledText] {
    let refused = (documents.reported?["refused"]?.array ?? []).map {
      StyledText(
        "  \($0["key"]?.string ?? "?") refused: \($0["reason"]?.string ?? "")", style: TextStyle(.red))
    }
    let ineffective = (documents.reported?["ineffective"]?.array ?? []).map {
      StyledText("  \($0["key"]?.string ?? "?") \($0["reason"]?.string ?? "")", style: TextStyle(.yellow))
    }
    return refused + ineffective
  }

  private static func members(_ documents: VehicleDocuments) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    members["desired"] = documents.desired
    members["reported"] = documents.reported
    members["differences"] = .array(
      documents.settingDifferences.map { difference in
        var parts: [String: JSONValue] = ["key": .string(difference.key)]
        parts["wanted"] = difference.wanted
        parts["inForce"] = difference.inForce
        return .object(parts)
      })
    return members
  }

  // MARK: Setting

  private static func outcome(_ state: String, _ report: JSONValue) -> VehicleOutcome {
    let problem = report["problem"]?.string
    // If one key causes the rejection of all settings, the report contains this key as a refusal and as the
    // problem; it is printed once.
    let refusals = (report["refused"]?.array ?? []).map {
      "\($0["key"]?.string ?? "?"): \($0["reason"]?.string ?? "refused")"
    }.filter { problem != "key \($0)" }
    let ineffective = (report["ineffective"]?.array ?? []).map {
      "\($0["key"]?.string ?? "?") \($0["reason"]?.string ?? "")"
    }
    return VehicleOutcome(
      state: state, problems: [problem].compactMap { $0 } + refusals + ineffective,
      isGood: state == "applied", isFinal: ["applied", "refused", "rolledBack"].contains(state))
  }

  private static func print(
    _ vehicles: [VehicleKey], _ requests: VehicleRequests, _ version: String, asJSON: Bool
  ) throws(FleetError) {
    try CommandOutput.print(vehicles.sorted(), asJSON: asJSON) { key in
      var members = ["version": .string(version), "state": requests.state(of: key)]
      members["problem"] = requests.outcomes[key]?.problem.map { .string($0) }
      return members
    } lines: { key in
      let outcome = requests.outcomes[key]
      var line = StyledText(key.description, style: .bold)
      let pending =
        requests.unsent.contains(key) ? VehicleRequests.unsent : VehicleRequests.unanswered
      line.append(
        "  \(outcome?.state ?? pending)", style: TextStyle(outcome?.isGood == true ? .green : .yellow))
      if let problem = outcome?.problem { line.append("  \(problem)") }
      return [line]
    }
  }
}
