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
      throw FleetError(
        operation: "wait", object: "\(options.timeout) s", cause: "--timeout is 0 to 86400 seconds",
        exit: .usage)
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
