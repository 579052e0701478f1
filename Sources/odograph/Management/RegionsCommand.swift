internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import JSON
internal import MQTT
internal import Spatial
internal import Telemetry
internal import VehicleData

/// The `odograph regions` commands: show and change the regions that vehicles monitor.
///
/// Desired regions are retained in `regions/desired`, accepted ones in `regions/reported`.
enum RegionsCommand {
  /// Prints the monitored and the desired regions of vehicles.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  static func list(
    _ options: VehicleQueryOptions
  ) throws(FleetError) -> ExitStatus {
    let session = try session(options.targets, options.broker, options.beginning)
    session.close()
    if session.isEmptySelection {
      StandardError.report(
        "no vehicle has regions: the broker has no retained regions, or delivers them for exact topics only; "
          + "name --fleet and --vehicle to read exact topics, or begin from a recording with --recording")
      return .done
    }
    let kept = try session.documents()
    try CommandOutput.print(kept.vehicles, asJSON: options.json) { key in
      var members: [String: JSONValue] = [:]
      members["desired"] = kept[key].desired
      members["reported"] = kept[key].reported
      members["state"] = kept[key].state
      return members
    } lines: { key in
      [StyledText(key.description, style: .bold)] + lines(of: kept[key])
    }
    if kept.vehicles.allSatisfy({ kept[$0].regionNames.isEmpty && kept[$0].regionStates?.count ?? 0 == 0 }) {
      StandardError.report("no vehicle has regions")
    }
    return .done
  }

  /// Prints the differences between the monitored regions and the desired regions, or the regions of a file.
  /// - Throws: `FleetError` for invalid options and files, and for a broker that is unreachable or rejects a
  ///   request.
  static func diff(
    _ options: Regions.Diff
  ) throws(FleetError) -> ExitStatus {
    // Files are read before any request is sent.
    let file: RegionDocument? =
      if let path = options.file {
        try regions(path, radius: options.radius)
      } else { nil }
    let session = try session(
      options.vehicles.targets(options.broker), options.broker, options.beginning)
    session.close()
    let kept = try session.documents()
    var lines: [StyledText] = []
    var text = ""
    for key in kept.vehicles {
      let differences = kept[key].differences(to: file)
      if !differences.isEmpty { lines.append(StyledText(key.description, style: .bold)) }
      for difference in differences {
        var line = StyledText(
          "  \(difference.sign) ", style: TextStyle(difference.kind == .extra ? .red : .green))
        line.append(StyledText(difference.identifier).fitted(to: 24))
        line.append(
          "  " + (kept[key].refusal(of: difference.identifier) ?? difference.text), style: .dim)
        lines.append(line)
        text += key.json(with: [
          "region": .string(difference.identifier), "difference": .string(difference.kind.rawValue),
        ])
      }
    }
    let isSame = lines.isEmpty
    if isSame { lines = [StyledText("vehicles monitor the desired regions", style: .dim)] }
    if options.json {
      try CommandOutput.print(text)
    } else {
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles)
    }
    return isSame ? .done : .differs
  }

  /// Sets the regions of a file as desired, and waits until the vehicles have reported.
  /// - Throws: `FleetError` for invalid options and files, and for a broker that is unreachable or rejects a
  ///   request.
  static func push(
    _ options: Regions.Push
  ) throws(FleetError) -> ExitStatus {
    let targets = try options.change.targets(share: options.share)
    let file = try regions(options.file, radius: options.radius)
    for reason in file.skipped { StandardError.report("skipped: \(reason)") }
    for name in file.replaced {
      StandardError.report("region \"\(name)\" occurs twice: the last one is used")
    }
    let session = try session(targets, options.change.broker, options.change.beginning)
    defer { session.close() }
    let kept = try session.documents()
    if options.add { for key in kept.vehicles { try kept[key].checkWantedRegions(of: key) } }
    let wanted = kept.vehicles.map { key in
      (key, (options.add ? kept[key].wantedRegions : RegionDocument()).adding(file))
    }
    return try send(wanted, in: session, options.change)
  }

  /// Removes desired regions, and waits until the vehicles have reported.
  /// - Throws: `FleetError` for regions that no vehicle has, and for a broker that is unreachable or rejects
  ///   a request.
  static func remove(
    _ options: Regions.Remove
  ) throws(FleetError) -> ExitStatus {
    let session = try session(
      try options.change.targets(), options.change.broker, options.change.beginning)
    defer { session.close() }
    let kept = try session.documents()
    let names = options.names
    let removal = try RegionRemoval(names, from: kept)
    if !names.isEmpty { for key in removal.vehicles { try kept[key].checkWantedRegions(of: key) } }
    for sentence in removal.notes { StandardError.report(sentence) }
    let wanted = removal.vehicles.map { key in
      (key, names.isEmpty ? RegionDocument() : kept[key].wantedRegions.removing(names))
    }
    return try send(wanted, in: session, options.change)
  }

  private static func session(
    _ targets: VehicleTargets, _ broker: BrokerArguments, _ beginning: BeginningArguments
  ) throws(FleetError) -> DocumentSession {
    try DocumentSession(
      .regions, of: targets, at: broker.configuration(), beginning: beginning.recorded)
  }

  private static func regions(_ path: String, radius: Double?) throws(FleetError) -> RegionDocument {
    try RegionImport.read(
      InputFile.read(path, limit: RegionImport.largest), of: path, radius: radius, hasRadiusOption: true)
  }

  private static func lines(of documents: VehicleDocuments) -> [StyledText] {
    let told = documents.regionStates
    let states = Dictionary((told?.regions ?? []).map { ($0.identifier, $0) }) { $1 }
    func line(_ identifier: String, _ summary: String, note: String?) -> StyledText {
      var line = StyledText("  ")
      line.append(StyledText(identifier).fitted(to: 24))
      if let status = states[identifier] {
        line.append("  ")
        line.append(text(of: status))
      }
      if !summary.isEmpty { line.append("  \(summary)", style: .dim) }
      if let note { line.append("  \(note)", style: TextStyle(.yellow)) }
      return line
    }
    let (wanted, watched) = (documents.wantedRegions, documents.acceptedRegions ?? [])
    let named = Set(wanted.features.map(\.identifier)).union(watched)
    let others = (told?.regions ?? []).filter { !named.contains($0.identifier) }
    let refusals = documents.reportsFile ? documents.reported?["refused"]?.array ?? [] : []
    if named.isEmpty, told?.count ?? 0 == 0, refusals.isEmpty { return [StyledText("  none", style: .dim)] }
    var lines = wanted.features.map { feature in
      let isWatched = watched.contains(feature.identifier) && documents.isCurrent
      return line(
        feature.identifier, feature.summary,
        note: isWatched ? nil : documents.refusal(of: feature.identifier) ?? "desired, not reported")
    }
    if told?.source != .file {
      lines += watched.filter { wanted[$0] == nil }.map { line($0, "", note: "monitored, not desired") }
    }
    lines += others.map {
      line($0.identifier, told?.source == .file ? "from the vehicle's file" : "", note: nil)
    }
    lines += refusals.map { refusal in
      line(
        refusal["region"]?.string ?? "feature \(refusal["index"]?.integer ?? 0)", "from the vehicle's file",
        note: "refused: \(refusal["reason"]?.string ?? "no reason given")")
    }
    if let omitted = told?.omitted, omitted > 0 {
      lines.append(
        StyledText("  and \(omitted) more, not listed: vehicles report the nearest ones", style: .dim))
    }
    return lines
  }

  /// Returns a text such as `inside since 2026-11-21T08:00:00.000Z`.
  private static func text(of status: RegionStatus) -> StyledText {
    let since = status.since.map { " since \($0.rfc3339)" } ?? ""
    let style: TextStyle = status.state == .inside ? TextStyle(.green) : .plain
    return StyledText("\(status.state.rawValue)\(since)", style: style)
  }

  // MARK: Sending

  private static func send(
    _ wanted: [(key: VehicleKey, regions: RegionDocument)], in session: DocumentSession,
    _ options: VehicleChangeOptions
  ) throws(FleetError) -> ExitStatus {
    let regions = Dictionary(uniqueKeysWithValues: wanted.map { ($0.key, $0.regions) })
    var requests = session.request(
      wanted.map(\.key), regions: regions, version: Moment.now.time.rfc3339, timeout: options.timeout)
    let ending = try requests.waitWithProgress()
    func count(_ key: VehicleKey) -> Int { regions[key]?.features.count ?? 0 }
    try CommandOutput.print(requests.vehicles, asJSON: options.json) { key in
      let outcome = requests.reports.outcomes[key]
      return [
        "wanted": .integer(Int64(count(key))),
        "accepted": outcome.map { .integer(Int64($0.accepted)) } ?? .null,
        "problems": .array(outcome?.problems.map { .string($0) } ?? []),
        "state": outcome?.state == "refused" ? .string("reported") : .string(requests.reports.state(of: key)),
      ]
    } lines: { key in
      [line(key, requests, count: count(key))]
    }
    return ending ?? requests.status
  }

  private static func line(_ key: VehicleKey, _ requests: VehicleRequests, count: Int) -> StyledText {
    var line = StyledText(key.description, style: .bold)
    guard let outcome = requests.reports.outcomes[key] else {
      line.append(
        "  " + requests.pendingText(of: key), style: TextStyle(.yellow))
      return line
    }
    line.append(
      outcome.state == "sent" ? "  sent, \(count) regions" : "  watches \(outcome.accepted) of \(count)",
      style: TextStyle(outcome.isGood ? .green : .red))
    if let problem = outcome.problem { line.append("  " + problem) }
    return line
  }
}

extension RegionDocument.Feature {
  /// A summary such as `polygon, 12 corners, limit 30.0 km/h`.
  var summary: String {
    let limit = (try? Region.speedLimit(json["properties"])) ?? nil
    return outline + (limit.map { ", limit \(QuantityText.speed($0))" } ?? "")
  }

  private var outline: String {
    switch shape?.outline {
    case .circle(let center, let radius):
      "circle of \(QuantityText.distance(radius)) around \(QuantityText.position(center))"
    case .rings(let rings):
      "polygon, \(rings.reduce(0) { $0 + Self.corners(of: $1) }) corners"
        + (rings.count > 1 ? " in \(rings.count) rings" : "")
    case nil: "unreadable"
    }
  }

  /// Returns the number of corners; a closed ring repeats its first one.
  private static func corners(of ring: [Coordinate]) -> Int {
    ring.count > 1 && ring.first == ring.last ? ring.count - 1 : ring.count
  }
}

extension RegionDifference {
  fileprivate var sign: String {
    switch kind {
    case .missing: "+"
    case .extra: "-"
    case .changed: "~"
    }
  }

  fileprivate var text: String {
    switch kind {
    case .missing: "desired, not monitored"
    case .extra: "monitored, not desired"
    case .changed: "monitored with another outline, or not reported since the change"
    }
  }
}
