internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import MQTT
internal import Settings
internal import Spatial
internal import Telemetry

/// The `odograph config` commands: show and change vehicles' remote settings.
///
/// Desired settings are retained in `config/desired`, so that a vehicle that is asleep reads them when it is
/// back; the result is retained in `config/reported`.
enum ConfigCommand {
  /// Prints the settings in effect.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  static func show(
    _ options: VehicleQueryOptions
  ) throws(FleetError) -> ExitStatus {
    let kept = try read(options)
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
  static func diff(
    _ options: VehicleQueryOptions
  ) throws(FleetError) -> ExitStatus {
    let kept = try read(options)
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

  /// Adds desired settings to the existing ones in stages, and waits until the vehicles have applied them.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  static func set(_ options: Config.Set) throws(FleetError) -> ExitStatus {
    let file = try options.file.map { path throws(FleetError) in (path: path, bytes: try InputFile.read(path))
    }
    let settings = try ConfigSettings(assignments: options.settings, removals: options.unset, file: file)
    if settings.isEmpty { throw .usage("set", "nothing", "give key=value, --unset key or --file") }
    let change = options.change
    let targets = try change.targets(share: options.share)
    let percentages = try options.stages()
    let session = try DocumentSession(
      .config, of: targets, at: change.broker.configuration(), beginning: change.beginning.recorded)
    defer { session.close() }
    let rollout = try ConfigRollout(
      settings, session, percentages: percentages, version: options.label ?? Moment.now.time.rfc3339)
    var done = 0
    var status = ExitStatus.done
    for stage in rollout.stages {
      done += stage.vehicles.count
      if percentages.count > 1 {
        let count = stage.vehicles.count
        StandardError.report(
          "stage \(stage.number) of \(percentages.count): \(count) \(count == 1 ? "vehicle" : "vehicles")")
      }
      var (requests, dropped) = rollout.request(stage, timeout: change.timeout)
      for setting in dropped {
        StandardError.report(
          "\(setting.vehicle): \(setting.key) is no longer requested, because the vehicle refuses it: \(setting.reason)"
        )
      }
      let ending = try requests.waitWithProgress()
      try print(requests, rollout.version, asJSON: change.json)
      status = ending ?? requests.status
      if status != .done { break }
    }
    guard done < rollout.vehicleCount else { return status }
    let left = "\(rollout.vehicleCount - done) of \(rollout.vehicleCount) vehicles were not asked"
    let last = QuantityText.fixed(percentages.last ?? 0, decimals: 0) ?? "–"
    StandardError.report(status == .done ? "\(left): --stages ends at \(last) %" : "stopped: \(left)")
    return status == .done ? .timedOut : status
  }

  private static func read(_ options: VehicleQueryOptions) throws(FleetError) -> RetainedDocuments {
    let session = try DocumentSession(
      .config, of: options.targets, at: options.broker.configuration(), beginning: options.beginning.recorded)
    session.close()
    return try session.documents()
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

  private static func print(
    _ requests: VehicleRequests, _ version: String, asJSON: Bool
  ) throws(FleetError) {
    try CommandOutput.print(requests.vehicles.sorted(), asJSON: asJSON) { key in
      var members: [String: JSONValue] = [
        "version": .string(version), "state": .string(requests.reports.state(of: key)),
      ]
      members["problem"] = requests.reports.outcomes[key]?.problem.map { .string($0) }
      return members
    } lines: { key in
      let outcome = requests.reports.outcomes[key]
      var line = StyledText(key.description, style: .bold)
      line.append(
        "  \(outcome?.state ?? requests.pendingText(of: key))",
        style: TextStyle(outcome?.isGood == true ? .green : .yellow))
      if let problem = outcome?.problem { line.append("  \(problem)") }
      return [line]
    }
  }
}
