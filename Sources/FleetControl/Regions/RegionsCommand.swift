package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import MQTT
internal import Positioning
internal import Spatial
internal import Telemetry

/// The options of `odograph regions push`.
package struct RegionsPushOptions: BrokerOptions {
  @Argument(help: "A GeoJSON, KML, KMZ or WKT file; - is standard input.", completion: .file()) package
    var file: String
  @Flag(help: "Add to the desired regions; a region of the same name is replaced.") package var add = false
  @Option(help: ArgumentHelp("Radius of points without a radius property.", valueName: "metres"))
  package var radius: Double?
  @Option(
    help: ArgumentHelp("Only for this percentage of the vehicles, selected at random.", valueName: "percent"))
  package var share: Double?

  @OptionGroup var change: VehicleChangeOptions

  package init() {}

  package var broker: BrokerArguments { change.broker }
}

/// The options of `odograph regions remove`.
package struct RegionsRemoveOptions: BrokerOptions {
  @Argument(help: "Names of regions.") package var names: [String] = []
  @Flag(help: "Remove all regions.") package var all = false

  @OptionGroup var change: VehicleChangeOptions

  package init() {}

  package var broker: BrokerArguments { change.broker }

  package func validate() throws {
    if names.isEmpty != all {
      throw ValidationError("name the regions to remove, or use --all, but not both")
    }
  }
}

/// The options of `odograph regions diff`.
package struct RegionsDiffOptions: BrokerOptions {
  @OptionGroup(title: "Vehicles") package var vehicles: VehicleArguments
  @Argument(
    help: "A GeoJSON, KML, KMZ or WKT file (default: the desired regions of each vehicle).",
    completion: .file())
  package var file: String?
  @Option(help: ArgumentHelp("Radius of points without a radius property.", valueName: "metres"))
  package var radius: Double?
  @OptionGroup package var beginning: BeginningArguments
  @Flag(help: "Print a JSON line for each difference.") package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// The `odograph regions` commands: show and change the regions that vehicles monitor.
///
/// Desired regions are retained in `regions/desired`, accepted ones in `regions/reported`.
package enum RegionsCommand {
  /// Prints the monitored and the desired regions of vehicles.
  /// - Throws: `FleetError` for invalid options, and for a broker that is unreachable or rejects a request.
  package static func list(
    _ options: VehicleQueryOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let targets = options.targets
    let (exchange, retained) = try read(options.broker, targets, options.beginning, reader)
    exchange.close()
    if targets.isEmptySelection(retained) {
      StandardError.report(
        "no vehicle has regions: the broker has no retained regions, or delivers them for exact topics only; "
          + "name --fleet and --vehicle to read exact topics, or begin from a recording with --recording")
      return .done
    }
    let kept = try documents(retained, targets)
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
  package static func diff(
    _ options: RegionsDiffOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    // Files are read before any request is sent.
    let file: RegionDocument? =
      if let path = options.file {
        try RegionFile.read(path, radius: options.radius, hasRadiusOption: true)
      } else { nil }
    let targets = options.vehicles.targets(options.broker)
    let (exchange, retained) = try read(options.broker, targets, options.beginning, reader)
    exchange.close()
    let kept = try documents(retained, targets)
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
  package static func push(
    _ options: RegionsPushOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let targets = try options.change.targets(share: options.share)
    let file = try RegionFile.read(options.file, radius: options.radius, hasRadiusOption: true)
    for reason in file.skipped { StandardError.report("skipped: \(reason)") }
    for name in file.replaced {
      StandardError.report("region \"\(name)\" occurs twice: the last one is used")
    }
    let (exchange, retained) = try read(
      options.change.broker, targets, options.change.beginning, reader)
    defer { exchange.close() }
    let kept = try documents(retained, targets)
    var wanted: [VehicleKey: RegionDocument] = [:]
    for key in kept.vehicles {
      var document = options.add ? kept[key].wantedRegions : RegionDocument()
      for feature in file.features {
        document.features.removeAll { $0.identifier == feature.identifier }
        document.features.append(feature)
      }
      wanted[key] = document
    }
    return try send(
      wanted, to: kept.vehicles, root: targets.root, options.change, exchange, retained: retained)
  }

  /// Removes desired regions, and waits until the vehicles have reported.
  /// - Throws: `FleetError` for regions that no vehicle has, and for a broker that is unreachable or rejects
  ///   a request.
  package static func remove(
    _ options: RegionsRemoveOptions, beginning reader: BeginningReader
  ) throws(FleetError) -> ExitStatus {
    let targets = try options.change.targets()
    let (exchange, retained) = try read(
      options.change.broker, targets, options.change.beginning, reader)
    defer { exchange.close() }
    let kept = try documents(retained, targets)
    let names = options.names
    let removal = try RegionRemoval(names, from: kept)
    for sentence in removal.notes { StandardError.report(sentence) }
    var wanted: [VehicleKey: RegionDocument] = [:]
    for key in removal.vehicles {
      var document = kept[key].wantedRegions
      document.features.removeAll { names.isEmpty || names.contains($0.identifier) }
      wanted[key] = document
    }
    return try send(
      wanted, to: removal.vehicles, root: targets.root, options.change, exchange, retained: retained)
  }

  private static func read(
    _ broker: BrokerArguments, _ targets: VehicleTargets, _ beginning: BeginningArguments,
    _ reader: BeginningReader
  ) throws(FleetError) -> (FleetExchange, [MQTTMessage]) {
    // The filter for `status` also finds vehicles without regions.
    let paths = ["regions/desired", "regions/reported", "regions/state", "status"]
    return try FleetExchange.reading(broker, targets, paths, beginning: beginning, reader)
  }

  private static func documents(
    _ retained: [MQTTMessage], _ targets: VehicleTargets
  ) throws(FleetError) -> RetainedDocuments {
    RetainedDocuments(
      vehicles: try targets.resolve(retained), subject: "regions", from: retained, root: targets.root)
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
    _ wanted: [VehicleKey: RegionDocument], to vehicles: [VehicleKey], root: String,
    _ options: VehicleChangeOptions, _ exchange: FleetExchange, retained: [MQTTMessage]
  ) throws(FleetError) -> ExitStatus {
    let version = Moment.now.time.rfc3339
    let documents = wanted.mapValues { $0.json(version: version) }
    var requests = VehicleRequests(exchange, vehicles, retained: retained, root: root) { key in
      MQTTMessage(
        topic: key.topic(root: root, "regions/desired"), text: documents[key]?.text ?? "",
        qos: .atLeastOnce, retain: true,
        properties: MQTTMessageProperties(contentType: "application/geo+json"))
    }
    let ending = try requests.wait(timeout: options.timeout) { message in
      guard let address = TopicAddress(topic: message.topic, root: root), address.path == "regions/reported",
        let json = try? JSONValue(parsing: message.payload), let own = wanted[address.key],
        // Reports about other documents are ignored. A report without a version was sent after this request,
        // so it is about this document.
        json["version"]?.string ?? version == version
      else { return nil }
      let report = VehicleDocuments(desired: documents[address.key], reported: json)
      guard !report.reportsFile else { return nil }
      let accepted = Set(report.acceptedRegions ?? [])
      let refusals = own.features.compactMap { feature in
        report.refusal(of: feature.identifier).map { "\(feature.identifier) \($0)" }
      }
      let problems = refusals + [json["problem"]?.string].compactMap { $0 }
      return (
        address.key,
        VehicleOutcome(
          state: "reported", problems: problems, isGood: problems.isEmpty,
          accepted: own.features.count { accepted.contains($0.identifier) })
      )
    }
    try CommandOutput.print(vehicles, asJSON: options.json) { key in
      let outcome = requests.outcomes[key]
      return [
        "wanted": .integer(Int64(wanted[key]?.features.count ?? 0)),
        "accepted": outcome.map { .integer(Int64($0.accepted)) } ?? .null,
        "problems": .array(outcome?.problems.map { .string($0) } ?? []),
        "state": outcome?.state == "refused" ? .string("reported") : requests.state(of: key),
      ]
    } lines: { key in
      [line(key, requests, count: wanted[key]?.features.count ?? 0)]
    }
    return ending ?? requests.status
  }

  private static func line(_ key: VehicleKey, _ requests: VehicleRequests, count: Int) -> StyledText {
    var line = StyledText(key.description, style: .bold)
    guard let outcome = requests.outcomes[key] else {
      line.append(
        "  " + (requests.unsent.contains(key) ? VehicleRequests.unsent : VehicleRequests.unanswered),
        style: TextStyle(.yellow))
      return line
    }
    line.append(
      outcome.state == "sent" ? "  sent, \(count) regions" : "  watches \(outcome.accepted) of \(count)",
      style: TextStyle(outcome.isGood ? .green : .red))
    if let problem = outcome.problem { line.append("  " + problem) }
    return line
  }
}
