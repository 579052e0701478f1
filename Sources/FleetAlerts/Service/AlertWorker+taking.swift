internal import DequeModule
internal import Fleet
internal import MQTT
internal import Platform
internal import SQLite
internal import Spatial

/// Input of the thread: reports of vehicles, changes of alerts, and requests that other programs have written
/// to the store.
extension AlertWorker {
  func observe(connection isConnected: Bool?, at now: Moment) {
    if let isConnected {
      if !isConnected { engine.isPaused = true }
      resumes = isConnected && engine.isPaused ? now.timestamp.advanced(bySeconds: AlertEngine.settling) : nil
    }
    if let resumes, resumes <= now.timestamp { (engine.isPaused, self.resumes) = (false, nil) }
    if isConnected == true, knows == nil { knows = now.timestamp.advanced(bySeconds: AlertEngine.settling) }
  }

  func takeEvents(_ batches: Deque<AlertService.EventBatch>, at now: Moment) {
    events += batches
    guard let knows, knows <= now.timestamp, let source = service.source.withLock({ $0 }) else { return }
    while let batch = events.popFirst() {
      for message in batch.messages {
        guard var facts = service.facts(message, at: batch.at, { source.vehicle(message.topic) }),
          facts.topic.isOfEvents
        else { continue }
        // A message of this session can be old. The current accuracy is reported by the fleet's main session.
        facts.accuracy = nil
        for change in engine.observe(facts) { take(change, at: now) }
      }
      unsettled = batch.number
    }
  }

  /// Acknowledges processed events to the broker, after their alerts were stored.
  func settleEvents() {
    guard let number = unsettled else { return }
    unsettled = nil
    service.source.withLock { $0 }?.settle(number)
  }

  func take(_ change: AlertChange, at now: Moment) {
    writes.alerts.append(change.alert)
    if change.transition != .ended, let rule = engine.rules[change.alert.rule] {
      address(change.alert.number, to: settings.receivers(of: rule).map(\.name))
    }
    plan.observe(change, at: now)
    if change.transition != .ended { counters.begun[change.alert.rule, default: 0] += 1 }
    if change.alert.ended != nil {
      ended.append(change.alert)
      if ended.count > AlertsView.endedLimit { ended.removeFirst(ended.count - AlertsView.endedLimit) }
    }
    publishes = true
  }

  /// Reads silences, messages to retry, and ends of alerts that other programs have written to the store.
  func lookAtFile(_ now: Moment) {
    guard nextLook <= now.timestamp else { return }
    nextLook = now.timestamp.advanced(bySeconds: Self.look)
    guard let found = try? store.version(), found != version else { return }
    version = found
    if let silences = try? store.silences() {
      plan.silence(writes.silences.reduce(silences) { $0.adding($1, at: now.time) }, at: now)
      publishes = true
    }
    takeEnds(at: now)
    try? resumeMessages(at: now)
  }

  /// Ends the alerts that `odograph alerts end` has marked in the store.
  func takeEnds(at now: Moment) {
    guard let numbers = try? store.ends() else { return }
    for number in numbers where !writes.ends.contains(number) {
      end(number, at: now)
      writes.ends.append(number)
    }
  }

  func end(_ number: Int64, at now: Moment) {
    for change in engine.end(byHand: number, at: now) {
      if change.alert.reason == .byHand {
        service.report(
          "alerts: \(AlertText.identifier(number, epoch: store.epoch)) was ended by an operator: "
            + AlertText.line(.init(change.alert, .began)))
      }
      take(change, at: now)
    }
  }
}
