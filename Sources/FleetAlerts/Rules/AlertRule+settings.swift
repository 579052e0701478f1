internal import Fleet
internal import FleetProgram
internal import Telemetry
internal import VehicleData

extension AlertRule {
  static let keys = [
    "when", "below", "above", "until", "regions", "events", "causes", "fleets", "vehicles", "states", "for",
    "hold", "severity", "quiet", "group", "receivers",
  ]
  /// The names of the events that vehicles of this version can report.
  package static let eventNames =
    DrivingEventMessage.Kind.known.map(\.name) + MotionState.allCases.map(\.rawValue)
    + [
      "impact", "shake", "orientation", "failed", "recovered", "paused", "resumed", "deferralEnded",
      "suspect", "plausible",
    ]
  private static let causes = ["impact", "command"]

  /// Reads a rule from its table in the configuration.
  /// - Parameters:
  ///   - table: the table.
  ///   - group: the default time in s for which alerts are grouped.
  /// - Throws: `FleetError` for the first invalid or missing key.
  init(_ table: SettingsTable, group: Double) throws(FleetError) {
    let name: String = table.name
    guard !name.isEmpty, name.utf8.count <= 80,
      name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
    else { throw table.wrong("", "the name of a rule must have at most 80 letters, digits, - and _") }
    guard let kind: Kind = try table.word("when") else {
      throw table.wrong(
        "when",
        "it is missing; write when = one of "
          + Kind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
    }
    try Self.check(table, kind)
    self.init(name: name, condition: try Self.condition(table, kind))
    fleets = Set(try table.texts("fleets") ?? [])
    for text in try table.texts("vehicles") ?? [] {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts.contains("") else {
        throw table.wrong("vehicles", "\"\(text.prefix(80))\" is no vehicle; write \"FLEET/VEHICLE\"")
      }
      vehicles.insert(VehicleKey(fleet: parts[0], vehicle: parts[1]))
    }
    let names = try Self.known(table, "states", VehicleState.allCases.map(\.rawValue))
    states = Set(names.compactMap(VehicleState.init(rawValue:)))
    guard kind != .offline || states.isEmpty else {
      throw table.wrong("states", "a rule of offline looks at the state itself; leave it out")
    }
    guard kind != .silent || states.isEmpty else {
      throw table.wrong("states", "a rule of silent applies in every state; leave it out")
    }
    duration = try table.duration("for") ?? 0
    guard kind != .silent || duration > 0 else {
      throw table.wrong("for", "it is missing; for = \"1d\" is a day without a message")
    }
    hold = try table.duration("hold") ?? 0
    severity = try table.word("severity") ?? .warning
    if let text = try table.text("quiet") {
      guard let hours = QuietHours(text) else {
        throw table.wrong("quiet", "must be hours of the day as in \"22:00-06:00\"")
      }
      quiet = hours
    }
    self.group = try Self.group(table) ?? group
    receivers = try table.texts("receivers") ?? []
  }

  /// Returns the time in s for which alerts are grouped: the value of the key `group`, 0 for `"none"`; nil if
  /// the key is missing.
  static func group(_ table: SettingsTable) throws(FleetError) -> Double? {
    if table.has("group"), try table.text("group") == "none" { return 0 }
    guard let seconds = try table.duration("group") else { return nil }
    guard seconds <= 3600 else { throw table.wrong("group", "must be at most an hour, or \"none\"") }
    return seconds
  }

  /// Rejects keys that do not apply to a kind of rule.
  private static func check(_ table: SettingsTable, _ kind: Kind) throws(FleetError) {
    let own: [String] =
      switch kind {
      case .offline: ["for", "hold"]
      case .silent: ["for"]
      case .battery: ["below", "until", "for", "hold"]
      case .speed, .queue, .accuracy: ["above", "until", "for", "hold"]
      case .entered, .left: ["regions", "for", "hold"]
      case .event: ["events"]
      case .trace: ["causes"]
      }
    for key in ["below", "above", "until", "regions", "events", "causes", "for", "hold"]
    where table.has(key) && !own.contains(key) {
      throw table.wrong(
        key, "a rule of \(kind.rawValue) has no such key; it has \(own.joined(separator: ", "))")
    }
  }

  private static func condition(_ table: SettingsTable, _ kind: Kind) throws(FleetError) -> Condition {
    switch kind {
    case .offline: return .offline
    case .silent: return .silent
    case .battery:
      let below = try limit(table, "below", 0...1, "below = 0.2 is 20 %")
      // The default hysteresis is 5 %, because most vehicles report the battery charge in whole per cent, and
      // it fluctuates by a few per cent.
      let until = try table.number("until", in: 0...1) ?? min(1, below + 0.05)
      guard until >= below else { throw table.wrong("until", "must not be less than the value of below") }
      return .battery(below: below, until: until)
    case .entered: return .entered(try table.texts("regions") ?? [])
    case .left: return .left(try table.texts("regions") ?? [])
    case .event: return .event(try known(table, "events", eventNames))
    case .trace: return .trace(try known(table, "causes", causes))
    // The default hysteresis absorbs the receiver's noise: a speed alert ends a tenth below its limit, an
    // accuracy alert a fifth below.
    case .speed:
      guard let above = try table.speed("above", in: 0...1000) else {
        throw table.wrong("above", "required, as in above = \"130 km/h\"")
      }
      return .speed(
        above: above, until: try end(table, above, default: 0.9, try table.speed("until", in: 0...1000)))
    case .queue:
      let (above, until) = try limits(table, 0...1e9, "above = 1000 means 1000 messages", share: 0.5)
      return .queue(above: above, until: until)
    case .accuracy:
      let (above, until) = try limits(table, 0...1e6, "above = 100 means 100 metres", share: 0.8)
      return .accuracy(above: above, until: until)
    }
  }

  private static func limit(
    _ table: SettingsTable, _ key: String, _ range: ClosedRange<Double>, _ example: String
  ) throws(FleetError) -> Double {
    guard let value = try table.number(key, in: range) else {
      throw table.wrong(key, "it is missing; \(example)")
    }
    return value
  }

  private static func limits(
    _ table: SettingsTable, _ range: ClosedRange<Double>, _ example: String, share: Double
  ) throws(FleetError) -> (Double, Double) {
    let above = try limit(table, "above", range, example)
    return (above, try end(table, above, default: share, try table.number("until", in: range)))
  }

  /// Returns the value at which an alert ends: the configured one, or else a share of the limit.
  private static func end(
    _ table: SettingsTable, _ above: Double, default share: Double, _ given: Double?
  ) throws(FleetError) -> Double {
    let until = given ?? above * share
    guard until <= above else { throw table.wrong("until", "must not exceed the value of above") }
    return until
  }

  private static func known(
    _ table: SettingsTable, _ key: String, _ names: [String]
  ) throws(FleetError) -> [String] {
    let texts = try table.texts(key) ?? []
    if let text = texts.first(where: { !names.contains($0) }) {
      throw table.unknown(text, of: key, among: names)
    }
    return texts
  }
}
