internal import Platform
internal import Telemetry

/// The outbox's pending notices, and the schedule of its housekeeping.
struct Agenda {
  /// Maximum delay in s between a write and its sync, and between an acknowledgement and the deletion of its
  /// record.
  static let maxDelay = 0.5
  /// Time in s after which an unacknowledged record must be in the store. With the time of a sync, this is
  /// below the second that a power cut may lose.
  static let acknowledgementTime = 0.8
  /// Interval in s between checks for expired records.
  private static let expiryInterval = 60.0
  /// Time in s over which drops are combined into one notice.
  private static let dropInterval = 60.0

  private var notices: [OutboxNotice] = []
  /// Number of dropped records per lane that have been reported or precede this run.
  private var reportedDrops: [Int]?
  /// Number of damaged records per lane that have been reported or precede this run.
  private var reportedDamage: [Int]?
  /// Time at which housekeeping is due; nil if nothing is due.
  private var dueAt: MonotonicTime?
  /// Time since which the oldest record outside the store waits for its acknowledgement; nil if there is
  /// none.
  private var recentSince: MonotonicTime?
  /// Time of the oldest write that a power cut could still undo; nil if there is none.
  private var unsyncedSince: MonotonicTime?
  private var lastExpiry = MonotonicTime.start
  /// Deadline to which the timer is set.
  private var timerDeadline: MonotonicTime?

  mutating func report(_ notice: OutboxNotice) { notices.append(notice) }

  /// Schedules housekeeping within a time in s.
  mutating func schedule(seconds: Double) {
    let time = MonotonicTime.after(seconds)
    if let dueAt, dueAt <= time { return }
    dueAt = time
  }

  /// Time of the next due task; nil if there is none.
  var deadline: MonotonicTime? {
    guard let dueAt, let recentDue else { return dueAt ?? recentDue }
    return min(dueAt, recentDue)
  }

  /// Sets the timer to the deadline if that has changed.
  mutating func set(_ timer: TimerDescriptor) {
    let deadline = deadline
    guard deadline != timerDeadline else { return }
    timerDeadline = deadline
    timer.set(deadline)
  }

  /// Returns whether housekeeping is due; the caller then performs it.
  mutating func begin() -> Bool {
    let now = MonotonicTime.now
    guard let deadline, now >= deadline else { return false }
    if let dueAt, now >= dueAt { self.dueAt = nil }
    return true
  }

  // MARK: Records outside the store

  private var recentDue: MonotonicTime? { recentSince?.advanced(bySeconds: Self.acknowledgementTime) }

  /// True if the records outside the store must be written to it.
  var isRecentDue: Bool { recentDue?.hasPassed ?? false }

  /// - Parameter since: time of acceptance of the oldest record outside the store; nil if there is none.
  mutating func observeRecent(since: MonotonicTime?) { recentSince = since }

  /// Returns whether a check for expired records is due; the caller then performs it.
  mutating func beginExpiry() -> Bool {
    let now = MonotonicTime.now
    guard now.seconds(since: lastExpiry) > Self.expiryInterval else { return false }
    lastExpiry = now
    return true
  }

  // MARK: Syncs

  var isUnsynced: Bool { unsyncedSince != nil }

  var isSyncDue: Bool { unsyncedSince.map { $0.secondsElapsed >= Self.maxDelay * 0.9 } ?? false }

  /// Records a write that a power cut could still undo.
  mutating func written() {
    if unsyncedSince == nil { unsyncedSince = .now }
    schedule(seconds: Self.maxDelay)
  }

  /// Records that all written records were synced.
  mutating func synced() { unsyncedSince = nil }

  // MARK: Drops

  /// Ignores drops of earlier runs.
  mutating func ignoreDrops(_ drops: [Int]) { if reportedDrops == nil { reportedDrops = drops } }

  /// Schedules a combined report of drops.
  mutating func observeDrops(_ drops: [Int]) {
    ignoreDrops(drops)
    if drops != reportedDrops { schedule(seconds: Self.dropInterval) }
  }

  mutating func reportDrops(_ drops: [Int]) {
    for (lane, (now, before)) in zip(DeliveryLane.allCases, zip(drops, reportedDrops ?? drops))
    where now > before {
      report(.dropped(lane, records: now - before, cause: "the lane's limits of bytes or age were reached"))
    }
    reportedDrops = drops
  }

  // MARK: Damage

  /// Ignores damaged records that were counted before, or are reported in a separate notice.
  mutating func ignoreDamage(_ damaged: [Int]) { reportedDamage = damaged }

  /// Reports the records found damaged since the last call.
  mutating func reportDamage(_ damaged: [Int]) {
    for (lane, (now, before)) in zip(DeliveryLane.allCases, zip(damaged, reportedDamage ?? damaged))
    where now > before { report(.damaged(lane, records: now - before)) }
    reportedDamage = damaged
  }

  // MARK: For the outbox

  /// Removes and returns the notices since the last call.
  mutating func removeNotices() -> [OutboxNotice] {
    defer { notices = [] }
    return notices
  }
}
