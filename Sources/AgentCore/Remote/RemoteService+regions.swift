internal import JSON
internal import Logging
internal import Pipeline
internal import Platform
internal import Positioning
internal import Telemetry

/// Remote regions.
extension RemoteService {
  /// Processes a `regions/desired` document. Invalid features are omitted and reported; each document
  /// replaces the previous one.
  func processRegions(_ request: RemoteRequest, _ pipeline: inout AgentPipeline) {
    var decided = manager.memory.regions
    let isNew = decided.admit(request.payload, isRetained: request.isRetained)
    // The state is stored last, so that the same document is processed again if power is lost before, or if the
    // disk was not writable.
    guard !isNew || watch(request.payload, &pipeline), let memory = manager.processed(regions: decided) else {
      return
    }
    keep(memory)
  }

  /// Replaces the monitored regions by those of a document, if it is readable, and reports the outcome.
  /// - Returns: false if the same document can succeed later, because only storing it failed.
  @discardableResult
  func watch(_ document: [UInt8], _ pipeline: inout AgentPipeline) -> Bool {
    var isFinal = true
    var message = RegionsReportedMessage(time: time, state: .applied, source: .remote)
    do {
      let before = regions?.features ?? []
      let wanted = try RemoteRegions(parsing: document, before: before, at: time)
      message.version = wanted.version
      try plan.folder.save(regions: RemoteRegions.document(wanted.features, version: wanted.version))
      regions = wanted
      announce(wanted.features, before: before)
      let (accepted, problems) = wanted.collection.watch(in: &pipeline.regions)
      pipeline.regionSource = .remote
      message.accepted = accepted
      message.refused = problems.map(\.refusal)
    } catch {
      message.state = .refused
      message.problem = "\(error)"
      isFinal = !(error is StateDocument.Failure)
    }
    plan.log.notice(
      .remoteRegionsAnswered, "remote regions \(message.state)",
      metadata: [
        "accepted": "\(message.accepted.count)", "refused": "\(message.refused.count)",
        "problem": "\(message.problem ?? message.refused.first?.reason ?? "-")",
      ])
    messages.append(.regionsReported(message))
    return isFinal
  }

  /// Publishes which remote regions are monitored, and schedules `regions/state`. Without remote regions, nothing is
  /// published.
  func announceRegions(_ pipeline: inout AgentPipeline) {
    guard let regions else { return }
    var message = RegionsReportedMessage(time: time, state: .applied, source: .remote)
    message.version = regions.version
    message.accepted = regions.collection.regions.map(\.identifier).filter {
      pipeline.regions.status(of: $0) != nil
    }
    message.refused = regions.collection.problems.map(\.refusal)
    messages.append(.regionsReported(message))
    pipeline.requestRegionStates { messages.append($0) }
  }

  /// Deletes the remote regions, and monitors and reports the configuration's regions again.
  func forgetRegions(_ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline) {
    do {
      let file = try manager.active.regions.path.map { try RegionFile($0) }
      try plan.folder.save(regions: nil)
      regions = nil
      pipeline.regionSource = file == nil ? nil : .file
      if let file {
        messages.append(
          .regionsReported(file.watch(in: &pipeline.regions, at: time, log: plan.log)))
      } else {
        pipeline.regions.replaceAll([])
      }
      let count = Int64(pipeline.regions.count)
      answer(sender, .done, result: .object(["regions": .integer(count)]))
    } catch { answer(sender, .failed, "\(error)") }
  }

  /// Answers with the states of all regions, or of one, and schedules `regions/state`.
  func answerRegionState(
    _ sender: PendingCommands.Sender, _ identifier: String?, _ pipeline: inout AgentPipeline
  ) {
    pipeline.requestRegionStates { messages.append($0) }
    var message = RegionsStateMessage(
      time: time, source: pipeline.regionSource, count: pipeline.regions.count,
      regions: pipeline.regions.statuses(limit: RegionsStateMessage.limit))
    if let identifier {
      guard let status = pipeline.regions.status(of: identifier) else {
        return answer(sender, .failed, "no region \"\(identifier.prefix(80))\" is monitored")
      }
      (message.count, message.regions) = (1, [status])
    }
    answer(sender, .done, result: try? JSONValue(parsing: message.payload))
  }
}

extension RemoteRegions {
  /// Monitors the stored regions.
  func watch(in monitor: inout RegionMonitor, log: Logger) {
    let (accepted, _) = collection.watch(in: &monitor)
    log.info(.remoteRegions, "remote regions watched", metadata: ["regions": "\(accepted.count)"])
  }
}
