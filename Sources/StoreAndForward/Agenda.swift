internal import Platform
internal import Telemetry

/// What the outbox has to report, and when its housekeeping has something to do.
struct Agenda {
  /// Seconds between a write and the sync that makes it safe, and between an acknowledgement and the deletion of its
  /// record.
  static let patience = 0.5
  /// Seconds that a record may wait for its acknowledgement before it has to be in the store: less than the second that a
  /// power cut may take, by the time of a sync.
  static let acknowledgementTime = 0.8
  /// Nanoseconds between two looks for what is too old.
  private static let expiryInterval: Int64 = 60_000_000_000
  /// Seconds over which drops are gathered into one notice.
  private static let dropInterval = 60.0

  private var notices: [OutboxNotice] = []
  /// Drops per lane that were reported, or that were there from before.
  private var reportedDrops: [Int]?
  /// Damaged records per lane that were reported, or that were there from before.
  private var reportedDamage: [Int]?
  /// By the monotonic clock; nil when nothing is due.
  private var dueAt: Int64?
  /// Since when the oldest record waits for its acknowledgement outside the store; nil when none does.
  private var recentSince: Int64?
  /// Since when a power cut may undo something; nil when nothing.
  private var unsyncedSince: Int64?
  private var lastExpiry: Int64 = 0
  /// What the timer is set to.
  private var timerDeadline: Int64?

  mutating func report(_ notice: OutboxNotice) { notices.append(notice) }

  /// Has housekeeping come by within so many seconds.
  mutating func schedule(seconds: Double) {
    let time = SystemClock.monotonic + Int64(seconds * 1e9)
    if let dueAt, dueAt <= time { return }
    dueAt = time
  }

  /// When something is due, by the monotonic clock; nil when nothing is.
  var deadline: Int64? { [dueAt, recentDue].compactMap { $0 }.min() }

  /// Sets the timer to when something is due, where it is set to another time.
  mutating func set(_ timer: TimerDescriptor) {
    guard deadline != timerDeadline else { return }
    timerDeadline = deadline
    timer.set(timerDeadline)
  }

  /// Returns whether something is due, which the caller does now.
  mutating func begin() -> Bool {
    let now = SystemClock.monotonic
    guard let deadline, now >= deadline else { return false }
    if let dueAt, now >= dueAt { self.dueAt = nil }
    return true
  }

  // MARK: Records outside the store

  private var recentDue: Int64? { recentSince.map { $0 + Int64(Self.acknowledgementTime * 1e9) } }

  /// Whether what waits outside the store has to go there.
  var isRecentDue: Bool { recentDue.map { SystemClock.monotonic >= $0 } ?? false }

  /// - Parameter since: when the oldest record that waits outside the store was accepted; nil when none waits there.
  mutating func observeRecent(since: Int64?) { recentSince = since }

  /// Returns whether it is time to look for what is too old, which the caller does now.
  mutating func beginExpiry() -> Bool {
    let now = SystemClock.monotonic
    guard now - lastExpiry > Self.expiryInterval else { return false }
    lastExpiry = now
    return true
  }

  // MARK: Syncs

  var isUnsynced: Bool { unsyncedSince != nil }

  var isSyncDue: Bool {
    unsyncedSince.map { SystemClock.monotonic - $0 >= Int64(Self.patience * 0.9e9) } ?? false
  }

  /// Something was written that a power cut may still undo.
  mutating func written() {
    if unsyncedSince == nil { unsyncedSince = SystemClock.monotonic }
    schedule(seconds: Self.patience)
  }

  /// Everything that was written is safe.
  mutating func synced() { unsyncedSince = nil }

  // MARK: Drops

  /// What was dropped in an earlier life of the store is no news.
  mutating func ignoreDrops(_ drops: [Int]) { if reportedDrops == nil { reportedDrops = drops } }

  /// Drops are reported later, in sums.
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

  /// Records that were counted before, or are reported in a notice of their own.
  mutating func ignoreDamage(_ damaged: [Int]) { reportedDamage = damaged }

  /// Reports the records that were found damaged since the last call.
  mutating func reportDamage(_ damaged: [Int]) {
    for (lane, (now, before)) in zip(DeliveryLane.allCases, zip(damaged, reportedDamage ?? damaged))
    where now > before { report(.damaged(lane, records: now - before)) }
    reportedDamage = damaged
  }

  // MARK: For the outbox

  /// The notices since the last call.
  mutating func removeNotices() -> [OutboxNotice] {
    defer { notices = [] }
    return notices
  }
}
