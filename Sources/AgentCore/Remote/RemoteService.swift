internal import Glibc
internal import Logging
internal import Platform
internal import Positioning
internal import Spatial
internal import Telemetry

/// Remote management on the pipeline's thread: brings what has come to those who decide, and does what they decide.
final class RemoteService {
  /// What it is made of.
  struct Plan: Sendable {
    var manager: RemoteManager
    var regions: RemoteRegions?
    var folder: RemoteFolder
    var inbox: RemoteInbox
    var link: any RemoteLink
    var statusRequested: Flag
    var log: Logger
  }

  let plan: Plan
  var manager: RemoteManager
  var commands = PendingCommands()
  private var history: HistoryBox?
  private var hasBegun = false
  /// What was set remotely is watched instead of the configuration's regions; nil when nothing was.
  var regions: RemoteRegions?
  private var lastNoted: Timestamp?
  /// Seconds for which a location is to be looked for.
  private var wantsLocation: Double?
  /// To those who wait for one, until the end of a turn.
  private var answers: [VehicleMessage] = []

  /// More fixes than this are not sent at once; the answer says from where to ask on.
  static let trackLimit = 20_000
  static let fixesPerMessage = 1000

  init(_ plan: Plan) {
    self.plan = plan
    manager = plan.manager
    regions = plan.regions
    guard manager.active.remote.historyLimit > 0 else { return }
    do {
      history = HistoryBox(
        try FixHistory(path: plan.folder.historyPath, limit: manager.active.remote.historyLimit))
    } catch {
      plan.log.warning(.historyMissing, "no history of fixes", metadata: ["reason": "\(error)"])
    }
  }

  /// When `turn` has something to do, if nothing comes before: ns on the monotonic clock.
  var deadline: Int64? {
    let times = [manager.nextDeadline, commands.nextDeadline].compactMap { $0 }
    return times.min().map { SystemClock.monotonic &+ max(0, $0.nanoseconds &- Self.now.nanoseconds) }
  }

  /// Does what has come and what is due.
  /// - Returns: whether the pipeline goes on under another configuration, and may want other things of its sensors.
  func turn(_ pipeline: inout AgentPipeline, _ messages: inout [VehicleMessage]) -> Bool {
    var isReconfigured = false
    var decisions = hasBegun ? [] : manager.begin()
    hasBegun = true
    for item in plan.inbox.take() {
      switch item {
      case .connection(let isConnected, let problem):
        decisions += manager.connectionChanged(isConnected: isConnected, problem: problem, at: Self.now)
      case .request(let request): decisions += take(request, &pipeline, &messages)
      case .reload: decisions += reload(answering: nil)
      }
    }
    decisions += manager.advance(to: Self.now)
    if let timeLimit = wantsLocation {
      pipeline.requestLocation(timeLimit: timeLimit, at: Self.now)
      wantsLocation = nil
    }
    for decision in decisions { isReconfigured = carryOut(decision, &pipeline, &messages) || isReconfigured }
    answerPending(pipeline)
    messages += answers
    answers.removeAll()
    return isReconfigured
  }

  /// Learns where the pipeline stands after an event. Only what the pipeline would tell is remembered here.
  func note(_ pipeline: AgentPipeline) {
    guard let known = pipeline.lastKnown, known.location.timestamp != lastNoted else { return }
    lastNoted = known.location.timestamp
    commands.note(known)
    history?.record(
      TrackMessage.Fix(
        time: known.time, coordinate: known.location.coordinate,
        horizontalAccuracy: known.location.horizontalAccuracy),
      log: plan.log)
  }

  /// Writes what is not on disk yet.
  func close() { history?.flush(log: plan.log) }

  static var now: Timestamp { Timestamp(nanoseconds: SystemClock.boottime) }
  static var time: UTCTime { UTCTime(nanoseconds: SystemClock.realtime) }

  // MARK: Decisions

  private func carryOut(
    _ decision: RemoteManager.Decision, _ pipeline: inout AgentPipeline, _ messages: inout [VehicleMessage]
  ) -> Bool {
    switch decision {
    case .remember(let memory): keep(memory)
    case .apply(let configuration):
      let isNewConnection = pipeline.configuration.mqtt != configuration.mqtt
      pipeline.reconfigure(configuration, at: Self.now) { messages.append($0) }
      if isNewConnection { plan.link.reconnect(configuration.mqtt) }
      return true
    case .report(let report):
      plan.log.notice(
        .remoteSettings, "remote settings \(report.state)",
        metadata: [
          "version": "\(report.version ?? "-")",
          "keys": "\(report.settings.keys.sorted().joined(separator: " "))",
          "problem": "\(report.problem ?? report.refused.first.map { "\($0.key): \($0.reason)" } ?? "-")",
        ])
      messages.append(.configReported(message(report)))
    }
    return false
  }

  func keep(_ memory: RemoteMemory) {
    do {
      try plan.folder.save(memory)
    } catch {
      plan.log.warning(
        .remoteNotKept, "what is set remotely will be lost with a restart", metadata: ["reason": "\(error)"])
    }
  }

  private func message(_ report: RemoteManager.Report) -> ConfigReportedMessage {
    ConfigReportedMessage(
      time: Self.time, state: ConfigReportedMessage.State(rawValue: report.state.rawValue) ?? .refused,
      version: report.version, problem: report.problem, accepted: report.accepted,
      refused: report.refused.map { ConfigReportedMessage.Refusal(key: $0.key, reason: $0.reason) },
      settings: report.settings.mapValues(\.json), changeable: manager.active.remote.keys.sorted())
  }

  // MARK: Requests

  private func take(
    _ request: RemoteRequest, _ pipeline: inout AgentPipeline, _ messages: inout [VehicleMessage]
  ) -> [RemoteManager.Decision] {
    switch request.subject {
    case .configuration:
      return manager.desired(request.payload, isRetained: request.isRetained, at: Self.now)
    case .regions:
      takeRegions(request, &pipeline, &messages)
      return []
    case .command(let name):
      // A command that the broker kept is one that somebody gave long ago.
      return request.isRetained ? [] : take(name, request, &pipeline, &messages)
    case .ownTracks: return request.isRetained ? [] : takeOwnTracks(request, &pipeline, &messages)
    }
  }

  private func take(
    _ name: String, _ request: RemoteRequest, _ pipeline: inout AgentPipeline,
    _ messages: inout [VehicleMessage]
  ) -> [RemoteManager.Decision] {
    var sender = PendingCommands.Sender(command: name, request: request)
    do throws(JSONError) {
      let arguments = try RemoteCommand.arguments(request.payload)
      sender.id = arguments["id"]?.string.map { String($0.prefix(128)) }
      switch try RemoteCommand(name: name, arguments: arguments) {
      case .locate(let timeout):
        commands.locate(sender, until: Self.now.advanced(bySeconds: timeout))
        wantsLocation = timeout
      case .status: requestStatus(sender, after: pipeline.statusCount)
      case .reload: return reload(answering: sender)
      case .track(let from, let to): sendTrack(from, to, sender, &messages)
      case .resetRegions: resetRegions(sender, &pipeline)
      }
    } catch { answer(sender, .refused, error.description) }
    return []
  }

  private func requestStatus(_ sender: PendingCommands.Sender, after count: Int) {
    commands.awaitStatus(sender, after: count)
    plan.statusRequested.raise()
    // So that the loop does not wait before it hands the message over, and looks here again after it.
    plan.inbox.wakeUp()
  }

  private func reload(answering sender: PendingCommands.Sender?) -> [RemoteManager.Decision] {
    do throws(ConfigurationError) {
      let outcome = try manager.reload(manager.layers.withFileReadAgain())
      plan.log.notice(
        .configurationReload, "configuration read again",
        metadata: [
          "applied": "\(outcome.changed.joined(separator: " "))",
          "needs_restart": "\(outcome.needsRestart.joined(separator: " "))",
        ])
      if let sender {
        answer(
          sender, .done,
          result: .object([
            "changed": .array(outcome.changed.map(JSONValue.string)),
            "needsRestart": .array(outcome.needsRestart.map(JSONValue.string)),
          ]))
      }
      return outcome.decisions
    } catch {
      plan.log.warning(
        .configurationNotReloaded, "configuration not read again", metadata: ["reason": "\(error)"])
      if let sender { answer(sender, .failed, error.description) }
      return []
    }
  }

  private func sendTrack(
    _ from: UTCTime, _ to: UTCTime?, _ sender: PendingCommands.Sender, _ messages: inout [VehicleMessage]
  ) {
    guard let history else {
      return answer(sender, .failed, "this vehicle keeps no history of fixes (remote.history_mb)")
    }
    // One more than is sent tells from where to ask on.
    var fixes = history.fixes(from: from, to: to ?? UTCTime(nanoseconds: .max), limit: Self.trackLimit + 1)
    var next: UTCTime?
    if fixes.count > Self.trackLimit { next = fixes.removeLast().time }
    var count = 0
    var rest = fixes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.fixesPerMessage))
      rest = rest.dropFirst(Self.fixesPerMessage)
      count += 1
      messages.append(.track(TrackMessage(identity: nil, fixes: part)))
    }
    var result: [String: JSONValue] = [
      "fixes": .integer(Int64(fixes.count)), "messages": .integer(Int64(count)),
    ]
    if let next { result["next"] = .string(next.rfc3339) }
    answer(sender, .done, result: .object(result))
  }

  // MARK: Answers

  private func answerPending(_ pipeline: AgentPipeline) {
    for (sender, location, isFresh) in commands.located(at: Self.now) {
      guard let location, let json = try? JSONValue(parsing: location.payload) else {
        answer(sender, .failed, "no position is known")
        continue
      }
      answer(sender, .done, result: .object(["location": json, "fresh": .bool(isFresh)]))
    }
    guard let status = pipeline.lastStatus else { return }
    for sender in commands.told(status: pipeline.statusCount) {
      answer(sender, .done, result: try? JSONValue(parsing: status.payload))
    }
  }

  func answer(
    _ sender: PendingCommands.Sender, _ state: CommandResponseMessage.State, _ problem: String? = nil,
    result: JSONValue? = nil
  ) {
    var message = CommandResponseMessage(
      command: String(sender.command.prefix(128)), id: sender.id, time: Self.time, state: state,
      problem: problem, result: result)
    message.replyTo = sender.replyTo
    plan.log.info(
      .commandAnswered, "command \(state)",
      metadata: ["command": "\(message.command)", "problem": "\(problem ?? "-")"])
    answers.append(.commandResponse(message))
  }
}

/// Gives the history, which owns its file, a place in a class.
private final class HistoryBox {
  private var history: FixHistory
  private var hasComplained = false

  init(_ history: consuming FixHistory) { self.history = history }

  func record(_ fix: TrackMessage.Fix, log: Logger) {
    do {
      try history.record(fix)
      hasComplained = false
    } catch { complain(error, log) }
  }

  func flush(log: Logger) { do { try history.flush() } catch { complain(error, log) } }

  func fixes(from: UTCTime, to: UTCTime, limit: Int) -> [TrackMessage.Fix] {
    history.fixes(from: from, to: to, limit: limit)
  }

  private func complain(_ error: any Error, _ log: Logger) {
    if !hasComplained {
      log.warning(.historyNotWritten, "history of fixes not written", metadata: ["reason": "\(error)"])
    }
    hasComplained = true
  }
}
