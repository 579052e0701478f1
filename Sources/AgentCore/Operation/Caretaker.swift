internal import Glibc
internal import Logging
internal import Platform

/// Duties of the main thread: it waits for signals, notifies the service manager's watchdog while all threads
/// make progress, and answers status queries. It never waits for another thread, and causes no work without
/// queries.
struct Caretaker: ~Copyable {
  /// The enabled duties; a disabled duty is nil.
  struct Duties {
    var notifier: ServiceNotifier?
    var control: ControlSocket?
    var metrics: MetricsFile?
    /// Snapshots, required by all other duties.
    var snapshots: SnapshotBoard?
  }

  /// Signal actions.
  struct SignalActions {
    var stop: () -> Void
    var powerFailing: () -> Void
    /// Returns whether the configuration is being read again.
    var reload: () -> Bool
  }

  private let signals: SignalDescriptor
  private let ended: EventDescriptor
  private let duties: Duties
  private let actions: SignalActions
  private let version: String
  private let log: Logger

  private var check: ProgressCheck?
  private let period: Double
  private var stuck: [String] = []
  private var isReady = false
  private var isStopping = false
  // Nil for none.
  private var checkDue: MonotonicTime?
  private var metricsDue: MonotonicTime?
  private var answerDue: MonotonicTime?
  /// Time before which no connection is accepted, to limit the cost of a flood of queries.
  private var admission = MonotonicTime.start

  /// Time in s that a query waits for a new snapshot before the last one is used.
  private static let snapshotTimeout = 0.05
  /// Age in s up to which a snapshot counts as new.
  private static let freshness = 0.1
  /// Minimum interval in s between batches of status queries.
  private static let pause = 0.005

  init(
    signals: SignalDescriptor, ended: EventDescriptor, duties: Duties, actions: SignalActions,
    version: String,
    log: Logger
  ) {
    (self.signals, self.ended, self.duties, self.actions) = (signals, ended, duties, actions)
    (self.version, self.log) = (version, log)
    // sd_watchdog_enabled(3) recommends half of the manager's limit.
    period = (duties.notifier?.watchdog ?? 0) / 2
    if period > 0 {
      check = ProgressCheck(limit: period * 0.9)
      checkDue = .now
    }
    if let metrics = duties.metrics { metricsDue = .after(metrics.interval) }
    duties.snapshots?.request()
  }

  /// Returns when the pipeline's thread has ended.
  mutating func run() {
    while true {
      var descriptors = [ended.descriptor]
      if !isStopping { descriptors.append(signals.descriptor) }
      if let snapshots = duties.snapshots { descriptors.append(snapshots.fresh.descriptor) }
      let now = MonotonicTime.now
      if let control = duties.control, now >= admission { descriptors.append(control.descriptor) }
      switch waitUntilReadable(descriptors, seconds: secondsToWait(at: now)) {
      case ended.descriptor?: return
      case signals.descriptor?: obey()
      case let ready?:
        if ready == duties.snapshots?.fresh.descriptor { showSnapshot() } else { admit() }
      case nil: break
      }
      performDueTasks()
    }
  }

  private func secondsToWait(at now: MonotonicTime) -> Double? {
    var due = [checkDue, metricsDue, answerDue].compactMap { $0 }
    if duties.control != nil, now < admission { due.append(admission) }
    return due.min().map { max(0, $0.seconds(since: now)) }
  }

  // MARK: Signals

  private mutating func obey() {
    for signal in signals.received() {
      if signal == SIGHUP {
        if actions.reload() {
          duties.notifier?.reloading()
          isReady = false
          duties.snapshots?.request()
        } else {
          log.notice(
            .reloadIgnored, "SIGHUP ignored without remote.enabled; restart to read the configuration again")
        }
      } else if signal == SIGPWR {
        actions.powerFailing()
      } else {
        log.info(.agentStopping, "stopping", metadata: ["signal": signal == SIGTERM ? "SIGTERM" : "SIGINT"])
        duties.notifier?.stopping()
        isStopping = true
        actions.stop()
        return
      }
    }
  }

  // MARK: Progress

  private mutating func feed() {
    guard let found = check?.check(WatchedThreads.all, at: .now) else { return }
    checkDue = .after(period)
    if !found.isEmpty, found != stuck {
      log.error(
        .agentStuck, "no progress; the watchdog is not fed",
        metadata: ["threads": "\(found.joined(separator: " "))"])
    } else if found.isEmpty, !stuck.isEmpty {
      log.notice(.agentRecovered, "progress again", metadata: ["threads": "\(stuck.joined(separator: " "))"])
    }
    stuck = found
    guard stuck.isEmpty else { return }
    duties.notifier?.progress()
    // The snapshot updates the status line that the service manager shows.
    if !isStopping { duties.snapshots?.request() }
  }

  // MARK: Snapshots

  private mutating func showSnapshot() {
    guard let snapshots = duties.snapshots else { return }
    snapshots.fresh.drain()
    if let notifier = duties.notifier, !isStopping, let snapshot = snapshots.latest {
      if !isReady { notifier.ready() }
      isReady = true
      notifier.status(StatusLine.text(snapshot))
    }
    answer()
  }

  private mutating func admit() {
    guard let control = duties.control, let snapshots = duties.snapshots else { return }
    control.admit()
    guard !control.waiting.isEmpty, answerDue == nil else { return }
    if let latest = snapshots.latest, MonotonicTime.after(-Self.freshness) < latest.taken { return answer() }
    answerDue = .after(Self.snapshotTimeout)
    snapshots.request()
  }

  private mutating func answer() {
    answerDue = nil
    guard let control = duties.control, !control.waiting.isEmpty else { return }
    control.answer(StatusDocument.json(duties.snapshots?.latest, version: version, stuck: stuck))
    admission = .after(Self.pause)
  }

  private mutating func performDueTasks() {
    let now = MonotonicTime.now
    if let due = checkDue, now >= due { feed() }
    if let due = answerDue, now >= due { answer() }
    if let due = metricsDue, now >= due, let metrics = duties.metrics {
      // The file contains the previously requested snapshot; its time stamp shows the age.
      metrics.write(duties.snapshots?.latest, log: log)
      duties.snapshots?.request()
      metricsDue = .after(metrics.interval)
    }
  }
}
