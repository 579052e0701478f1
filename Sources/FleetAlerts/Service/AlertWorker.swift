internal import DequeModule
internal import Fleet
internal import MQTT
internal import Platform
internal import SQLite
internal import Spatial

/// The work of an `AlertService`'s thread: it processes input, stores the changes, and sends stored messages.
final class AlertWorker {
  /// The maximum number of messages that wait for one receiver; further messages are given up immediately.
  static let queueLimit = 200_000
  /// The interval in s at which the store is checked for changes by other programs.
  static let look = 1.0

  let service: AlertService
  /// The current settings.
  var settings: AlertSettings
  let store: AlertStore
  var engine: AlertEngine
  var plan: NoticePlan
  var queues: [String: DeliveryQueue] = [:]
  /// The monotonic time since which each message has waited, by number; it is independent of the civil clock.
  var created: [Int64: Timestamp] = [:]
  /// The names of the receivers that were notified of an alert's start, by the alert's number, until its end
  /// is reported. The same receivers are notified of the end.
  var addressees: [Int64: [String]] = [:]
  var nextMessage: Int64
  var writes = AlertWrites()
  /// Messages that are not stored yet. They are added to the queues after they were stored.
  var unwritten: [AlertMessage] = []
  var counters = AlertsView.Counters()
  var threads: [String: ReceiverThreads] = [:]
  var version: Int64
  var nextLook: Timestamp
  var nextTidying: Timestamp
  var resumes: Timestamp?
  /// The time by which the states of all vehicles should have arrived, so that events can be evaluated; nil
  /// before the first connection.
  var knows: Timestamp?
  /// Batches of events that wait until `knows`.
  var events = Deque<AlertService.EventBatch>()
  /// The number of the last batch of events that was processed and not acknowledged yet; nil if there is
  /// none.
  var unsettled: UInt64?
  var generator = SystemRandomNumberGenerator()
  var ended: [Alert]
  var publishes = true
  /// The time before which further failures of a receiver are not logged, so that an unreliable receiver does
  /// not fill the log.
  var nextComplaint: [String: Timestamp] = [:]
  static let complaints = 60.0
  /// The time since which a receiver has rejected each message because of its content, by number.
  var refusedSince: [Int64: Timestamp] = [:]
  var nextPublication: Timestamp

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
        seen: try store.seen(), kinds: try store.kinds())
      addressees = try store.receivers()
      writes.rules = settings.rules
      plan.restore(
        held: unfinished.filter(\.isHeld).map(\.alert), gathered: try store.gathered(),
        silences: try store.silences(), at: now)
      for alert in lost { take(.ended(alert), at: now) }
      for receiver in settings.receivers {
        queues[receiver.name] = DeliveryQueue()
        counters.receivers[receiver.name] = .init()
      }
      try resumeMessages(at: now)
    } catch {
      throw AlertStore.failure(error, path)
    }
    takeEnds(at: now)
    publish()
  }

  func run() {
    for receiver in settings.receivers { start(receiver) }
    while true {
      let mail = next()
      step(mail, at: .now)
      if mail.isStopping { break }
    }
    for threads in threads.values { _ = threads.stop(timeout: 3) }
    // Messages that were accepted during the stop are removed from the store, so that they are not sent
    // again.
    step(
      service.inbox.update { inbox in
        defer { inbox = AlertService.Inbox() }
        return inbox
      }, at: .now)
  }

  func start(_ receiver: Receiver) {
    let inbox = service.inbox
    let threads = ReceiverThreads(receiver) { result in inbox.update { $0.results.append(result) } }
    do throws(SystemError) { try threads.start() } catch { service.report("alerts: \(error)") }
    self.threads[receiver.name] = threads
  }

  /// Waits for input, or until something is due, and returns the input.
  func next() -> AlertService.Inbox {
    let now = Moment.now.timestamp
    let own = [
      engine.deadline, plan.deadline, nextLook, resumes, publishes ? nextPublication : nil,
      events.isEmpty ? nil : knows,
    ]
    // If all threads of a receiver are busy, its queue is checked when one of them reports an outcome.
    let isBusy = queues.contains { $0.value.underWay.count >= threads[$0.key]?.capacity ?? 0 }
    let due = (isBusy ? own : own + queues.values.map(\.deadline)).compactMap { $0 }.min() ?? now
    let wait = writes.isEmpty ? max(0, due.seconds(since: now)) : 1
    let deadline = MonotonicTime.after(min(wait, 60))
    let found: AlertService.Inbox? = service.inbox.wait(until: deadline) { inbox in
      inbox.isEmpty ? nil : inbox
    }
    guard found != nil else { return AlertService.Inbox() }
    return service.inbox.update { inbox in
      var left = AlertService.Inbox(isStopping: inbox.isStopping, isStuck: inbox.isStuck)
      if inbox.isStuck { (left.reports, left.events) = (inbox.reports, inbox.events) }
      defer { inbox = left }
      var taken = inbox
      if inbox.isStuck { (taken.reports, taken.events) = (ReportQueue(), []) }
      return taken
    }
  }

  func step(_ mail: AlertService.Inbox, at now: Moment) {
    if let settings = mail.settings { use(settings, at: now) }
    observe(connection: mail.isConnected, at: now)
    counters.dropped += mail.reports.dropped
    for facts in mail.reports.inOrder { for change in engine.observe(facts) { take(change, at: now) } }
    takeEvents(mail.events, at: now)
    for change in engine.advance(to: now) { take(change, at: now) }
    for number in mail.ends { end(number, at: now) }
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
      // The view is published at most ten times a second: other threads may hold a copy of the state, so the
      // next change copies it.
      nextPublication = now.timestamp.advanced(bySeconds: 0.1)
      publish()
    }
  }

  func publish() {
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
