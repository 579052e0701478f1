internal import Platform
internal import SQLite
internal import Telemetry

/// What the outbox's lock guards: the store, or what stands in for it while the disk takes nothing.
final class Keeper {
  /// How many acknowledged records are deleted in one commit at most.
  private static let removalGroup = 1024
  /// Seconds between attempts to write to a disk that took nothing.
  private static let retryInterval = 5.0

  private let path: String
  private let configuration: OutboxConfiguration
  private(set) var store: Store?
  /// Records outside the store: the recent ones, and all while the disk takes nothing. Those of a lane are newer than what
  /// the store has of it.
  private var memory: MemoryLanes
  /// What the recent ones would be found in after a crash; nil where it is not wanted or cannot be had.
  private var recent: RecentRecords?
  /// The first record of each call since the oldest that is still recent, and when it was accepted.
  private var recentTimes: [(seq: UInt64, time: Int64)] = []
  /// What the timer is set to.
  private var timerDeadline: Int64?
  private var drain = Drain()
  private var agenda = Agenda()
  private var temporary = TemporarySequence()
  /// Why the disk takes nothing; nil when it does.
  private var degradation: String?
  private var lock: StoreLock?
  private let reserve: SpaceReserve
  /// False where there never was room for a reserve.
  private var hasReserve = false
  private var isClosed = false
  private let isCancelled: @Sendable () -> Bool

  /// - Parameter isCancelled: asked while a damaged store is salvaged; what is left then is salvaged at the next start.
  init(
    path: String, configuration: OutboxConfiguration, isCancelled: @escaping @Sendable () -> Bool
  ) throws(OutboxError) {
    self.path = path
    self.isCancelled = isCancelled
    self.configuration = configuration
    memory = MemoryLanes(limit: configuration.memoryBytes)
    lock = try StoreLock.acquire(path)
    reserve = SpaceReserve(store: path)
    openStore()
    resumeSalvage()
    if configuration.recentBytes > 0 { recoverRecent() }
    agenda.ignoreDrops(drops)
  }

  // MARK: Accepting

  /// Accepts the messages of several calls in one commit.
  func commit(_ batches: [Batch]) {
    expire()
    let records = batches.flatMap { batch in accept(batch) }
    for record in records { drain.accepted(record) }
    if keepRecent(records) || write(records) { return }
    for record in records {
      for dropped in memory.insert(record) { drain.droppedFromMemory(dropped) }
    }
    agenda.observeDrops(drops)
  }

  /// Names the records of a batch and makes their payloads.
  private func accept(_ batch: Batch) -> [OutboxRecord] {
    reserveNumbers(batch.messages.count)
    return batch.messages.map { message in
      let identity = temporary.nextIdentity(store)
      batch.identities.append(identity)
      var record = message.record(as: identity)
      record.seq = identity.seq
      record.qos = min(record.qos, 2)
      record.storedAt = store?.clock.now ?? 0
      return record
    }
  }

  /// A name that no record has or will have.
  func makeIdentity() -> MessageIdentity {
    reserveNumbers(1)
    return temporary.nextIdentity(store)
  }

  /// Names what follows in another epoch, also after a restart.
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
    guard degradation == nil, let store, let mark = store.sequence.markNeeded(for: count) else { return }
    attempt { () throws(SQLiteError) in try store.reserve(mark) }
  }

  /// Returns whether the disk took them, and the recent records before them.
  private func write(_ records: [OutboxRecord], isSynced: Bool = false) -> Bool {
    guard degradation == nil, let store else { return false }
    let newStates = Set(records.filter { $0.lane == .state }.map(\.topic))
    let recent = memory.records.filter { $0.lane != .state || !newStates.contains($0.topic) }
    let lanes = Set((recent + records).map(\.lane))
    let isSynced =
      isSynced || lanes.contains { configuration.limits(of: $0).durability == .beforeAccepting }
    let isWritten = attempt { () throws(SQLiteError) in
      try transact(store, isSynced: isSynced) { () throws(SQLiteError) in
        for record in recent { try store.insert(record) }
        for record in records { try store.insert(record) }
        for overtaking in drain.overtakings { try store.insert(overtaking) }
        try store.makeRoom(in: lanes, configuration)
      }
    }
    if isWritten {
      drain.stored(recent)
      forgetRecent()
      if !isSynced { agenda.written() }
    }
    // After damage there is a new store, which has nothing against these.
    guard !isWritten, degradation == nil, let fresh = self.store, fresh !== store else { return isWritten }
    return attempt { () throws(SQLiteError) in try move(records, to: fresh) }
  }

  // MARK: Recent records

  /// Keeps records out of the store for as long as their broker may take to acknowledge them. Returns false for those that
  /// belong there at once.
  private func keepRecent(_ records: [OutboxRecord]) -> Bool {
    guard degradation == nil, let store, let recent, let first = records.first else { return false }
    var costs = DeliveryLane.allCases.map { memory.bytes($0) }
    for record in records { costs[record.lane.rawValue] += record.cost }
    let limit = min(configuration.recentBytes, configuration.memoryBytes)
    guard costs.reduce(0, +) <= limit else { return false }
    for lane in Set(records.map(\.lane)) {
      let limits = configuration.limits(of: lane)
      let waiting = store.lanes[lane.rawValue].records - drain.removals.count { $0.record.lane == lane }
      guard limits.durability == .withinASecond, waiting == 0, costs[lane.rawValue] <= limits.bytes else {
        return false
      }
    }
    guard recent.append(records) else { return false }
    for record in records { _ = memory.insert(record) }
    recentTimes.append((first.seq, SystemClock.monotonic))
    observeRecent()
    return true
  }

  /// Moves the recent records into the store, synced.
  private func preserveRecent() {
    guard degradation == nil, !memory.isEmpty else { return }
    _ = write([], isSynced: true)
  }

  /// The store has the recent records.
  private func forgetRecent() {
    memory.removeAll()
    recent?.reset()
    observeRecent()
  }

  /// Recent records are done with.
  private func removeRecent(_ seqs: [UInt64]) {
    guard !seqs.isEmpty else { return }
    if memory.isEmpty { recent?.reset() } else { recent?.remove(seqs) }
    observeRecent()
  }

  /// Looks whether records wait outside the store, and since when.
  private func observeRecent() {
    guard degradation == nil, let oldest = memory.oldest else {
      recentTimes = []
      return agenda.observeRecent(since: nil)
    }
    while recentTimes.count > 1, recentTimes[1].seq <= oldest { recentTimes.removeFirst() }
    agenda.observeRecent(since: recentTimes.first?.time)
  }

  /// Takes over what a process that died left outside the store.
  private func recoverRecent() {
    recent = RecentRecords(path: path + ".recent")
    let records = recent?.recover() ?? []
    guard let first = records.first else { return recent?.reset() ?? () }
    if let store, attempt({ () throws(SQLiteError) in try move(records, to: store) }) {
      recent?.reset()
      return
    }
    // They go to the store with what else comes, once it takes it.
    for record in records {
      _ = memory.insert(record)
      drain.accepted(record)
    }
    recentTimes.append((first.seq, SystemClock.monotonic))
    observeRecent()
  }

  // MARK: Handing out, and answers

  func next(limit: Int) -> [OutboxRecord] {
    expire()
    var result: [OutboxRecord] = []
    result.reserveCapacity(limit)
    attempt { () throws(SQLiteError) in
      try drain.next(
        limit: limit, store: store, memory: memory, limits: configuration, now: SystemClock.monotonic,
        into: &result)
    }
    if !drain.removals.isEmpty { agenda.schedule(seconds: Agenda.patience) }
    return result
  }

  func offerAgain() {
    tidy()
    drain.offerAgain()
  }

  func remove(_ seqs: [UInt64]) {
    var recent: [UInt64] = []
    for seq in seqs {
      guard let record = drain.answer(seq) else { continue }
      if record.isInMemory, memory.remove(record.place, from: record.lane) != nil {
        recent.append(record.place)
      }
      drain.acknowledge(record)
    }
    removeRecent(recent)
    // Few commits while a backlog drains, and none of them more than half a second late.
    if drain.removals.count >= Self.removalGroup {
      tidy()
    } else if !drain.removals.isEmpty {
      agenda.schedule(seconds: Agenda.patience)
    }
  }

  /// Keeps a record that nobody may publish now; a dead letter when it has waited for too long, or cannot wait. Returns nil
  /// when it was not handed out.
  func refuse(_ seq: UInt64, reason: String, isLasting: Bool) -> OutboxRefusal? {
    guard let place = drain.record(seq) else { return nil }
    var found = memory.find(place.place, in: place.lane)
    if found == nil {
      attempt { () throws(SQLiteError) in found = try store?.find(place.place, in: place.lane) }
    }
    guard let found else { return nil }
    let age = (store?.clock.now ?? found.storedAt) - found.storedAt
    let isKept =
      !isLasting && age < Int64(configuration.refusedAge)
      && drain.withhold(seq, topic: found.topic, at: SystemClock.monotonic)
    if !isKept { reject(seq, reason: reason) }
    return OutboxRefusal(topic: found.topic, isKept: isKept)
  }

  func reject(_ seq: UInt64, reason: String) {
    guard let place = drain.answer(seq) else { return }
    // From memory it goes either way; on a disk that fails it stays, and is not offered again before the next connection.
    let fromMemory = memory.find(place.place, in: place.lane)
    let isKept = attempt { () throws(SQLiteError) in
      guard let store else { return }
      guard let record = fromMemory != nil ? fromMemory : try store.find(place.place, in: place.lane) else {
        return
      }
      let letter = DeadLetter(record: record, reason: reason, refusedAt: SystemClock.realtime)
      try transact(store) { () throws(SQLiteError) in
        if fromMemory == nil { try store.remove(place.place, cost: place.cost, from: place.lane) }
        try store.insert(letter, limit: configuration.deadLetters)
      }
      agenda.written()
    }
    if fromMemory == nil { return }
    if isKept, store != nil {
      memory.remove(place.place, from: place.lane)
    } else {
      memory.drop(place.place, from: place.lane)
    }
    removeRecent([place.place])
  }

  // MARK: Dead letters

  func deadLetters(limit: Int) -> [DeadLetter] {
    var letters: [DeadLetter] = []
    attempt { () throws(SQLiteError) in letters = try store?.deadLetters(limit: limit) ?? [] }
    return letters
  }

  /// Puts all dead letters back into their lanes. Returns how many.
  func retryDeadLetters() -> Int {
    preserveRecent()
    // Oldest first, as they were accepted.
    let records = deadLetters(limit: .max).reversed().map(\.record)
    guard let store, !records.isEmpty else { return 0 }
    let isDone = attempt { () throws(SQLiteError) in
      try move(records, to: store) { () throws(SQLiteError) in try store.clearDeadLetters() }
    }
    return isDone ? records.count : 0
  }

  func clearDeadLetters() -> Int {
    guard let store else { return 0 }
    let count = store.deadCount
    let isDone = attempt { () throws(SQLiteError) in
      try transact(store, isSynced: true) { () throws(SQLiteError) in try store.clearDeadLetters() }
    }
    return isDone ? count : 0
  }

  // MARK: The disk

  /// Opens the store; a damaged one is set aside and salvaged, an unwilling disk leaves the keeper in memory.
  private func openStore() {
    attempt { () throws(SQLiteError) in adopt(try Store(path: path)) }
  }

  private func adopt(_ opened: Store) {
    store = opened
    hasReserve = reserve.allocate()
    if opened.isCopy { agenda.report(.newEpoch(opened.epoch)) }
    attempt { () throws(SQLiteError) in try drain.learn(from: opened) }
  }

  /// Goes on whatever the store does. Returns whether `body` was done.
  @discardableResult
  private func attempt(_ body: () throws(SQLiteError) -> Void) -> Bool {
    do throws(SQLiteError) {
      try body()
      return true
    } catch {
      handle(error)
      return false
    }
  }

  /// Decides what a failure of the store means.
  private func handle(_ failure: SQLiteError) {
    guard failure.isDamage else { return degrade(failure) }
    replaceStore(failure)
    guard degradation == nil, let store, !memory.isEmpty else { return }
    do throws(SQLiteError) {
      try move(memory.records, overtakings: drain.overtakings, to: store)
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

  /// Takes over what can be proved of a damaged store. Where it is ended before, or the disk takes no more, the next start goes
  /// on behind the last record that was taken over.
  private func salvage(_ place: String, into fresh: Store, cause: String) {
    var failure: SQLiteError?
    let result = Salvage.run(place, after: (try? fresh.salvaged()) ?? nil, isCancelled: isCancelled) {
      records in
      guard let last = records.last else { return true }
      do throws(SQLiteError) {
        try move(records, to: fresh) { () throws(SQLiteError) in
          try fresh.setMeta("salvaged", "\(last.lane.rawValue) \(last.seq)")
        }
        return true
      } catch {
        failure = error
        return false
      }
    }
    let lost = result.isCancelled ? nil : result.expected.map { max(0, $0 - result.records) }
    agenda.report(.setAside(path: place, cause: cause, salvaged: result.records, lost: lost))
    if let failure { return degrade(failure) }
    guard !result.isCancelled else { return }
    attempt { () throws(SQLiteError) in
      try transact(fresh, isSynced: true) { () throws(SQLiteError) in
        try fresh.database.execute("DELETE FROM meta WHERE key = 'salvaged'")
      }
      Recovery.finish(path)
    }
  }

  /// Goes on with a salvage that was interrupted.
  private func resumeSalvage() {
    guard degradation == nil, !isCancelled(), let store, let place = Recovery.pending(path) else { return }
    salvage(place, into: store, cause: "its salvage was interrupted")
  }

  /// Writes records under new numbers, with what else is to happen in the same transaction.
  /// - Parameter overtakings: what was delivered ahead of some of them; each gets a number in its turn.
  private func move(
    _ records: [OutboxRecord], overtakings: [Overtaking] = [], to store: Store,
    _ body: () throws(SQLiteError) -> Void = {}
  ) throws(SQLiteError) {
    let count = records.count + overtakings.count
    if let mark = store.sequence.markNeeded(for: count) { try store.reserve(mark) }
    var moved: [(record: OutboxRecord, old: UInt64)] = []
    var overtaken: [(Overtaking, place: UInt64)] = []
    try transact(store, isSynced: true) { () throws(SQLiteError) in
      var rest = overtakings.sorted { $0.place < $1.place }
      for var record in records {
        while let index = rest.firstIndex(where: { $0.lane == record.lane && $0.place < record.seq }) {
          overtaken.append((rest.remove(at: index), store.sequence.next() ?? 0))
        }
        let old = record.seq
        // A commit whose sync failed may be there all the same.
        if try store.find(old, in: record.lane)?.payload != record.payload {
          record.seq = store.sequence.next() ?? old
          record.storedAt = store.clock.now
          try store.insert(record)
        }
        moved.append((record, old))
      }
      for overtaking in rest { overtaken.append((overtaking, store.sequence.next() ?? 0)) }
      for (overtaking, place) in overtaken {
        try store.insert(Overtaking(topic: overtaking.topic, lane: overtaking.lane, place: place))
      }
      try store.makeRoom(in: Set(DeliveryLane.allCases), configuration)
      try body()
    }
    for (record, old) in moved { drain.moved(record, from: old) }
    for (overtaking, place) in overtaken { drain.moved(overtaking, to: place) }
    drain.dropped(by: store)
  }

  /// Tries the disk again, and when it takes records moves those in memory there.
  private func retry() {
    if store == nil { openStore() }
    guard let store else { return }
    do throws(SQLiteError) {
      try makeSpace(store)
      let records = memory.records
      try move(records, overtakings: drain.overtakings, to: store)
      forgetRecent()
      drain.rewind()
      degradation = nil
      temporary.end()
      agenda.report(.recovered(records: records.count))
      resumeSalvage()
    } catch {
      // A handle that outlived its file system never works again; a new one may.
      if error.code.primary != .full { self.store = nil }
      handle(error)
    }
  }

  /// Gives what was deleted back to the disk, and allocates the reserve again.
  private func makeSpace(_ store: Store) throws(SQLiteError) {
    try store.database.checkpoint()
    try transact(store, isSynced: true) { () throws(SQLiteError) in }
    try store.database.execute("PRAGMA incremental_vacuum")
    try store.database.checkpoint()
    if hasReserve, !reserve.allocate() {
      throw SQLiteError(code: .full, message: "the disk is full", sql: "reserve", file: path)
    }
  }

  /// Runs `body` in a transaction that first deletes what is done with: were it replaced or pushed out instead, it would be
  /// counted twice.
  private func transact(
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

  /// Does what is due. Returns the notices since the last call; nil after `close`.
  func housekeep() -> [OutboxNotice]? {
    if isClosed { return nil }
    guard agenda.begin() else { return agenda.removeNotices() }
    if degradation != nil { retry() }
    if agenda.isRecentDue { preserveRecent() }
    tidy()
    agenda.reportDrops(drops)
    return agenda.removeNotices()
  }

  /// The notices since the last call.
  func removeNotices() -> [OutboxNotice] { agenda.removeNotices() }

  /// Sets the timer to when something is due, where it is set to another time.
  func schedule(_ timer: TimerDescriptor) {
    guard agenda.deadline != timerDeadline else { return }
    timerDeadline = agenda.deadline
    timer.set(timerDeadline)
  }

  /// Deletes what was acknowledged and makes what was written safe.
  /// - Parameter everything: also what was written less than half a second ago.
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

  /// Drops what is too old, now and then.
  private func expire() {
    guard let store, degradation == nil, agenda.beginExpiry() else { return }
    attempt { () throws(SQLiteError) in
      try transact(store) { () throws(SQLiteError) in try store.expire(configuration, limit: 1000) }
    }
  }

  /// Makes everything safe, if the disk lets it.
  func flush() {
    if degradation != nil, !isClosed { retry() }
    preserveRecent()
    tidy(everything: true)
  }

  /// Returns whether it was open.
  func close() -> Bool {
    guard !isClosed else { return false }
    flush()
    if let store {
      // In good order nothing is lost between the last number and the mark.
      try? store.transaction(synced: true) { () throws(SQLiteError) in
        try store.setMeta("reserved", String(store.sequence.upcoming))
        try store.setMeta("clock", String(store.clock.now))
      }
      try? store.database.checkpoint()
    }
    store = nil
    recent = nil
    lock = nil
    degradation = "closed"
    isClosed = true
    return true
  }

  // MARK: Counters

  /// Records dropped for their lane's limits, per lane.
  private var drops: [Int] {
    OutboxStatus.lanes(store, memory, removals: []).map { $0.droppedForSpace + $0.droppedForAge }
  }

  var status: OutboxStatus {
    OutboxStatus(
      mode: degradation.map(OutboxStatus.Mode.memory) ?? .durable,
      epoch: store?.epoch ?? temporary.identity.epoch,
      lanes: OutboxStatus.lanes(store, memory, removals: drain.removals), deadLetters: store?.deadCount ?? 0,
      refusedTopics: drain.refusals.topics,
      commits: store?.commits ?? 0)
  }
}
