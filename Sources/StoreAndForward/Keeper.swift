internal import CSQLite
internal import Glibc
internal import Platform

/// What the outbox's lock guards: the store, or what stands in for it, and how far draining has come.
final class Keeper {
  /// Seconds between a write and the sync that makes it safe, and between an acknowledgement and the
  /// deletion of its record.
  static let patience = 0.5
  /// How many acknowledged records are deleted in one commit at most.
  static let removalGroup = 1024
  /// Seconds between attempts to write to a disk that took nothing.
  static let retryInterval = 5.0
  /// Seconds over which drops are gathered into one notice.
  static let dropNoticeInterval = 60.0
  /// Numbers that memory gives out when none are left below the store's mark: above any that a store gives
  /// out, and small enough for a JavaScript number.
  static let firstTemporarySeq: UInt64 = 1 << 52

  /// Why a record is to be deleted.
  enum RemovalCause { case acknowledged, expired, damaged }

  /// Where a handed-out record is.
  struct Held {
    var lane: Lane
    var place: UInt64
    var cost: Int
    /// Counts the records of a lane as they are handed out: what is between two neighbours by this number is
    /// nothing.
    var turn: Int
  }

  let path: String
  let configuration: OutboxConfiguration
  var store: Store?
  var memory: MemoryLanes
  /// Why the disk takes nothing; nil when it does.
  var degradation: String?
  var order = DrainOrder()
  var lastKnown = LastKnown()
  /// Of what was handed out ahead of its history: the topic, by place.
  var overtakers: [UInt64: String] = [:]
  /// Handed out and not answered, by the number under which they were.
  var held: [UInt64: Held] = [:]
  /// After a rewind, the places that reading comes across again: of those in `held`, and of those that are
  /// still to be deleted.
  var passed: Set<UInt64> = []
  /// Records that were read and not handed out yet, per lane: one statement serves many small requests.
  var readAhead = nothingAhead
  static let nothingAhead: [ArraySlice<LaneTable.Row>] = Lane.allCases.map { _ in [] }
  static let readAheadCount = 128
  var turns = Array(repeating: 0, count: Lane.allCases.count)
  /// Done with, and still to be deleted.
  var removals: [(record: Held, cause: RemovalCause)] = []
  var temporary: (epoch: String, next: UInt64)
  var memoryDrops = Array(repeating: 0, count: Lane.allCases.count)
  var closed = false
  private var lock: StoreLock?
  private let reserve: SpaceReserve
  /// False where there never was room for a reserve.
  private var hasReserve = false
  private var notices: [OutboxNotice] = []
  private var reportedDrops: [Int]?
  private var dueAt: Int64?
  private var hurry = false
  private var unsyncedSince: Int64?
  private var lastExpiry: Int64 = 0

  init(path: String, configuration: OutboxConfiguration) throws(OutboxError) {
    self.path = path
    self.configuration = configuration
    memory = MemoryLanes(limit: configuration.memoryBytes)
    temporary = (Store.newEpoch(), Self.firstTemporarySeq)
    lock = try StoreLock.acquire(path)
    reserve = SpaceReserve(store: path)
    openStore()
  }

  // MARK: Telling

  func tell(_ notice: OutboxNotice) { notices.append(notice) }

  func takeNotices() -> [OutboxNotice] {
    defer { notices = [] }
    return notices
  }

  /// Whether the housekeeping thread has to be woken, because something is due that it does not know of.
  func takeHurry() -> Bool {
    defer { hurry = false }
    return hurry
  }

  /// Has the housekeeping thread come by within so many seconds.
  func schedule(seconds: Double) {
    let time = SystemClock.monotonic + Int64(seconds * 1e9)
    if let dueAt, dueAt <= time { return }
    dueAt = time
    hurry = true
  }

  /// Does what is due. Returns the seconds until something may be again; nil after `close`.
  func housekeep() -> Double? {
    if closed { return nil }
    guard let due = dueAt else { return 86_400 }
    let now = SystemClock.monotonic
    guard now >= due else { return Double(due - now) * 1e-9 }
    dueAt = nil
    if degradation != nil { retry() }
    tidy(everything: false)
    reportDrops()
    guard let due = dueAt else { return 86_400 }
    return max(0, Double(due - SystemClock.monotonic) * 1e-9)
  }

  private var drops: [Int] {
    Lane.allCases.map { lane in
      let stored = store?.lanes[lane.rawValue]
      return (stored?.droppedForSpace ?? 0) + (stored?.droppedForAge ?? 0) + memoryDrops[lane.rawValue]
    }
  }

  /// Tells of drops: of the first at once, of later ones in sums.
  func noticeDrops() {
    if reportedDrops == nil { reportedDrops = drops }
    if drops != reportedDrops { schedule(seconds: Self.dropNoticeInterval) }
  }

  private func reportDrops() {
    let now = drops
    for lane in Lane.allCases {
      let count = now[lane.rawValue] - (reportedDrops?[lane.rawValue] ?? 0)
      if count > 0 {
        tell(.dropped(lane, records: count, cause: "the lane's limits of bytes or age were reached"))
      }
    }
    reportedDrops = now
  }

  // MARK: The disk

  /// Opens the store; a damaged one is set aside and salvaged, an unwilling disk leaves the keeper in memory.
  func openStore() {
    do throws(SQLiteFailure) {
      adopt(try Store(path: path))
    } catch {
      if error.isDamage { replaceStore(error) } else { degrade(error) }
    }
  }

  private func adopt(_ opened: Store) {
    store = opened
    degradation = nil
    hasReserve = reserve.take()
    learnLastKnown(opened)
    if opened.isCopy { tell(.newEpoch(opened.epoch)) }
    if reportedDrops == nil { reportedDrops = drops }
  }

  /// Decides what a failure of the store means, and goes on.
  func handle(_ failure: SQLiteFailure) {
    if failure.isDamage { replaceStore(failure) } else { degrade(failure) }
  }

  private func degrade(_ failure: SQLiteFailure) {
    let cause = failure.message.isEmpty ? "SQLite code \(failure.code)" : failure.message
    if degradation == nil { tell(.degraded("\(path): \(cause)")) }
    degradation = cause
    if failure.primaryCode == SQLITE_FULL { reserve.release() }
    schedule(seconds: Self.retryInterval)
  }

  private func replaceStore(_ failure: SQLiteFailure) {
    store = nil
    held = [:]
    passed = []
    overtakers = [:]
    lastKnown = LastKnown()
    removals = []
    rewind()
    let place = Recovery.setAside(path)
    var salvaged = 0
    do throws(SQLiteFailure) {
      let fresh = try Store(path: path)
      adopt(fresh)
      Recovery.salvage(place) { records in
        do throws(SQLiteFailure) {
          try moveIn(records, to: fresh)
          salvaged += records.count
        } catch {
          degrade(error)
        }
      }
    } catch {
      degrade(error)
    }
    tell(.setAside(path: place, cause: failure.message, salvaged: salvaged))
  }

  /// Writes records under new numbers. Returns where each went.
  @discardableResult
  func moveIn(_ records: [Record], to store: Store) throws(SQLiteFailure) -> [UInt64] {
    guard !records.isEmpty else { return [] }
    if let mark = store.sequence.markNeeded(for: records.count) { try store.reserve(mark) }
    var places: [UInt64] = []
    var moved: [(record: Record, old: UInt64)] = []
    try store.transaction(synced: true) { () throws(SQLiteFailure) in
      for var record in records {
        guard let seq = store.sequence.take() else { continue }
        let old = record.seq
        record.seq = seq
        record.storedAt = store.clock.now
        try store.insert(record)
        places.append(seq)
        moved.append((record, old))
      }
      for lane in Lane.allCases { try store.makeRoom(in: lane, bytes: configuration.limits(of: lane).bytes) }
    }
    for (record, old) in moved { lastKnown.move(record, from: old) }
    return places
  }

  /// Tries the disk again, and when it takes records moves those in memory there.
  private func retry() {
    if store == nil {
      openStore()
      guard degradation == nil else { return }
    }
    guard let store else { return }
    do throws(SQLiteFailure) {
      try makeSpace(store)
      let moved = memory.records
      let places = try moveIn(moved, to: store)
      if moved.isEmpty { try store.transaction(synced: true) { () throws(SQLiteFailure) in } }
      for (record, place) in zip(moved, places) where held[record.seq] != nil {
        held[record.seq]?.place = place
      }
      memory.removeAll()
      rewind()
      degradation = nil
      temporary.epoch = Store.newEpoch()
      tell(.recovered(records: moved.count))
    } catch {
      // A handle that outlived its file system never works again; a new one may.
      if error.primaryCode != SQLITE_FULL { self.store = nil }
      handle(error)
    }
  }

  /// Gives what was deleted back to the disk, and takes the reserve again.
  private func makeSpace(_ store: Store) throws(SQLiteFailure) {
    try store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try store.transaction(synced: true) { () throws(SQLiteFailure) in try delete(removals, from: store) }
    forgetRemovals()
    try store.database.execute("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    if hasReserve, !reserve.take() {
      throw SQLiteFailure(code: SQLITE_FULL, message: "the disk is full", operation: "take the reserve")
    }
  }

  // MARK: Keeping tidy

  /// Something was written that a power cut may still undo.
  func noteUnsynced() {
    if unsyncedSince == nil { unsyncedSince = SystemClock.monotonic }
    schedule(seconds: Self.patience)
  }

  func noteSynced() { unsyncedSince = nil }

  /// Makes everything safe, if the disk lets it.
  func flush() {
    if degradation != nil, !closed { retry() }
    tidy(everything: true)
  }

  /// Deletes what was acknowledged and makes what was written safe.
  func tidy(everything: Bool) {
    guard let store else { return }
    let overdue = unsyncedSince.map { SystemClock.monotonic - $0 >= Int64(Self.patience * 0.9e9) } ?? false
    let sync = overdue || (everything && unsyncedSince != nil)
    guard sync || !removals.isEmpty else { return }
    do throws(SQLiteFailure) {
      try store.transaction(synced: sync) { () throws(SQLiteFailure) in
        try delete(removals, from: store)
        if sync { try store.setMeta("clock", String(store.clock.now)) }
      }
      forgetRemovals()
      if sync { noteSynced() }
      noticeDrops()
    } catch {
      handle(error)
    }
  }

  func forgetRemovals() {
    if !passed.isEmpty { for removal in removals { forgetPassed(removal.record) } }
    if !overtakers.isEmpty { for removal in removals { overtakers[removal.record.place] = nil } }
    removals.removeAll(keepingCapacity: true)
  }

  /// What was read ahead is met once more, though it is deleted by now.
  private func forgetPassed(_ record: Held) {
    if let end = readAhead[record.lane.rawValue].last?.seq, end >= record.place { return }
    passed.remove(record.place)
  }

  /// Drops what is too old, now and then.
  func expire() {
    guard let store, degradation == nil, SystemClock.monotonic - lastExpiry > 60_000_000_000 else { return }
    lastExpiry = SystemClock.monotonic
    do throws(SQLiteFailure) {
      try store.transaction(synced: false) { () throws(SQLiteFailure) in
        for lane in Lane.allCases {
          if let age = configuration.limits(of: lane).age { try store.expire(lane, age: age, limit: 1000) }
        }
      }
      noticeDrops()
    } catch {
      handle(error)
    }
  }

  /// Returns whether it was open.
  func close() -> Bool {
    guard !closed else { return false }
    flush()
    if let store {
      // In good order nothing is lost between the last number and the mark.
      try? store.transaction(synced: true) { () throws(SQLiteFailure) in
        try store.setMeta("reserved", String(store.sequence.next))
        try store.setMeta("clock", String(store.clock.now))
      }
      try? store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    store = nil
    lock = nil
    degradation = "closed"
    closed = true
    return true
  }
}
