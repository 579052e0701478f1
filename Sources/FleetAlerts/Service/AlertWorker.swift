internal import DequeModule
internal import Fleet
internal import MQTT
internal import Platform
internal import SQLite
internal import Spatial

/// What the thread of an `AlertService` does: it decides, writes, and hands out what is written.
final class AlertWorker {
  /// Seconds after the subscriptions were granted until what the broker has kept is believed to have come.
  private static let settling = 5.0
  /// Messages that wait for a receiver at most; what is more is given up at once.
  static let queueLimit = 200_000
  /// Seconds in which other programs' changes of the file are seen.
  private static let look = 1.0

  let service: AlertService
  let settings: AlertSettings
  let store: AlertStore
  var engine: AlertEngine
  var plan: NoticePlan
  var queues: [String: DeliveryQueue] = [:]
  var created: [Int64: UTCTime] = [:]
  var nextMessage: Int64
  var writes = AlertWrites()
  /// Messages that go into their queues once they are written.
  var unwritten: [AlertMessage] = []
  var counters = AlertsView.Counters()
  private var threads: [String: ReceiverThreads] = [:]
  private var version: Int64
  private var nextLook: Timestamp
  private var nextTidying: Timestamp
  private var resumes: Timestamp?
  /// When the vehicles' states are believed to have come, so that events can be judged by them; nil before the first connection.
  private var knows: Timestamp?
  /// Events that wait for that.
  private var events = Deque<AlertService.EventBatch>()
  /// The last batch of events that is taken in, and not settled.
  private var unsettled: UInt64?
  private var generator = SystemRandomNumberGenerator()
  private var ended: [Alert]
  private var publishes = true
  /// When failures of a receiver are told again: one that fails now and then does not fill the log.
  private var nextComplaint: [String: Timestamp] = [:]
  private static let complaints = 60.0
  /// Since when a receiver refuses a message for what is in it.
  private var refusedSince: [Int64: UTCTime] = [:]
  private var nextPublication: Timestamp

  init(_ service: AlertService) throws(FleetError) {
    (self.service, settings) = (service, service.settings)
    let path = service.settings.store
    store = try AlertStore(path: path, isService: true)
    let now = Moment.now
    do throws(SQLiteError) {
      engine = AlertEngine(rules: settings.rules, at: now, nextNumber: try store.largest("alerts") + 1)
      plan = NoticePlan(rules: settings.rules, zone: settings.zone)
      nextMessage = try store.largest("messages") + 1
      version = try store.version()
      (nextLook, nextTidying, nextPublication) = (now.timestamp, now.timestamp, now.timestamp)
      let unfinished = try store.alerts(where: "ended IS NULL OR held = 1")
      ended = try store.alerts(
        where: "ended IS NOT NULL ORDER BY number DESC LIMIT \(AlertsView.endedLimit)"
      ).map(\.alert).reversed()
      let lost = engine.restore(
        entries: try store.entries(at: now), open: unfinished.map(\.alert).filter { $0.ended == nil },
        seen: try store.seen())
      plan.restore(
        held: unfinished.filter(\.isHeld).map(\.alert), gathered: try store.gathered(),
        silences: try store.silences(), at: now)
      for alert in lost { take(.ended(alert), at: now) }
      for receiver in settings.receivers {
        queues[receiver.name] = DeliveryQueue()
        counters.receivers[receiver.name] = .init()
      }
      try takeUpMessages(at: now)
    } catch {
      throw AlertStore.failure(error, path)
    }
    publish()
  }

  /// Puts what is in the file, and in no queue, into the queues.
  private func takeUpMessages(at now: Moment) throws(SQLiteError) {
    // What was settled since the last commit stands in the file still.
    let settled = Set(writes.taken).union(writes.gone.map(\.0))
    for (receiver, entry, time) in try store.waiting()
    where created[entry.number] == nil && !settled.contains(entry.number) {
      guard queues[receiver] != nil else {
        writes.gone.append((entry.number, "there is no receiver \(receiver) any more"))
        continue
      }
      queues[receiver]?.add(entry, at: now.timestamp)
      created[entry.number] = time
    }
  }

  func run() {
    for receiver in settings.receivers {
      let inbox = service.inbox
      let threads = ReceiverThreads(receiver) { result in inbox.update { $0.results.append(result) } }
      do throws(SystemError) { try threads.start() } catch { service.say("alerts: \(error)") }
      self.threads[receiver.name] = threads
    }
    while true {
      let mail = next()
      step(mail, at: .now)
      if mail.isStopping { break }
    }
    for threads in threads.values { threads.stop(patience: 3) }
    // What was taken while they ended is not to be sent again.
    step(
      service.inbox.update { inbox in
        defer { inbox = AlertService.Inbox() }
        return inbox
      }, at: .now)
  }

  /// What has come, as soon as something has or is due.
  private func next() -> AlertService.Inbox {
    let now = Moment.now.timestamp
    let own = [
      engine.deadline, plan.deadline, nextLook, resumes, publishes ? nextPublication : nil,
      events.isEmpty ? nil : knows,
    ]
    // A queue whose threads are busy is looked at again when one of them reports.
    let isBusy = queues.contains { $0.value.underWay.count >= threads[$0.key]?.capacity ?? 0 }
    let due = (isBusy ? own : own + queues.values.map(\.deadline)).compactMap { $0 }.min() ?? now
    let wait = writes.isEmpty ? max(0, due.seconds(since: now)) : 1
    let deadline = SystemClock.monotonic + Int64(min(wait, 60) * 1e9)
    let found: AlertService.Inbox? = service.inbox.wait(until: deadline) { inbox in
      inbox.isEmpty ? nil : inbox
    }
    guard found != nil else { return AlertService.Inbox() }
    return service.inbox.update { inbox in
      var left = AlertService.Inbox(isStopping: inbox.isStopping, isStuck: inbox.isStuck)
      if inbox.isStuck { (left.facts, left.events) = (inbox.facts, inbox.events) }
      defer { inbox = left }
      var taken = inbox
      if inbox.isStuck { (taken.facts, taken.events) = ([], []) }
      return taken
    }
  }

  private func step(_ mail: AlertService.Inbox, at now: Moment) {
    observe(connection: mail.isConnected, at: now)
    counters.dropped += mail.dropped
    for facts in mail.facts { for change in engine.observe(facts) { take(change, at: now) } }
    takeEvents(mail.events, at: now)
    for change in engine.advance(to: now) { take(change, at: now) }
    if !mail.silences.isEmpty {
      writes.silences += mail.silences
      plan.silence(mail.silences.reduce(plan.silences) { $0.adding($1, at: now.time) }, at: now)
      publishes = true
    }
    lookAtFile(now)
    for notice in plan.advance(to: now) { compose(notice, at: now) }
    for result in mail.results { take(result, at: now) }
    giveUp(now)
    writes.add(engine.drainChanges())
    writes.add(plan.drainChanges())
    if commit(now) {
      settleEvents()
      handOut(now)
    }
    if counters.refused != engine.refused {
      counters.refused = engine.refused
      publishes = true
    }
    if publishes, nextPublication <= now.timestamp || mail.isStopping {
      // Whoever looks has a copy of it, so that each change of the next costs one.
      nextPublication = now.timestamp.advanced(bySeconds: 0.1)
      publish()
    }
  }

  private func observe(connection isConnected: Bool?, at now: Moment) {
    if let isConnected {
      if !isConnected { engine.isPaused = true }
      resumes = isConnected && engine.isPaused ? now.timestamp.advanced(bySeconds: Self.settling) : nil
    }
    if let resumes, resumes <= now.timestamp { (engine.isPaused, self.resumes) = (false, nil) }
    if isConnected == true, knows == nil { knows = now.timestamp.advanced(bySeconds: Self.settling) }
  }

  private func takeEvents(_ batches: Deque<AlertService.EventBatch>, at now: Moment) {
    events += batches
    guard let knows, knows <= now.timestamp, let source = service.source.withLock({ $0 }) else { return }
    while let batch = events.popFirst() {
      for message in batch.messages {
        guard var facts = service.facts(message, at: batch.at, { source.vehicle(message.topic) }),
          facts.topic.isOfEvents
        else { continue }
        // It may be from long ago: how good the position is, the other session says.
        facts.accuracy = nil
        for change in engine.observe(facts) { take(change, at: now) }
      }
      unsettled = batch.number
    }
  }

  /// What is written, the broker need not keep.
  private func settleEvents() {
    guard let number = unsettled else { return }
    unsettled = nil
    service.source.withLock { $0 }?.settle(number)
  }

  private func take(_ change: AlertChange, at now: Moment) {
    writes.alerts.append(change.alert)
    plan.observe(change, at: now)
    if change.transition != .ended { counters.begun[change.alert.rule, default: 0] += 1 }
    if change.alert.ended != nil {
      ended.append(change.alert)
      if ended.count > AlertsView.endedLimit { ended.removeFirst(ended.count - AlertsView.endedLimit) }
    }
    publishes = true
  }

  /// Makes the messages of a notice, one for each receiver.
  private func compose(_ notice: Notice, at now: Moment) {
    writes.told += notice.items
    guard let rule = settings.rules.first(where: { $0.name == notice.rule }) else { return }
    for receiver in settings.receivers(of: rule) {
      let body: [UInt8] =
        switch receiver.way {
        case .webhook: AlertText.body(notice, severity: rule.severity, epoch: store.epoch)
        case .mail: AlertText.letter(notice, epoch: store.epoch)
        }
      let message = AlertMessage(
        number: nextMessage, receiver: receiver.name, key: AlertText.key(notice, epoch: store.epoch),
        created: now.time, subject: "\(rule.severity.rawValue): \(AlertText.subject(notice))", body: body,
        vehicles: Array(Set(notice.items.map(\.alert.vehicle))))
      nextMessage += 1
      writes.messages.append(message)
      unwritten.append(message)
    }
  }

  private func take(_ result: ReceiverThreads.Result, at now: Moment) {
    let number = result.number
    publishes = true
    switch result.outcome {
    case .taken:
      queues[result.receiver]?.remove(number, wasTaken: true, at: now.timestamp)
      created[number] = nil
      refusedSince[number] = nil
      writes.taken.append(number)
      counters.receivers[result.receiver]?.taken += 1
      if counters.receivers[result.receiver]?.failure != nil {
        counters.receivers[result.receiver]?.failure = nil
      }
    case .failed(let failure, let after, let isRefusal):
      if !isRefusal { refusedSince[number] = nil }
      if isRefusal, now.time.seconds(since: refusedSince[number] ?? now.time) >= settings.refusalPatience {
        refusedSince[number] = nil
        created[number] = nil
        queues[result.receiver]?.remove(number, wasTaken: false, at: now.timestamp)
        writes.gone.append((number, failure))
        counters.receivers[result.receiver]?.gone += 1
        service.say(
          "alerts: a message to \(result.receiver) is given up, which it does not want: \(failure); odograph alerts retry sends it again"
        )
        return
      }
      if isRefusal, refusedSince[number] == nil { refusedSince[number] = now.time }
      queues[result.receiver]?.fail(number, after: after, at: now.timestamp, using: &generator)
      writes.failed.append((number, failure))
      counters.receivers[result.receiver]?.failed += 1
      if nextComplaint[result.receiver].map({ $0 <= now.timestamp }) ?? true {
        nextComplaint[result.receiver] = now.timestamp.advanced(bySeconds: Self.complaints)
        service.say("alerts: \(result.receiver) has not taken a message, which is tried again: \(failure)")
      }
      counters.receivers[result.receiver]?.failure = failure
    case .left: queues[result.receiver]?.giveBack(number, at: now.timestamp)
    }
  }

  /// What has been tried for too long is told to whoever operates this, and kept aside.
  private func giveUp(_ now: Moment) {
    guard nextTidying <= now.timestamp else { return }
    nextTidying = now.timestamp.advanced(bySeconds: min(60, max(1, settings.patience / 10)))
    writes.forgottenBefore = now.time.advanced(bySeconds: -settings.keep)
    let oldest = now.time.advanced(bySeconds: -settings.patience)
    let old = created.filter { $0.value < oldest }.keys.sorted()
    for (name, queue) in queues {
      let gone = old.filter { queue.contains($0) && !queue.underWay.contains($0) }
      guard !gone.isEmpty else { continue }
      for number in gone {
        created[number] = nil
        refusedSince[number] = nil
        queues[name]?.remove(number, wasTaken: false, at: now.timestamp)
        writes.gone.append((number, counters.receivers[name]?.failure ?? "its time was over"))
      }
      counters.receivers[name]?.gone += gone.count
      publishes = true
      service.say(
        "alerts: \(gone.count) messages to \(name) are given up: \(counters.receivers[name]?.failure ?? "their time was over"); "
          + "odograph alerts retry sends them again")
    }
  }

  /// Other programs put silences in, and messages back.
  private func lookAtFile(_ now: Moment) {
    guard nextLook <= now.timestamp else { return }
    nextLook = now.timestamp.advanced(bySeconds: Self.look)
    guard let found = try? store.version(), found != version else { return }
    version = found
    if let silences = try? store.silences() {
      plan.silence(writes.silences.reduce(silences) { $0.adding($1, at: now.time) }, at: now)
      publishes = true
    }
    try? takeUpMessages(at: now)
  }

  /// - Returns: whether everything is written; else it is tried again, and nothing is told meanwhile.
  private func commit(_ now: Moment) -> Bool {
    guard !writes.isEmpty else { return true }
    do throws(SQLiteError) {
      try store.write(writes, at: now)
    } catch {
      if counters.storeProblem == nil {
        service.say("alerts: nothing is told, as it cannot be written: \(error)")
      }
      service.inbox.update { $0.isStuck = true }
      counters.storeProblem = error.description
      publishes = true
      return false
    }
    writes = AlertWrites()
    if counters.storeProblem != nil {
      counters.storeProblem = nil
      publishes = true
      service.inbox.update { $0.isStuck = false }
      service.say("alerts: it can be written again")
    }
    var overflow: [String: Int] = [:]
    for message in unwritten {
      if queues[message.receiver]?.count ?? 0 >= Self.queueLimit {
        writes.gone.append((message.number, "more than \(Self.queueLimit) messages wait"))
        counters.receivers[message.receiver]?.gone += 1
        overflow[message.receiver, default: 0] += 1
        continue
      }
      created[message.number] = message.created
      queues[message.receiver]?.add(
        .init(number: message.number, vehicles: message.vehicles), at: now.timestamp)
    }
    unwritten = []
    for (name, count) in overflow.sorted(by: { $0.key < $1.key }) {
      service.say(
        "alerts: \(count) messages to \(name) are given up, as more than \(Self.queueLimit) wait; odograph alerts retry sends them again"
      )
    }
    return true
  }

  private func handOut(_ now: Moment) {
    for receiver in settings.receivers {
      guard let threads = threads[receiver.name] else { continue }
      while queues[receiver.name]?.underWay.count ?? 0 < threads.capacity,
        let number = queues[receiver.name]?.next(at: now.timestamp)
      {
        do throws(SQLiteError) {
          guard let message = try store.message(number) else {
            queues[receiver.name]?.remove(number, wasTaken: false, at: now.timestamp)
            created[number] = nil
            continue
          }
          threads.give(message)
        } catch {
          queues[receiver.name]?.fail(number, after: nil, at: now.timestamp, using: &generator)
          service.say("alerts: a message cannot be read: \(error)")
        }
      }
    }
  }

  private func publish() {
    publishes = false
    for (name, queue) in queues { counters.receivers[name]?.waiting = queue.count }
    var view = AlertsView(
      epoch: store.epoch, open: engine.open, ended: ended, silences: plan.silences, counters: counters)
    service.view.withLock { before in
      view.revision = before.revision + 1
      before = view
    }
  }
}
