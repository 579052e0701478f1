internal import Platform
internal import SQLite
internal import Telemetry

/// State behind the outbox's lock: the store, or its replacement in memory while the disk is not writable.
final class OutboxState {
  /// Maximum number of acknowledged records deleted in one commit.
  private static let removalGroup = 1024
  /// Interval in s between attempts to write to an unwritable disk.
  private static let retryInterval = 5.0

  private let path: String
  let configuration: OutboxConfiguration
  private(set) var store: Store?
  var unstored: UnstoredRecords
  var drain = Drain()
  var agenda = Agenda()
  private var temporary = TemporarySequence()
  var places = RecordPositions()
  private var documents = PreservedDocuments()
  /// The reason why the disk is not writable; nil if it is.
  private var degradation: String?
  private var lock: StoreLock?
  private var reserve: SpaceReserve
  private var isClosed = false
  private let takeover: Takeover

  /// - Parameter isCancelled: called during the salvage of a damaged store; if true, the rest is salvaged at
  ///   the next start.
  init(
    path: String, configuration: OutboxConfiguration, isCancelled: @escaping @Sendable () -> Bool
  ) throws(OperationError) {
    self.path = path
    takeover = Takeover(path: path, isCancelled: isCancelled)
    self.configuration = configuration
    unstored = UnstoredRecords(configuration)
    lock = try StoreLock.acquire(path)
    reserve = SpaceReserve(store: path)
    openStore()
    // SQLite writes when it opens a store. Without a writable disk, the documents are read past it, so that later
    // versions continue from them.
    if store == nil { documents.learn(Salvage.documents(path)) }
    resumeSalvage()
    recoverRecent()
    agenda.ignoreDrops(drops)
  }

  // MARK: Accepting

  /// Accepts the messages of several calls in one commit.
  func commit(_ batches: [Batch]) {
    expire()
    reserveNumbers(batches.reduce(0) { $0 + $1.messages.count })
    let records = batches.flatMap { $0.accept(naming: &temporary, &places, store) }
    for record in records { drain.accepted(record) }
    for document in batches.flatMap(\.documents) { documents.accept(document) }
    if !documents.isWaiting, keepRecent(records) { return }
    if write(records) { return }
    for record in records {
      for dropped in unstored.insert(record) { drain.droppedFromMemory(dropped) }
    }
    agenda.observeDrops(drops)
  }

  /// Returns an identity that no record has or will have.
  func makeIdentity() -> MessageIdentity {
    reserveNumbers(1)
    return temporary.nextIdentity(store)
  }

  /// Starts a new epoch for subsequent messages, also after a restart.
  func beginEpoch() {
    temporary.beginEpoch()
    guard let store else { return }
    store.epoch = Store.newEpoch()
    guard degradation == nil else { return }
    attempt { () throws(SQLiteError) in
      try transact(store, isSynced: true) { () throws(SQLiteError) in try store.setMeta("epoch", store.epoch)
      }
    }
  }

  private func reserveNumbers(_ count: Int) {
    // A second time, because a store that is found to be damaged is replaced by a new one.
    for _ in 0..<2 {
      guard degradation == nil, let store, let mark = store.sequence.markNeeded(for: count) else { return }
      attempt { () throws(SQLiteError) in try store.reserve(mark) }
    }
  }

  /// Writes the recent records (`RecentRecords`), which are older, and then `records`. Returns whether all of
  /// them are in the store.
  private func write(_ records: [OutboxRecord], isSynced: Bool = false) -> Bool {
    guard degradation == nil, let store else { return false }
    let recent = unstored.records(before: records)
    let lanes = Set((recent + records).map(\.lane))
    let isSynced =
      isSynced || documents.isWaiting
      || lanes.contains { configuration.limits(of: $0).durability == .beforeAccepting }
    let isWritten = attempt { () throws(SQLiteError) in
      try transact(store, isSynced: isSynced) { () throws(SQLiteError) in
        for record in recent { try store.insert(record) }
        for record in records { try store.insert(record) }
        for overtaking in drain.overtakings { try store.insert(overtaking) }
        try store.makeRoom(in: lanes, configuration)
        try documents.writeWaiting(to: store)
      }
    }
    if isWritten {
      documents.written()
      drain.stored(recent)
      forgetRecent()
      if !isSynced { agenda.written() }
    }
    // If the store was damaged, it has been replaced by a new one, which may accept the records.
    guard !isWritten, degradation == nil, let fresh = self.store, fresh !== store else { return isWritten }
    return attempt { () throws(SQLiteError) in
      try move(records, to: fresh) { () throws(SQLiteError) in try documents.writeWaiting(to: fresh) }
      documents.written()
    }
  }

  /// Returns the newest document of a name; nil if there is none.
  func document(_ name: String) -> [UInt8]? { documents[name] }

  /// Stores a document that belongs to no records.
  /// - Parameter isHeld: true if the document is held in memory while the disk is not writable; otherwise the
  ///   previous version remains.
  /// - Returns: false if it was not stored.
  func preserve(_ document: PreservedDocument, isHeld: Bool) -> Bool {
    let before = documents
    documents.accept(document)
    defer { if !isHeld, documents.isWaiting { documents = before } }
    // A second time, because a store that is found to be damaged is replaced by a new one.
    for _ in 0..<2 {
      guard degradation == nil, let store else { return false }
      let isWritten = attempt { () throws(SQLiteError) in
        try transact(store, isSynced: true) { () throws(SQLiteError) in try documents.writeWaiting(to: store)
        }
      }
      if isWritten {
        documents.written()
        return true
      }
    }
    return false
  }

  // MARK: Recent records

  /// Holds records outside the store until they are acknowledged or too old. Returns false if they must be
  /// stored immediately.
  private func keepRecent(_ records: [OutboxRecord]) -> Bool {
    guard degradation == nil, let store else { return false }
    let isKept = unstored.keep(records) { lane in
      store.lanes[lane.rawValue].records - drain.removals.count { $0.record.lane == lane }
    }
    if isKept { observeRecent() }
    return isKept
  }

  /// Moves the recent records into the store and syncs it.
  func preserveRecent() {
    guard degradation == nil, !unstored.isEmpty else { return }
    _ = write([], isSynced: true)
  }

  /// Clears the recent records after they were stored.
  private func forgetRecent() {
    unstored.removeAll()
    observeRecent()
  }

  /// Updates the schedule with the age of records outside the store.
  func observeRecent() {
    agenda.observeRecent(since: unstored.waitingSince(isDegraded: degradation != nil))
  }

  /// Restores records that a crashed process left outside the store.
  private func recoverRecent() {
    let records = unstored.open(beside: path)
    guard !records.isEmpty else { return }
    for record in records { places.observe(record.seq) }
    if let store, attempt({ () throws(SQLiteError) in try move(records, to: store) }) {
      return unstored.removeAll()
    }
    // The recovered records are written to the store together with the next records, once the disk is
    // writable.
    unstored.keepRecovered(records)
    for record in records { drain.accepted(record) }
    observeRecent()
  }

  // MARK: Handing out, and answers

  func next(limit: Int) -> [OutboxRecord] {
    expire()
    var result: [OutboxRecord] = []
    result.reserveCapacity(limit)
    attempt { () throws(SQLiteError) in
      try drain.next(
        limit: limit, store: store, memory: unstored.lanes, limits: configuration, now: .now,
        into: &result)
    }
    if !drain.removals.isEmpty { agenda.schedule(seconds: Agenda.maxDelay) }
    return result
  }

  func offerAgain() {
    tidy()
    drain.offerAgain()
  }

  func remove(_ seqs: [UInt64]) {
    var recent: [(seq: UInt64, lane: DeliveryLane)] = []
    for seq in seqs {
      guard let record = drain.answer(seq) else { continue }
      if record.isInMemory { recent.append((record.place, record.lane)) }
      drain.acknowledge(record)
    }
    unstored.remove(recent)
    observeRecent()
    // Acknowledged records are deleted in large groups, to save commits while a backlog drains, but at most
    // half a second late.
    if drain.removals.count >= Self.removalGroup {
      tidy()
    } else if !drain.removals.isEmpty {
      agenda.schedule(seconds: Agenda.maxDelay)
    }
  }

  // MARK: The disk

  /// Opens the store. A damaged store is set aside and salvaged; if the disk is not writable, records are
  /// held in memory.
  private func openStore() {
    let lost = LostCommits.read(path)
    let known = documents
    let isOpen = attempt { () throws(SQLiteError) in adopt(try Store(path: path)) }
    if isOpen, let store, let lost { restore(lost, to: store, known) }
    // SQLite continues a log after its last complete commit, and older frames remain after the new end. The
    // checkpoint empties the log, because the next start would mistake those frames for damage.
    if isOpen, let store { attempt { () throws(SQLiteError) in try store.database.checkpoint() } }
  }

  /// Restores the verifiable records of commits that SQLite ignores. Starts a new epoch, because an ignored
  /// commit may have reserved sequence numbers, which would be assigned a second time.
  /// - Parameter known: the documents before the store was opened, which are newer than those of the store.
  private func restore(_ lost: LostCommits, to opened: Store, _ known: PreservedDocuments) {
    opened.epoch = Store.newEpoch()
    documents.restore(lost.documents.filter { !known.contains($0.key) })
    let records = lost.records.filter { $0.seq > opened.newest[$0.lane.rawValue] }
    for record in records { places.observe(record.seq) }
    let isStored = attempt { () throws(SQLiteError) in
      try move(records, to: opened) { () throws(SQLiteError) in
        opened.countDamaged(lost.damagedRecords)
        try opened.setMeta("epoch", opened.epoch)
        try documents.writeStored(to: opened)
      }
    }
    if !isStored {
      unstored.keepRecovered(records)
      for record in records { drain.accepted(record) }
    }
    agenda.ignoreDamage(opened.lanes.map(\.damaged))
    agenda.report(
      .logDamaged(path: path, pages: lost.damagedPages, salvaged: records.count, lost: lost.damagedRecords))
  }

  private func adopt(_ opened: Store) {
    store = opened
    agenda.ignoreDamage(opened.lanes.map(\.damaged))
    reserve.allocate()
    if opened.isCopy { agenda.report(.newEpoch(opened.epoch)) }
    attempt { () throws(SQLiteError) in
      places.observe(try opened.lastPlace())
      try drain.learn(from: opened)
      documents.learn(try opened.documents())
    }
  }

  /// Runs an operation of the store and handles its failure. Returns whether it succeeded.
  @discardableResult
  func attempt(_ body: () throws(SQLiteError) -> Void) -> Bool {
    do throws(SQLiteError) {
      try body()
      return true
    } catch {
      handle(error)
      return false
    }
  }

  /// Handles an error of the store.
  private func handle(_ failure: SQLiteError) {
    guard failure.isDamage || failure.isSchemaMismatch else { return degrade(failure) }
    replaceStore(failure)
    guard degradation == nil, let store, !unstored.isEmpty else { return }
    do throws(SQLiteError) {
      try move(unstored.records, overtakings: drain.overtakings, to: store)
      forgetRecent()
      drain.rewind()
    } catch {
      degrade(error)
    }
  }

  private func degrade(_ failure: SQLiteError) {
    if degradation == nil { agenda.report(.degraded("\(path): \(failure.message)")) }
    degradation = failure.message
    if failure.code.primary == .full { reserve.release() }
    agenda.schedule(seconds: Self.retryInterval)
    observeRecent()
  }

  private func replaceStore(_ failure: SQLiteError) {
    store = nil
    drain = Drain()
    let place = Recovery.setAside(path)
    do throws(SQLiteError) {
      let fresh = try Store(path: path)
      adopt(fresh)
      salvage(place, into: fresh, cause: failure.message)
    } catch {
      agenda.report(.setAside(path: place, cause: failure.message, salvaged: 0, lost: nil))
      degrade(error)
    }
  }

  /// Transfers the documents and the verifiable records of a damaged store.
  private func salvage(_ place: String, into fresh: Store, cause: String) {
    documents.learn(Salvage.documents(place))
    guard
      attempt({ () throws(SQLiteError) in
        try transact(fresh, isSynced: true) { () throws(SQLiteError) in try documents.writeStored(to: fresh) }
      })
    else { return }
    let outcome = takeover.run(place, into: fresh, cause: cause) { records, body throws(SQLiteError) in
      try move(records, to: fresh, body)
    }
    agenda.report(outcome.notice)
    if let failure = outcome.failure { return degrade(failure) }
    guard outcome.isComplete else { return }
    attempt { () throws(SQLiteError) in
      try transact(fresh, isSynced: true) { () throws(SQLiteError) in
        fresh.countDamaged(outcome.lost)
        try takeover.forgetProgress(in: fresh)
      }
      takeover.finish()
      agenda.ignoreDamage(fresh.lanes.map(\.damaged))
    }
  }

  /// Resumes an interrupted salvage.
  private func resumeSalvage() {
    guard degradation == nil, let store, let place = takeover.pending else { return }
    salvage(place, into: store, cause: "its salvage was interrupted")
  }

  /// Writes records at new positions, together with `body` in the same transaction.
  /// - Parameter overtakings: records that were delivered before some of `records`; each receives a new
  ///   position in order.
  func move(
    _ records: [OutboxRecord], overtakings: [Overtaking] = [], to store: Store,
    _ body: () throws(SQLiteError) -> Void = {}
  ) throws(SQLiteError) {
    var renumbering = Renumbering(records, overtakings)
    try transact(store, isSynced: true) { () throws(SQLiteError) in
      try renumbering.write(to: store, &places)
      try store.makeRoom(in: Set(DeliveryLane.allCases), configuration)
      try body()
    }
    renumbering.apply(to: &drain)
    drain.dropped(by: store)
  }

  /// Retries the disk. If it is writable again, the records in memory are moved into the store.
  private func retry() {
    if store == nil { openStore() }
    guard let store else { return }
    do throws(SQLiteError) {
      try makeSpace(store)
      let records = unstored.records
      try move(records, overtakings: drain.overtakings, to: store) { () throws(SQLiteError) in
        // All documents are written, because the store may be a new one that replaced a damaged store.
        try documents.writeStored(to: store)
        try documents.writeWaiting(to: store)
      }
      documents.written()
      forgetRecent()
      drain.rewind()
      degradation = nil
      temporary.end()
      agenda.report(.recovered(records: records.count))
      resumeSalvage()
    } catch {
      // After its file system was unmounted, a database handle never works again, but a new handle may.
      if error.code.primary != .full { self.store = nil }
      handle(error)
    }
  }

  /// Returns deleted space to the disk, and allocates the reserve again.
  private func makeSpace(_ store: Store) throws(SQLiteError) {
    try store.database.checkpoint()
    try transact(store, isSynced: true) { () throws(SQLiteError) in }
    try store.database.execute("PRAGMA incremental_vacuum")
    try store.database.checkpoint()
    guard reserve.restore() else {
      throw SQLiteError(code: .full, message: "the disk is full", sql: "reserve", file: path)
    }
  }

  /// Runs `body` in a transaction that first deletes completed records. Otherwise `body` could replace or
  /// drop completed records, which would then be counted twice.
  func transact(
    _ store: Store, isSynced: Bool = false, _ body: () throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    let removals = drain.removals
    try store.transaction(synced: isSynced) { () throws(SQLiteError) in
      try store.delete(removals)
      try body()
    }
    drain.removalsDeleted()
    drain.dropped(by: store)
    if isSynced { agenda.synced() }
    agenda.observeDrops(drops)
  }

  // MARK: Housekeeping

  /// Performs due housekeeping. Returns the notices since the last call; nil after `close`.
  func housekeep() -> [OutboxNotice]? {
    if isClosed { return nil }
    guard agenda.begin() else { return agenda.removeNotices() }
    if degradation != nil { retry() }
    if agenda.isRecentDue { preserveRecent() }
    tidy()
    agenda.reportDrops(drops)
    if let store { agenda.reportDamage(store.lanes.map(\.damaged)) }
    return agenda.removeNotices()
  }

  /// Removes and returns the notices since the last call.
  func removeNotices() -> [OutboxNotice] { agenda.removeNotices() }

  /// Sets the timer to the deadline if that has changed.
  func schedule(_ timer: TimerDescriptor) { agenda.set(timer) }

  /// Deletes acknowledged records and syncs written ones.
  /// - Parameter everything: true to include writes of the last half second.
  private func tidy(everything: Bool = false) {
    guard let store else { return }
    let isSynced = everything ? agenda.isUnsynced : agenda.isSyncDue
    guard isSynced || !drain.removals.isEmpty else { return }
    attempt { () throws(SQLiteError) in
      try transact(store, isSynced: isSynced) { () throws(SQLiteError) in
        if isSynced { try store.setMeta("clock", String(store.clock.now)) }
      }
    }
  }

  /// Drops expired records at intervals.
  private func expire() {
    guard let store, degradation == nil, agenda.beginExpiry() else { return }
    attempt { () throws(SQLiteError) in
      try transact(store) { () throws(SQLiteError) in try store.expire(configuration, limit: 1000) }
    }
  }

  /// Makes all records safe if the disk is writable.
  func flush() {
    if degradation != nil, !isClosed { retry() }
    preserveRecent()
    tidy(everything: true)
  }

  /// Closes the store. Returns the remaining records; nil if it was already closed.
  func close() -> OutboxRemainder? {
    guard !isClosed else { return nil }
    flush()
    let waiting = status.records
    if let store {
      // Stores the next sequence number as the mark, so that the next start skips no reserved numbers after a
      // clean stop.
      try? store.transaction(synced: true) { () throws(SQLiteError) in
        try store.setMeta("reserved", String(store.sequence.upcoming))
        try store.setMeta("clock", String(store.clock.now))
      }
      try? store.database.checkpoint()
    }
    store = nil
    let lost = unstored.close()
    lock = nil
    degradation = "closed"
    isClosed = true
    return OutboxRemainder(kept: waiting - lost, lost: lost)
  }

  // MARK: Counters

  /// Number of records per lane that were dropped because of the lane's limits.
  private var drops: [Int] {
    OutboxStatus.lanes(store, unstored.lanes, removals: []).map { $0.droppedForSpace + $0.droppedForAge }
  }

  var status: OutboxStatus {
    OutboxStatus(
      mode: degradation.map(OutboxStatus.Mode.memory) ?? .durable,
      epoch: store?.epoch ?? temporary.identity.epoch,
      lanes: OutboxStatus.lanes(store, unstored.lanes, removals: drain.removals),
      deadLetters: store?.deadCount ?? 0,
      refusedTopics: drain.refusals.topics,
      commits: store?.commits ?? 0)
  }
}
