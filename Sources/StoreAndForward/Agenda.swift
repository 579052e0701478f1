internal import Platform
internal import Telemetry

/// What the outbox has to report, and when its housekeeping has something to do.
struct Agenda {
  /// Seconds between a write and the sync that makes it safe, and between an acknowledgement and the deletion of its
  /// record.
  static let patience = 0.5
  /// Nanoseconds between two looks for what is too old.
  private static let expiryInterval: Int64 = 60_000_000_000
  /// Seconds over which drops are gathered into one notice.
  private static let dropInterval = 60.0

  private var notices: [OutboxNotice] = []
  /// Drops per lane that were reported, or that were there from before.
  private var reportedDrops: [Int]?
  /// By the monotonic clock; nil when nothing is due.
  private var dueAt: Int64?
  private var needsWake = false
  /// Since when a power cut may undo something; nil when nothing.
  private var unsyncedSince: Int64?
  private var lastExpiry: Int64 = 0

  mutating func report(_ notice: OutboxNotice) { notices.append(notice) }

  /// Has housekeeping come by within so many seconds.
  mutating func schedule(seconds: Double) {
    let time = SystemClock.monotonic + Int64(seconds * 1e9)
    if let dueAt, dueAt <= time { return }
    dueAt = time
    needsWake = true
  }

  /// The seconds until something is due; at most a day.
  var pause: Double {
    guard let dueAt else { return 86_400 }
    return min(86_400, max(0, Double(dueAt - SystemClock.monotonic) * 1e-9))
  }

  /// Returns whether something is due, which the caller does now.
  mutating func begin() -> Bool {
    guard let dueAt, SystemClock.monotonic >= dueAt else { return false }
    self.dueAt = nil
    return true
  }

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

  // MARK: For the outbox

  /// The notices since the last call, and whether the housekeeping thread sleeps past what is due.
  mutating func removeNews() -> (notices: [OutboxNotice], needsWake: Bool) {
    defer { (notices, needsWake) = ([], false) }
    return (notices, needsWake)
  }
}
