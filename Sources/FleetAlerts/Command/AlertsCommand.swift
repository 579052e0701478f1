internal import Bytes
package import Fleet
package import FleetCommand
internal import Glibc
internal import JSON
internal import Platform
internal import SQLite
internal import Spatial
internal import Telemetry
internal import Transfers

/// The `odograph alerts` commands: list alerts, check the configuration, test receivers, silence alerts,
/// retry messages, and end alerts manually.
package enum AlertsCommand {
  // MARK: list

  package static func list(_ options: AlertsListOptions) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    let vehicle = try options.vehicle.map { text throws(FleetError) in try vehicleKey(text) }
    try check(rule: options.rule, settings)
    let store = try opened(settings)
    let alerts: [Alert]
    let silences: [Silence]
    var sentences: [String]
    do throws(SQLiteError) {
      let condition = options.all ? "1 = 1" : "ended IS NULL"
      alerts = try store.alerts(where: condition + " ORDER BY number").map(\.alert)
      silences = try store.silences()
      sentences = try problems(store)
    } catch {
      throw AlertStore.failure(error, settings.store)
    }
    let now = Moment.now.time
    sentences += silences.filter { $0.until > now }.map(sentence(of:))
    var text = ""
    for alert in alerts
    where (options.rule == nil || alert.rule == options.rule) && (vehicle == nil || alert.vehicle == vehicle)
    {
      let silenced = silences.filter { $0.until > now && $0.covers(rule: alert.rule, alert.vehicle) }
        .map(\.until).max()
      text += options.json ? json(alert, silenced, store.epoch) : line(alert, silenced, store.epoch)
    }
    try CommandOutput.print(text)
    for sentence in sentences { StandardError.report(StyledText(sentence).plain) }
    return .done
  }

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

  /// Returns sentences about messages that wait for receivers, and about messages that were given up.
  private static func problems(_ store: borrowing AlertStore) throws(SQLiteError) -> [String] {
    var statement = try store.database.prepare(
      """
      SELECT receiver, sum(gone = 0), sum(gone), max(failure) FROM messages GROUP BY receiver ORDER BY receiver
      """, isPersistent: false)
    var sentences: [String] = []
    while try statement.step() {
      let failure = statement.text(3).map { ": \($0)" } ?? ""
      let name = statement.text(0) ?? ""
      if statement.int64(1) > 0 {
        sentences.append("\(statement.int64(1)) messages wait for \(name)\(failure)")
      }
      if statement.int64(2) > 0 {
        sentences.append(
          "\(statement.int64(2)) messages to \(name) were given up\(failure); odograph alerts retry sends them again"
        )
      }
    }
    return sentences
  }

  // MARK: check

  package static func check(_ options: AlertsCheckOptions) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    var text = "store  \(settings.store)\n"
    let offset = settings.zone.offset(at: Moment.now.time)
    let minutes = abs(offset) / 60
    text += "zone  \(offset < 0 ? "-" : "+")\(two(minutes / 60)):\(two(minutes % 60)) now\n"
    for rule in settings.rules {
      var parts = ["rule", rule.name, rule.condition.kind.rawValue, rule.severity.rawValue]
      parts += [rule.condition.limits].compactMap(\.self)
      if rule.duration > 0 { parts.append("for \(seconds(rule.duration))") }
      if let quiet = rule.quiet { parts.append("quiet \(quiet)") }
      parts.append(rule.group > 0 ? "grouped in \(seconds(rule.group))" : "not grouped")
      let names = settings.receivers(of: rule).map(\.name)
      parts.append(names.isEmpty ? "to no receiver" : "to \(names.joined(separator: ", "))")
      text += StyledText(parts.joined(separator: "  ")).plain + "\n"
    }
    for receiver in settings.receivers {
      switch receiver.way {
      case .webhook(let hook):
        text += "webhook  \(receiver.name)  \(hook.url)  \(hook.secret == nil ? "not signed" : "signed")\n"
      case .mail(let mail):
        text += "mail  \(receiver.name)  \(mail.server.url)  \(mail.recipients.joined(separator: ", "))\n"
      }
    }
    try CommandOutput.print(text)
    return .done
  }

  private static func two(_ number: Int) -> String { (number < 10 ? "0" : "") + "\(number)" }

  private static func seconds(_ value: Double) -> String {
    value == value.rounded() ? "\(Int(value)) s" : "\(value) s"
  }

  // MARK: test

  package static func test(_ options: AlertsTestOptions) throws(FleetError) -> ExitStatus {
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
      let now = Moment.now.time
      let key = "test-" + String(UInt64.random(in: 0 ... .max), radix: 16)
      let text = AlertText.test(key, at: now)
      let isMail = if case .mail = receiver.way { true } else { false }
      let message = AlertMessage(
        number: 0, receiver: receiver.name, key: key, created: now, subject: text.subject,
        body: isMail ? text.letter : text.json, vehicles: [])
      let isEnding = { waiter.newSignal(within: 0) != nil }
      let outcome =
        ReceiverClient(receiver, shouldContinue: { !isEnding() })?.deliver(message, attempt: 1, at: now)
        ?? .failed("libcurl cannot be used", after: nil)
      switch outcome {
      case .taken(let how): try CommandOutput.print("\(receiver.name): \(how)\n")
      case .failed(let why, _, _):
        try CommandOutput.print(StyledText("\(receiver.name): failed: \(why)").plain + "\n")
        status = .unavailable
      case .left: return .interrupted
      }
    }
    return status
  }

  // MARK: silence, retry

  package static func silence(_ options: AlertsSilenceOptions) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    try check(rule: options.rule, settings)
    let parts = options.vehicle?.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.map({ $0.count <= 2 && !$0.contains("") }) ?? true else {
      throw .usage("silence", "\"\(options.vehicle ?? "")\"", "write FLEET, or FLEET/VEHICLE")
    }
    let (fleet, vehicle) = (parts?.first, parts?.count == 2 ? parts?.last : nil)
    guard options.end == (options.duration == nil) else {
      throw .usage(
        "silence", "alerts", options.end ? "--for cannot be combined with --end" : "set a duration: --for 2h")
    }
    let store = try opened(settings)
    if options.end {
      let count: Int
      do throws(SQLiteError) {
        count = try store.endSilences(rule: options.rule, fleet: fleet, vehicle: vehicle)
      } catch { throw AlertStore.failure(error, settings.store) }
      try printLine("\(count) silences ended")
      return .done
    }
    let until = Moment.now.time.advanced(bySeconds: try length(options.duration ?? ""))
    let silence = Silence(rule: options.rule, fleet: fleet, vehicle: vehicle, until: until)
    do throws(SQLiteError) { try store.add(silence) } catch {
      throw AlertStore.failure(error, settings.store)
    }
    try printLine(sentence(of: silence))
    return .done
  }

  /// Returns a sentence with the end, the rules and the vehicles of a silence.
  private static func sentence(of silence: Silence) -> String {
    let vehicles =
      switch (silence.fleet, silence.vehicle) {
      case (let fleet?, let vehicle?): "vehicle \(fleet)/\(vehicle)"
      case (let fleet?, nil): "all vehicles of fleet \(fleet)"
      case (nil, _): "all vehicles"
      }
    let rules = silence.rule.map { "rule \($0)" } ?? "all rules"
    return "silenced until \(silence.until.rfc3339): \(rules), \(vehicles)"
  }

  package static func retry(_ options: AlertsRetryOptions) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    let store = try opened(settings)
    let count: Int
    do throws(SQLiteError) { count = try store.retryGone(at: Moment.now.time) } catch {
      throw AlertStore.failure(error, settings.store)
    }
    try CommandOutput.print("\(count) messages are sent again\n")
    return .done
  }

  // MARK: end

  package static func end(_ options: AlertsEndOptions) throws(FleetError) -> ExitStatus {
    let settings = try options.file.settings()
    let store = try opened(settings)
    let open: [Int64: Alert]
    do throws(SQLiteError) {
      open = Dictionary(try store.alerts(where: "ended IS NULL").map { ($0.alert.number, $0.alert) }) { $1 }
    } catch {
      throw AlertStore.failure(error, settings.store)
    }
    var ending: [Alert] = []
    for text in options.alerts {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == store.epoch, let alert = Int64(parts[1]).flatMap({ open[$0] })
      else {
        throw .usage(
          "end", "alert \"\(text.prefix(80))\"",
          "no open alert has this name; odograph alerts list shows the names")
      }
      ending.append(alert)
    }
    do throws(SQLiteError) { try store.requestEnds(ending.map(\.number)) } catch {
      throw AlertStore.failure(error, settings.store)
    }
    for alert in ending {
      try printLine(
        "\(AlertText.identifier(alert.number, epoch: store.epoch)) ends: \(AlertText.line(.init(alert, .began)))"
      )
    }
    StandardError.report("odograph serve ends them within about a second, or at its next start")
    return .done
  }

  // MARK: Arguments

  /// Opens the store that a server has created. A missing store is an error, because no server would use a
  /// new one.
  private static func opened(_ settings: AlertSettings) throws(FleetError) -> AlertStore {
    guard unsafe access(settings.store, F_OK) == 0 else {
      throw .usage(
        "find the alerts in", settings.store,
        "\(SystemError.message(for: errno)); odograph serve creates it; name the file that the server uses with --store"
      )
    }
    return try AlertStore(path: settings.store, isReader: true)
  }

  private static func printLine(_ text: String) throws(FleetError) {
    try CommandOutput.print(StyledText(text).plain + "\n")
  }

  private static func length(_ text: String) throws(FleetError) -> Double {
    try DurationText.seconds(parsing: text, of: "--for")
  }

  private static func vehicleKey(_ text: String) throws(FleetError) -> VehicleKey {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts.contains("") else {
      throw .usage("list", "vehicle \"\(text.prefix(80))\"", "write FLEET/VEHICLE")
    }
    return VehicleKey(fleet: parts[0], vehicle: parts[1])
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
