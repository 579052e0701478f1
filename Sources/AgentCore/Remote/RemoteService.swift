internal import Glibc
internal import JSON
internal import LiveSensors
internal import Logging
internal import Pipeline
internal import Platform
internal import Positioning
internal import Sensors
internal import Settings
internal import Spatial
internal import Telemetry

/// Remote management on the pipeline's thread: passes requests to the managers and executes their decisions.
final class RemoteService {
  /// The components of the service.
  struct Plan: Sendable {
    var manager: RemoteManager
    var regions: RemoteRegions?
    var folder: RemoteFolder
    var topics: RemoteTopics
    var link: any RemoteLink
    /// Position of recorded or simulated input; nil for hardware.
    var location: SimulatedLocation?
    var log: Logger
  }

  let plan: Plan
  var manager: RemoteManager
  var commands = PendingCommands()
  var rawSamples = RawSamples()
  /// End of the accelerometer recording in progress, on the machine's clock; nil for none.
  var recordingEnd: Timestamp?
  private let history: PositionHistory?
  /// True if sensor demands may have changed since the last call of `advance`.
  var isReconfigured = false
  /// Remote regions, which replace the configuration's; nil for none.
  var regions: RemoteRegions?
  private var lastNoted: Timestamp?
  /// The last command that set the odometer, and its answer.
  private var lastSet: (id: String, result: JSONValue)?
  /// The last command that started a trace, and its answer.
  var lastTrace: (id: String, result: JSONValue)?
  /// Connection settings in effect.
  private var connection: AgentConfiguration.MQTT
  /// True if the broker has accepted a connection with these settings.
  private var isOpen = false
  /// Messages to deliver; answers follow after them.
  var messages: [VehicleMessage] = []
  private var answers: [VehicleMessage] = []
  /// Documents that a broker without a session of this vehicle has not delivered; nil after `announcementDelay`.
  private var unrequested: Unrequested?

  private struct Unrequested {
    var due: Timestamp
    var settings = true
    var regions = true
  }

  /// Time in s within which a broker delivers retained documents after a connection.
  private static let announcementDelay = 10.0

  /// Civil time of the pipeline, which is that of all other messages.
  private(set) var time = UTCTime(nanoseconds: 0)

  init(_ plan: Plan) {
    self.plan = plan
    manager = plan.manager
    regions = plan.regions
    connection = plan.manager.active.mqtt
    history = PositionHistory(
      path: plan.folder.historyPath, limit: plan.manager.active.remote.historyLimit, log: plan.log)
  }

  /// Deadline of the next call of `advance` and `answerPending`, on the machine's clock.
  var nextDeadline: Timestamp? {
    [manager.nextDeadline, commands.nextDeadline, rawSamples.nextDeadline, recordingEnd, unrequested?.due]
      .compactMap { $0 }.min()
  }

  /// Completes changes of settings that the previous run had not finished.
  func begin(_ pipeline: inout AgentPipeline) {
    time = pipeline.civilTime
    carryOut(manager.begin(), &pipeline)
  }

  /// Executes decisions that are due.
  /// - Returns: true if the pipeline was reconfigured since the last call, so that its sensor demands may
  ///   have changed.
  func advance(_ pipeline: inout AgentPipeline) -> Bool {
    time = pipeline.civilTime
    carryOut(manager.advance(to: .now), &pipeline)
    announceUnrequested(&pipeline)
    defer { isReconfigured = false }
    return isReconfigured
  }

  func observe(_ change: LinkChange, _ pipeline: inout AgentPipeline) {
    time = pipeline.civilTime
    if case .connected(_, isSessionNew: true) = change {
      unrequested = Unrequested(due: Timestamp.now.advanced(bySeconds: Self.announcementDelay))
    }
    switch change {
    case .connected: isOpen = true
    case .acknowledged:
      // An acknowledgement of the previous connection may arrive after new settings.
      guard isOpen else { break }
      carryOut(manager.connectionChanged(isConnected: true, problem: nil, at: .now), &pipeline)
    case .lost(let reason):
      isOpen = false
      carryOut(manager.connectionChanged(isConnected: false, problem: reason, at: .now), &pipeline)
    }
  }

  /// Removes and returns the messages to deliver: decisions, then answers.
  func drain() -> [VehicleMessage] {
    defer { (messages, answers) = ([], []) }
    return messages + answers
  }

  /// Updates raw samples, pending commands and history after an event. Positions are those that the pipeline would publish.
  func observe(_ event: SensorEvent, _ pipeline: inout AgentPipeline) {
    rawSamples.process(event) { pipeline.utc(at: $0) }
    guard let known = pipeline.lastKnown, known.location.timestamp != lastNoted else { return }
    lastNoted = known.location.timestamp
    commands.observe(known, radius: pipeline.lastKnownAccuracy)
    // The history contains fixes only, no coarse positions.
    guard known.location.positionSource != .coarse else { return }
    history?.record(known)
  }

  /// Flushes the history to disk.
  func close() { history?.flush() }

  // MARK: Decisions

  private func carryOut(
    _ decisions: [RemoteManager.Decision], _ pipeline: inout AgentPipeline
  ) {
    for decision in decisions { carryOut(decision, &pipeline) }
    followConnection()
  }

  /// Connects with the manager's settings if they differ from those in use.
  private func followConnection() {
    guard connection != manager.connection else { return }
    connection = manager.connection
    isOpen = false
    plan.link.reconnect(connection)
  }

  private func carryOut(
    _ decision: RemoteManager.Decision, _ pipeline: inout AgentPipeline
  ) {
    switch decision {
    case .remember(let memory): keep(memory)
    case .apply(let configuration):
      if pipeline.reconfigure(configuration.pipeline, into: { messages.append($0) }) {
        searchAgain(&pipeline)
      }
      manager.ineffectiveSettings.report(to: plan.log)
      followConnection()
      isReconfigured = true
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
  }

  /// Publishes the remote settings and regions in effect again if a broker without a session of this vehicle has not
  /// delivered their documents: it has lost them and the reports. Otherwise the fleet could not tell that they exist,
  /// and would replace them.
  private func announceUnrequested(_ pipeline: inout AgentPipeline) {
    guard let wait = unrequested, wait.due <= .now else { return }
    unrequested = nil
    if wait.settings, let report = manager.reportInForce { messages.append(.configReported(message(report))) }
    if wait.regions { announceRegions(&pipeline) }
  }

  func keep(_ memory: RemoteMemory) {
    do {
      try plan.folder.save(memory)
    } catch {
      plan.log.warning(
        .remoteNotKept, "remote settings only in memory until the disk is writable",
        metadata: ["reason": "\(error)"])
    }
  }

  private func message(_ report: RemoteManager.Report) -> ConfigReportedMessage {
    let ineffective = manager.ineffectiveSettings.filter { report.settings[$0.key] != nil }
    return ConfigReportedMessage(
      time: time, state: ConfigReportedMessage.State(rawValue: report.state.rawValue) ?? .refused,
      version: report.version, problem: report.problem, accepted: report.accepted,
      refused: report.refused.map { ConfigReportedMessage.Refusal(key: $0.key, reason: $0.reason) },
      settings: report.settings.mapValues(\.json), changeable: manager.active.remote.keys.sorted(),
      ineffective: ineffective.map {
        ConfigReportedMessage.Refusal(key: $0.key, reason: "\($0.problem); \($0.remedy)")
      })
  }

  // MARK: Requests

  func process(
    _ request: RemoteRequest, _ pipeline: inout AgentPipeline, _ memory: inout MotionMemory,
    _ traces: inout TraceStore?
  ) {
    time = pipeline.civilTime
    switch request.subject {
    case .configuration:
      unrequested?.settings = false
      let decisions = manager.desired(
        request.payload, isRetained: request.isRetained, at: .now,
        civilTime: pipeline.trustedTime(at: pipeline.now))
      carryOut(decisions, &pipeline)
    case .regions:
      unrequested?.regions = false
      processRegions(request, &pipeline)
    // Retained commands are ignored, because they may be outdated.
    case .command where request.isRetained, .ownTracks where request.isRetained: break
    // `AgentLoop` passes requests about beacons to the beacon map instead.
    case .beacons: break
    case .command(let name): process(command: name, request, &pipeline, &memory, &traces)
    case .ownTracks: carryOut(processOwnTracks(request, &pipeline), &pipeline)
    }
  }

  private func process(
    command name: String, _ request: RemoteRequest, _ pipeline: inout AgentPipeline,
    _ memory: inout MotionMemory, _ traces: inout TraceStore?
  ) {
    var sender = PendingCommands.Sender(command: name, request: request)
    do throws(JSONError) {
      let arguments = try RemoteCommand.arguments(request.payload)
      sender.id = try RemoteCommand.identifier(arguments)
      switch try RemoteCommand(name: name, arguments: arguments) {
      case .locate(let accuracy, let timeout):
        locate(sender, accuracy: accuracy, timeout: timeout, &pipeline)
      case .status:
        commands.awaitStatus(sender, after: pipeline.statusCount)
        pipeline.requestStatus()
      case .reload: reload(answering: sender, &pipeline)
      case .track(let from, let to): sendTrack(from, to, sender, pipeline)
      case .resetRegions:
        pipeline.resetRegionStates { messages.append($0) }
        answer(sender, .done, result: .object(["regions": .integer(Int64(pipeline.regions.count))]))
      case .forgetRegions: forgetRegions(sender, &pipeline)
      case .regionState(let identifier): answerRegionState(sender, identifier, &pipeline)
      case .zero(true):
        pipeline.clearZero()
        answer(sender, .done)
      case .zero(false): setZero(sender, &pipeline)
      case .level(true):
        for waiting in commands.endLevels() { answer(waiting, .failed, "another command cleared the level") }
        pipeline.clearLevel()
        answer(sender, .done)
      case .level(false):
        guard commands.awaitLevel(sender, after: pipeline.lastLevel.count) else {
          answer(sender, .failed, "\(PendingCommands.capacity) others wait for it already; ask again later")
          break
        }
        pipeline.startLeveling()
      case .history(let from, let to):
        sendHistory(from, to ?? pipeline.civilTime, sender, memory)
      case .setOdometer(let reading): setOdometer(sender, reading, &pipeline)
      case .setTrip(let driver, let purpose): setTrip(sender, driver, purpose, &pipeline)
      case .samples(let seconds, let rate, let kinds):
        beginSamples(seconds, rate, kinds, sender, &pipeline)
      case .record(let seconds): beginRecording(seconds, sender, &pipeline, &memory)
      case .simulateLocation(let choice): simulateLocation(choice, sender, &pipeline)
      case .trace(let request): beginTrace(request, sender, &pipeline, &traces)
      }
    } catch { answer(sender, .refused, error.description) }
  }

  /// Answers with the last position if it is still accurate because the vehicle is at rest. Otherwise powers
  /// the receiver, and answers when it has a position.
  /// - Parameters:
  ///   - accuracy: required accuracy in m (68 %).
  ///   - timeout: time limit in s.
  func locate(
    _ sender: PendingCommands.Sender, accuracy: Double, timeout: Double, _ pipeline: inout AgentPipeline
  ) {
    if !pipeline.hasLocations {
      refuseToLocate(sender)
    } else if pipeline.requestLocation(accuracy: accuracy, timeLimit: timeout), let known = pipeline.lastKnown
    {
      answer(
        sender, PendingCommands.Found(location: known, isFresh: false, isValid: true, accuracy: accuracy))
    } else {
      commands.locate(
        sender, accuracy: accuracy, since: pipeline.now, until: Timestamp.now.advanced(bySeconds: timeout))
    }
  }

  /// Repeats the search of the waiting `locate` commands after a change of the settings. Positions from before the
  /// change may be private now.
  private func searchAgain(_ pipeline: inout AgentPipeline) {
    commands.forgetPositions()
    guard pipeline.hasLocations else {
      for sender in commands.endSearches() { refuseToLocate(sender) }
      return
    }
    guard let search = commands.search else { return }
    pipeline.requestLocation(
      accuracy: search.accuracy, timeLimit: max(0, search.deadline.seconds(since: .now)))
  }

  private func refuseToLocate(_ sender: PendingCommands.Sender) {
    if sender.isOwnTracks { return plan.link.answer(.location(nil)) }
    answer(sender, .failed, "locations are disabled (location.enabled)")
  }

  /// Reads the configuration file again.
  /// - Parameter sender: sender of a remote request; nil for the machine's operator.
  func reload(
    answering sender: PendingCommands.Sender? = nil, _ pipeline: inout AgentPipeline
  ) {
    time = pipeline.civilTime
    do throws(ConfigurationError) {
      let outcome = try manager.reload(manager.layers.reloadingFile())
      plan.log.notice(
        .configurationReload, "configuration read again",
        metadata: [
          "applied": "\(outcome.changed.joined(separator: " "))",
          "needs_restart": "\(outcome.needsRestart.joined(separator: " "))",
          "overridden": "\(outcome.overridden.joined(separator: " "))",
        ])
      if let sender {
        answer(
          sender, .done,
          result: .object([
            "changed": .array(outcome.changed.map(JSONValue.string)),
            "needsRestart": .array(outcome.needsRestart.map(JSONValue.string)),
            "overridden": .array(outcome.overridden.map(JSONValue.string)),
          ]))
      }
      carryOut(outcome.decisions, &pipeline)
    } catch {
      plan.log.warning(
        .configurationNotReloaded, "configuration not reread", metadata: ["reason": "\(error)"])
      if let sender { answer(sender, .failed, error.description) }
    }
  }

  /// Answers with the recorded fixes that the current settings permit to publish.
  private func sendTrack(
    _ from: UTCTime, _ to: UTCTime?, _ sender: PendingCommands.Sender, _ pipeline: AgentPipeline
  ) {
    guard let history else {
      return answer(sender, .failed, "the history of fixes is disabled (remote.history_mb)")
    }
    let (fixes, result) = history.track(from: from, to: to, pipeline)
    messages += fixes
    answer(sender, .done, result: result)
  }

  private func setZero(_ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline) {
    guard let zero = pipeline.zeroAttitude(), let json = try? JSONValue(parsing: zero.payload) else {
      return answer(sender, .failed, "no attitude is available; see services in status")
    }
    answer(sender, .done, result: .object(["zero": json]))
  }

  private func setOdometer(
    _ sender: PendingCommands.Sender, _ reading: Double, _ pipeline: inout AgentPipeline
  ) {
    guard pipeline.hasOdometer else {
      return answer(sender, .failed, "no odometer, because locations are disabled (location.enabled)")
    }
    // A broker delivers a command again if its acknowledgement was lost. Setting the odometer again would
    // discard the distance since the first delivery.
    if let id = sender.id, let last = lastSet, last.id == id {
      return answer(sender, .done, result: last.result)
    }
    let before = pipeline.setOdometer(reading: reading)
    plan.log.notice(
      .odometerSet, "odometer set",
      metadata: ["metres": "\(Int(reading))", "before": "\(before.map { "\(Int($0))" } ?? "unknown")"])
    var members = ["odometer": JSONValue.integer(Int64(reading))]
    if let before { members["before"] = .integer(Int64(before)) }
    let result = JSONValue.object(members)
    lastSet = sender.id.map { ($0, result) }
    answer(sender, .done, result: result)
  }

  private func setTrip(
    _ sender: PendingCommands.Sender, _ driver: String?, _ purpose: String?, _ pipeline: inout AgentPipeline
  ) {
    guard pipeline.hasTrips else {
      return answer(
        sender, .failed,
        "this vehicle publishes no trips: trips or locations are disabled (trips.enabled, location.enabled)")
    }
    if let driver { pipeline.setTrip(driver: driver.isEmpty ? nil : driver) }
    if let purpose { pipeline.setTrip(purpose: purpose.isEmpty ? nil : purpose) }
    answer(
      sender, .done,
      result: .object(
        pipeline.tripLabels.mapValues { .string($0) }))
  }

  /// Replaces the position of recorded or simulated input.
  private func simulateLocation(
    _ choice: LocationSimulation, _ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline
  ) {
    guard let location = plan.location else {
      return answer(
        sender, .refused,
        "this vehicle reads real sensors; only recorded and simulated input (input.mode) can be relocated")
    }
    do {
      switch choice {
      case .input: try location.select(.input)
      case .none: try location.select(.none)
      case .place(let coordinate): try location.select(.place(coordinate))
      case .track(let name):
        guard let folder = manager.active.tracks else {
          return answer(sender, .refused, "this vehicle has no folder of tracks; set simulation.tracks")
        }
        try location.select(.track(path: "\(folder)/\(name)"))
      }
    } catch { return answer(sender, .failed, "\(error)") }
    plan.log.notice(.locationSimulated, "simulated location selected", metadata: ["choice": "\(choice)"])
    // Without this request, a receiver that sleeps at rest would not report the new position.
    pipeline.requestLocation(accuracy: 100, timeLimit: 60, mustBeFresh: true)
    answer(sender, .done)
  }

  // MARK: Answers

  /// Answers the commands that were waiting for a location or a status.
  func answerPending(_ pipeline: inout AgentPipeline) {
    time = pipeline.civilTime
    sendSamples(&pipeline)
    let isConfirmed = pipeline.isAtLastKnown
    for (sender, found) in commands.located(at: .now, isConfirmed: isConfirmed) { answer(sender, found) }
    for sender in commands.measured(level: pipeline.lastLevel.count) {
      switch pipeline.lastLevel.outcome {
      case .measured(let level):
        let json = JSONWriter.object { $0.field("level") { level.write(to: &$0) } }
        answer(sender, .done, result: try? JSONValue(parsing: json))
      case .failed(let failure): answer(sender, .failed, failure.description)
      case nil: break
      }
    }
    guard let status = pipeline.lastStatus else { return }
    for sender in commands.published(status: pipeline.statusCount) {
      answer(sender, .done, result: try? JSONValue(parsing: status.payload))
    }
  }

  private func answer(_ sender: PendingCommands.Sender, _ found: PendingCommands.Found?) {
    if sender.isOwnTracks { return plan.link.answer(.location(found?.location)) }
    guard let found, let json = try? JSONValue(parsing: found.location.payload) else {
      return answer(sender, .failed, "no position is available")
    }
    answer(
      sender, .done,
      result: .object([
        "location": json, "fresh": .bool(found.isFresh), "sufficient": .bool(found.isSufficient),
      ]))
  }

  func answer(
    _ sender: PendingCommands.Sender, _ state: CommandResponseMessage.State, _ problem: String? = nil,
    result: JSONValue? = nil, isLogged: Bool = true
  ) {
    var message = CommandResponseMessage(
      command: String(sender.command.prefix(128)), id: sender.id, time: time, state: state,
      problem: problem, result: result)
    message.replyTo = sender.replyTo
    if isLogged {
      plan.log.info(
        .commandAnswered, "command \(state)",
        metadata: ["command": "\(message.command)", "problem": "\(problem ?? "-")"])
    }
    answers.append(.commandResponse(message))
  }
}
