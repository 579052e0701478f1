internal import AMQP
internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import MQTT
internal import Platform

/// The `odograph record` command: records a fleet's messages into a database, each message once.
///
/// The connection's thread receives messages, and the recorder's thread stores them, with a bounded queue in
/// between. A message is acknowledged to the broker only after its transaction was committed. After a crash
/// of a process or a broker, messages arrive again. The store detects them by epoch and sequence number, or
/// by a content hash.
enum RecordCommand {
  /// The maximum time in s for storing and acknowledging the received messages before the command exits.
  private static let drain = 60.0
  /// The time in s without a commit after which the command, interrupted by a signal, exits without waiting
  /// longer.
  private static let commitTimeout = 0.7

  /// Runs until `--count` messages are recorded, the time limit is over, or a signal arrives.
  /// - Throws: `FleetError` for invalid options, an unreachable broker and a store that cannot be opened.
  static func run(_ given: Record) throws(FleetError) -> ExitStatus {
    let options = try given.settled()
    var plan = try options.plan()
    let queue = try options.queueConfiguration(plan.filters)
    let broker = queue == nil ? try options.broker.configuration() : nil
    let timeout = try options.time.limit()
    try options.check()
    var metrics = try options.metrics.map { path throws(FleetError) in try RecordMetrics(path: path) }
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    if options.forgets {
      if let queue { return try forget(queue, options) }
      if let broker { return try forget(options, broker, plan, waiter) }
    }
    let isQuiet = options.isQuiet
    let report: @Sendable (RecordNotice) -> Void = { notice in
      if !isQuiet || !notice.isRoutine { StandardError.report(notice.text) }
    }
    let store = try OpenStore(plan, report: report)
    if options.prepares {
      let done = try store.expireAndClose(plan)
      if !isQuiet { StandardError.report(done) }
      return .done
    }
    plan.qos = try options.quality.level()
    let source: RecordEntry
    if let queue {
      source = try RecordEntry(queue) { state in
        switch state {
        case .connected: waiter.observeConnection()
        case .disconnected(let reason): waiter.observeLoss("\(reason)", FleetError(reason))
        }
      }
    } else if let broker {
      source = try RecordEntry(plan, broker, report: report) { waiter.observe($0) }
    } else {
      throw .usage("record", "from nowhere", "neither a broker nor a queue is configured")
    }
    let recorder = try RunningRecorder.start(plan, into: store, from: source, report: report) {
      waiter.end(.ended(.done))
    }
    var progress = RecordProgress(options)
    let deadline = timeout.map { MonotonicTime.after($0) }
    var ending: CommandWaiter.Ending = .timedOut
    while true {
      let left = deadline?.secondsRemaining ?? .infinity
      ending = waiter.wait(seconds: min(left, progress.interval))
      progress.show(recorder.counts)
      metrics?.write(recorder.counts, isConnected: waiter.isConnected)
      guard case .timedOut = ending, left > progress.interval else { break }
    }
    let isClean = leave(recorder, waiter, isAsked: ending.isSignal)
    let hasEnded = recorder.end(abandoning: !isClean, limit: ending.isSignal ? 0.2 : drain)
    // If the broker was never reached, it stores no session that the summary could mention.
    if waiter.wasConnected {
      progress.finish(recorder.counts, left: recorder.left)
    } else {
      progress.finish(recorder.counts)
    }
    withExtendedLifetime(recorder) {}
    // Messages that could not be stored make the command fail. Rejections by the broker and signals have
    // their own exit status.
    if recorder.counts.isInterrupted || !hasEnded {
      switch ending {
      case .timedOut, .ended(.done): return .outputFailed
      case .ended, .failed: break
      }
    }
    if case .timedOut = ending {
      if let timeout, !waiter.wasConnected {
        throw queue == nil ? FleetError.unanswered(within: timeout) : .queueUnanswered(within: timeout)
      }
      guard let count = options.count else { return .done }
      if !options.isQuiet { StandardError.sayMissed(count, came: recorder.counts.received) }
    }
    return try ending.status()
  }

  /// Disconnects after storing and acknowledging the received messages.
  /// - Parameter isAsked: true after a signal: waits only while commits succeed, and until a further signal.
  ///   Unacknowledged messages remain at the broker.
  /// - Returns: true if all received messages are stored.
  private static func leave(
    _ recorder: RunningRecorder, _ waiter: CommandWaiter, isAsked: Bool
  ) -> Bool {
    // If the store is unavailable, waiting for it would only delay the exit.
    let limit = recorder.counts.isInterrupted ? 0 : drain
    let outcome = Locked<Bool?>(nil)
    let work: @Sendable () -> Void = {
      let isClean = recorder.leaveBlocking(drain: limit)
      outcome.withLock { $0 = isClean }
    }
    guard isAsked, let thread = try? DedicatedThread.start(name: "leave", work) else {
      return recorder.leaveBlocking(drain: limit)
    }
    thread.detach()
    var commits = recorder.counts.commits
    var lastCommit = MonotonicTime.now
    while lastCommit.secondsElapsed < commitTimeout {
      if let isClean = outcome.withLock({ $0 }) { return isClean }
      if waiter.newSignal(within: 0.02) != nil { return false }
      guard commits != recorder.counts.commits else { continue }
      (commits, lastCommit) = (recorder.counts.commits, .now)
    }
    return false
  }

  /// Deletes a queue of the cluster with its messages.
  private static func forget(
    _ queue: AMQPConfiguration, _ options: Record
  ) throws(FleetError) -> ExitStatus {
    let wasThere: Bool
    do throws(AMQPDisconnection) { wasThere = try AMQPConsumer.deleteQueue(queue) } catch {
      throw FleetError(error)
    }
    guard wasThere else {
      throw .usage(
        "forget", "queue \(queue.queue)",
        "no such queue; check --queue, and the virtual host at the end of --from")
    }
    if !options.isQuiet {
      StandardError.report("queue \(queue.queue) and its messages were deleted")
    }
    return .done
  }

  /// Deletes the sessions of earlier runs at the broker.
  private static func forget(
    _ options: Record, _ broker: MQTTConfiguration, _ plan: RecordPlan, _ waiter: CommandWaiter
  ) throws(FleetError) -> ExitStatus {
    let slots = options.clientID == nil ? try SessionSlot.left(for: plan.identity(broker)) : []
    let names = options.clientID.map { [$0] } ?? slots.map(\.clientID)
    let mark = options.clientID.map { SessionMark(of: $0, at: broker.brokerName) }
    if let name = options.clientID, mark?.isTaken == true {
      throw .usage(
        "forget", "session \(name)",
        "odograph record uses it on this machine, and would lose messages that it has not stored; stop it first"
      )
    }
    for name in names {
      var configuration = broker
      configuration.clientID = name
      (configuration.sessionExpiryInterval, configuration.endsSession) = (0, true)
      // The first connection resumes the session to find out whether it exists, because the broker does not
      // report this for a clean start. The second one starts clean, which deletes the session under MQTT
      // 3.1.1, too.
      var wasThere = false
      for isClean in [false, true] {
        configuration.cleanStart = isClean
        let link = try PublishLink.connected(configuration, capacity: 1, waiter)
        if !isClean { wasThere = link.isSessionPresent }
        link.stop(drain: 5)
      }
      if !wasThere, options.clientID != nil {
        throw .usage(
          "forget", "session \(name)",
          "no such session at the broker; check --client-id and --broker, or it has expired")
      }
      guard !options.isQuiet else { continue }
      StandardError.report(
        wasThere
          ? "session \(name) and its queued messages were deleted"
          : "the broker no longer has the session \(name)")
    }
    for slot in slots { slot.forget() }
    mark?.forgetFilters()
    if names.isEmpty, !options.isQuiet {
      StandardError.report(
        "nothing to forget: this machine has no session for \(HistoryReader.name(of: options.store)) "
          + "with these options at this broker, or the recorder that uses the session still runs")
    }
    return .done
  }
}
