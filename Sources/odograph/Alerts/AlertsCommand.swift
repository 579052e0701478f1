internal import Bytes
internal import Fleet
internal import FleetAlerts
internal import FleetCommand
internal import FleetProgram
internal import FleetWeb
internal import JSON
internal import Spatial
internal import Telemetry

/// The `odograph alerts` commands: list alerts, check the configuration, test receivers, silence alerts,
/// retry messages, and end alerts manually.
enum AlertsCommand {
  static func list(_ options: Alerts.List) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    let selected = try parts(of: options.vehicles)
    try check(rule: options.rule, settings)
    let store = try AlertAdministration(path: settings.store)
    let now = Moment.now.time
    let alerts = try store.alerts(isAll: options.all)
    let silences = try store.silences(at: now)
    let sentences = try store.backlogs().flatMap(sentences(about:)) + silences.map(sentence(of:))
    var text = ""
    for alert in alerts
    where (options.rule == nil || alert.rule == options.rule)
      && selected.contains(where: { $0.contains(alert.vehicle) })
    {
      let silenced = silences.filter { $0.covers(rule: alert.rule, alert.vehicle) }.map(\.until).max()
      text += options.json ? json(alert, silenced, store.epoch) : line(alert, silenced, store.epoch)
    }
    try CommandOutput.print(text)
    for sentence in sentences { StandardError.report(StyledText(sentence).plain) }
    return .done
  }

  static func check(_ options: Alerts.Check) throws(FleetError) -> ExitStatus {
    try ServeConfiguration.check(options.file.config)
    let lines = try options.file.settings().summary(at: Moment.now.time)
    try CommandOutput.print(lines.map { StyledText($0) }, styles: false)
    return .done
  }

  static func test(_ options: Alerts.Test) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    var receivers = settings.receivers
    if let name = options.receiver {
      receivers = receivers.filter { $0.name == name }
      guard !receivers.isEmpty else { throw unknown("receiver", name, settings.receivers.map(\.name)) }
    }
    guard !receivers.isEmpty else {
      throw .usage("test", options.file.config, "it has no receiver; add [webhooks.NAME] or [mail.NAME]")
    }
    // All receivers are tested on this thread, one after the other.
    let waiter = try CommandWaiter()
    var status = ExitStatus.done
    for receiver in receivers {
      let outcome = receiver.test(at: Moment.now.time) { waiter.newSignal(within: 0) == nil }
      switch outcome {
      case .accepted(let answer): try printLine("\(receiver.name): \(answer)")
      case .failed(let reason):
        try printLine("\(receiver.name): failed: \(reason)")
        status = .unavailable
      case .interrupted: return .interrupted
      }
    }
    return status
  }

  static func silence(_ options: Alerts.Silence) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    try check(rule: options.rule, settings)
    let selected = try parts(of: options.vehicles)
    guard options.end == (options.duration == nil) else {
      throw .usage(
        "silence", "alerts", options.end ? "--for cannot be combined with --end" : "set a duration: --for 2h")
    }
    let store = try AlertAdministration(path: settings.store)
    guard let duration = options.duration else {
      var count = 0
      for part in selected {
        count += try store.endSilences(rule: options.rule, fleet: part.fleet, vehicle: part.vehicle)
      }
      try printLine("\(count) \(count == 1 ? "silence" : "silences") ended")
      return .done
    }
    let until = Moment.now.time.advanced(bySeconds: try DurationText.seconds(parsing: duration, of: "--for"))
    for part in selected {
      let silence = Silence(rule: options.rule, fleet: part.fleet, vehicle: part.vehicle, until: until)
      try store.add(silence)
      try printLine(sentence(of: silence))
    }
    return .done
  }

  static func retry(_ options: Alerts.Retry) throws(FleetError) -> ExitStatus {
    let store = try AlertAdministration(path: options.file.settings().store)
    let count = try store.retryGivenUp(at: Moment.now.time)
    try printLine("\(count) \(count == 1 ? "message is" : "messages are") sent again")
    return .done
  }

  static func end(_ options: Alerts.End) throws(FleetError) -> ExitStatus {
    let store = try AlertAdministration(path: options.file.settings().store)
    for alert in try store.end(options.alerts) {
      try printLine(
        "\(AlertText.identifier(alert.number, epoch: store.epoch)) ends: \(AlertText.line(.init(alert, .began)))"
      )
    }
    StandardError.report("odograph serve ends them within about a second, or at its next start")
    return .done
  }

  // MARK: Texts

  private static func json(_ alert: Alert, _ silenced: UTCTime?, _ epoch: String) -> String {
    let bytes = JSONWriter.object { AlertText.write(alert, epoch: epoch, silenced: silenced, to: &$0) }
    return String(decoding: bytes, as: UTF8.self) + "\n"
  }

  private static func line(_ alert: Alert, _ silenced: UTCTime?, _ epoch: String) -> String {
    let identifier = AlertText.identifier(alert.number, epoch: epoch)
    var parts = [
      identifier, alert.began.rfc3339, alert.severity.rawValue, alert.rule, "\(alert.vehicle)", alert.summary,
    ]
    if let ended = alert.ended {
      parts.append("ended \(ended.rfc3339)" + (alert.reason.map { ": \($0.words)" } ?? ""))
    }
    if let silenced { parts.append("silenced until \(silenced.rfc3339)") }
    return StyledText(parts.joined(separator: "  ")).plain + "\n"
  }

  private static func sentences(about backlog: AlertAdministration.Backlog) -> [String] {
    let failure = backlog.failure.map { ": \($0)" } ?? ""
    var sentences: [String] = []
    if backlog.waiting > 0 {
      sentences.append("\(backlog.waiting) messages wait for \(backlog.receiver)\(failure)")
    }
    if backlog.givenUp > 0 {
      sentences.append(
        "\(backlog.givenUp) messages to \(backlog.receiver) were given up\(failure); odograph alerts retry sends them again"
      )
    }
    return sentences
  }

  /// Returns a sentence with the end, the rules and the vehicles of a silence.
  private static func sentence(of silence: Silence) -> String {
    let vehicles =
      switch (silence.fleet, silence.vehicle) {
      case (let fleet?, let vehicle?): "vehicle \(fleet)/\(vehicle)"
      case (let fleet?, nil): "all vehicles of fleet \(fleet)"
      case (nil, let vehicle?): "vehicles named \(vehicle)"
      case (nil, nil): "all vehicles"
      }
    let rules = silence.rule.map { "rule \($0)" } ?? "all rules"
    return "silenced until \(silence.until.rfc3339): \(rules), \(vehicles)"
  }

  private static func printLine(_ text: String) throws(FleetError) {
    try CommandOutput.print(StyledText(text).plain + "\n")
  }

  // MARK: Arguments

  /// A vehicle, a vehicle's name in all fleets, a fleet, or all vehicles.
  private struct Part {
    var fleet: String?
    var vehicle: String?

    func contains(_ key: VehicleKey) -> Bool {
      (fleet == nil || fleet == key.fleet) && (vehicle == nil || vehicle == key.vehicle)
    }
  }

  /// Returns the selected vehicles.
  /// - Throws: `FleetError` for an empty name, and for a vehicle of a fleet that is not selected.
  private static func parts(of arguments: VehicleArguments) throws(FleetError) -> [Part] {
    let fleets: [String?] = arguments.fleet.isEmpty ? [nil] : arguments.fleet
    guard !arguments.fleet.contains("") else { throw .usage("use", "--fleet \"\"", "the name is empty") }
    guard !arguments.vehicle.isEmpty else { return fleets.map { Part(fleet: $0) } }
    var parts: [Part] = []
    for text in arguments.vehicle {
      let names = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard names.count <= 2, !names.contains("") else {
        throw .usage("use", "--vehicle \"\(text.prefix(80))\"", "write VEHICLE, or FLEET/VEHICLE")
      }
      guard names.count == 2 else {
        parts += fleets.map { Part(fleet: $0, vehicle: text) }
        continue
      }
      guard arguments.fleet.isEmpty || arguments.fleet.contains(names[0]) else {
        throw .usage(
          "use", "--vehicle \"\(text.prefix(80))\"", "--fleet selects other fleets; use one of the two")
      }
      parts.append(Part(fleet: names[0], vehicle: names[1]))
    }
    return parts
  }

  private static func check(rule: String?, _ settings: AlertSettings) throws(FleetError) {
    guard let rule, !settings.rules.contains(where: { $0.name == rule }) else { return }
    throw unknown("rule", rule, settings.rules.map(\.name))
  }

  private static func unknown(_ what: String, _ name: String, _ known: [String]) -> FleetError {
    let hint = Spelling.nearest(to: name, among: known).map { "did you mean \($0)?" }
    return .usage(
      "find \(what)", "\"\(name.prefix(80))\"",
      hint ?? (known.isEmpty ? "the configuration has none" : "available: \(known.joined(separator: ", "))"))
  }
}
