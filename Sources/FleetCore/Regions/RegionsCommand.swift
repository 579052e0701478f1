internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// What `odograph regions` is asked for.
public struct RegionsOptions: Sendable {
  public enum Action: Hashable, Sendable {
    /// What the vehicles watch.
    case list
    /// Wants the regions of a file watched; those wanted before stay when `adding`.
    case push(file: String, adding: Bool)
    /// Wants regions no more; none named means all.
    case remove([String])
    /// Where what is wanted, or in a file, is not what vehicles report.
    case diff(file: String?)
  }

  public var broker = BrokerOptions()
  public var action: Action
  public var targets: VehicleTargets
  /// Metres, for points in a file that have none.
  public var radius: Double?
  /// Seconds that the vehicles have to report, 0 ... 86,400; 0 does not wait.
  public var timeout = 60.0
  public var json = false
  public var usesColor = true

  public init(_ action: Action, targets: VehicleTargets) {
    self.action = action
    self.targets = targets
  }
}

/// Shows and changes what vehicles watch.
///
/// What is wanted stands retained in `regions/desired`, what was accepted in `regions/reported`.
public enum RegionsCommand {
  /// What the broker keeps of one vehicle.
  struct Kept: Sendable {
    var desired: JSONValue?
    var reported: JSONValue?
  }

  /// - Throws: `FleetError` for options and files that make no sense, and a broker that cannot be reached or refuses.
  public static func run(_ options: RegionsOptions) throws(FleetError) -> ExitStatus {
    guard (0...86_400).contains(options.timeout) else {
      throw FleetError(
        operation: "wait", object: "\(options.timeout) s", cause: "--timeout is 0 to 86400 seconds",
        exit: .usage)
    }
    // Files are read before anybody is asked anything.
    var file: RegionDocument?
    switch options.action {
    case .push(let path, _): file = try RegionFile.read(path, radius: options.radius)
    case .diff(let path?): file = try RegionFile.read(path, radius: options.radius)
    default: break
    }
    var paths = ["regions/desired", "regions/reported"]
    let isChange =
      switch options.action {
      case .push, .remove: true
      case .list, .diff: false
      }
    if isChange, options.targets.named == nil { paths.append("status") }
    let exchange = try FleetExchange(options.broker, filters: try options.targets.filters(paths))
    try exchange.open()
    defer { exchange.close() }
    let messages = try exchange.retained()
    let vehicles = try options.targets.resolve(messages)
    let kept = collect(messages, root: options.targets.root)
    switch options.action {
    case .list: return try list(vehicles, kept, options)
    case .diff: return try diff(vehicles, kept, file, options)
    case .push(_, let adding):
      return try push(vehicles, options, exchange) { key in
        var document = adding ? RegionDocument(kept: kept[key]?.desired) : RegionDocument()
        for feature in file?.features ?? [] {
          document.features.removeAll { $0.identifier == feature.identifier }
          document.features.append(feature)
        }
        return document
      }
    case .remove(let names):
      return try push(vehicles, options, exchange) { key in
        var document = RegionDocument(kept: kept[key]?.desired)
        document.features.removeAll { names.isEmpty || names.contains($0.identifier) }
        return document
      }
    }
  }

  private static func collect(_ messages: [MQTTMessage], root: String) -> [VehicleKey: Kept] {
    var kept: [VehicleKey: Kept] = [:]
    for message in messages {
      guard let address = TopicAddress(topic: message.topic, root: root) else { continue }
      let json = try? JSONValue(parsing: message.payload)
      let key = VehicleKey(fleet: address.fleet, vehicle: address.vehicle)
      switch address.path {
      case "regions/desired": kept[key, default: Kept()].desired = json
      case "regions/reported": kept[key, default: Kept()].reported = json
      default: break
      }
    }
    return kept
  }

  private static func list(
    _ vehicles: [VehicleKey], _ kept: [VehicleKey: Kept], _ options: RegionsOptions
  ) throws(FleetError) -> ExitStatus {
    var lines: [StyledText] = []
    var text = ""
    for key in vehicles {
      let own = kept[key] ?? Kept()
      if options.json {
        var members: [String: JSONValue] = ["fleet": .string(key.fleet), "vehicle": .string(key.vehicle)]
        members["desired"] = own.desired
        members["reported"] = own.reported
        text += JSONValue.object(members).text + "\n"
        continue
      }
      lines.append(StyledText(key.description, style: .bold))
      let (reported, desired) = (RegionDocument(kept: own.reported), RegionDocument(kept: own.desired))
      for feature in reported.features { lines.append(line(feature, note: nil)) }
      for feature in desired.features where reported[feature.identifier] == nil {
        lines.append(
          line(feature, note: refusal(of: feature.identifier, in: own.reported) ?? "wanted, not reported"))
      }
      if reported.features.isEmpty, desired.features.isEmpty {
        lines.append(StyledText("  none", style: .dim))
      }
    }
    if options.json {
      try CommandOutput.print(text)
    } else {
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles(options.usesColor))
    }
    return .done
  }

  private static func line(_ feature: RegionDocument.Feature, note: String?) -> StyledText {
    var line = StyledText("  ")
    line.append(StyledText(feature.identifier).fitted(to: 24))
    line.append("  \(feature.summary)", style: .dim)
    if let note { line.append("  \(note)", style: TextStyle(.yellow)) }
    return line
  }

  /// Why a vehicle did not take a region; nil when it does not say.
  static func refusal(of identifier: String, in reported: JSONValue?) -> String? {
    for refusal in reported?["refused"]?.array ?? [] {
      let name = refusal["id"]?.string ?? refusal["identifier"]?.string ?? refusal["key"]?.string
      if name == identifier {
        return "refused: \(refusal["reason"]?.string ?? refusal["problem"]?.string ?? "")"
      }
    }
    return nil
  }

  private static func diff(
    _ vehicles: [VehicleKey], _ kept: [VehicleKey: Kept], _ file: RegionDocument?, _ options: RegionsOptions
  ) throws(FleetError) -> ExitStatus {
    var lines: [StyledText] = []
    var text = ""
    for key in vehicles {
      let own = kept[key] ?? Kept()
      let differences = RegionDifference.between(
        wanted: file ?? RegionDocument(kept: own.desired), reported: RegionDocument(kept: own.reported))
      if differences.isEmpty { continue }
      lines.append(StyledText(key.description, style: .bold))
      for difference in differences {
        var line = StyledText(
          "  \(difference.sign) ", style: TextStyle(difference.kind == .extra ? .red : .green))
        line.append(StyledText(difference.identifier).fitted(to: 24))
        line.append(
          "  " + (refusal(of: difference.identifier, in: own.reported) ?? difference.text), style: .dim)
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
      try CommandOutput.print(lines, styles: CommandOutput.usesStyles(options.usesColor))
    }
    return isSame ? .done : .differs
  }
}
