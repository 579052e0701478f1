internal import Platform
internal import SQLite
internal import Telemetry

/// Reads waiting records in delivery order, and tracks those that were handed out.
struct Drain {
  /// Number of records read at once, so that one statement serves many small requests.
  private static let readAheadCount = 128
  private static let nothingAhead: [ArraySlice<LaneTable.Row>] = DeliveryLane.allCases.map { _ in [] }

  /// Records that were handed out and not answered, by the number under which they were handed out.
  private var handedOut: [UInt64: HandedOut] = [:]
  /// Completed records that must still be deleted from the store.
  private(set) var removals: [Removal] = []
  /// Records in memory that were acknowledged before older records of their topic. The store receives them
  /// with the next records.
  private(set) var overtakings: [Overtaking] = []
  private var lastKnown = LastKnown()
  private var order = DrainOrder()
  /// Topics of records that were handed out before older records of their topic, by position.
  private var overtakers: [UInt64: String] = [:]
  /// Positions to skip after a rewind: those of records that are handed out or wait for deletion.
  private var passed: Set<UInt64> = []
  /// Rows per lane that were read and not handed out yet.
  private var readAhead = nothingAhead
  /// Topics whose records are not handed out, because the broker currently rejects them.
  private(set) var refusals = Refusals()
  private var turns = Array(repeating: 0, count: DeliveryLane.allCases.count)
  /// The number of the next repetition, far above those of records.
  private var nextRepetition = UInt64.max

  // MARK: Accepted and removed records

  mutating func accepted(_ record: OutboxRecord) { lastKnown.observe(record) }

  /// Updates the position of a record that was moved in the store. A record that is handed out retains the
  /// number under which it was handed out.
  /// - Parameter isNewest: true if no moved record of the same topic is newer.
  mutating func moved(_ record: OutboxRecord, from old: UInt64, isNewest: Bool) {
    if isNewest { lastKnown.observe(record, movedFrom: old) }
    handedOut[old]?.place = record.seq
    handedOut[old]?.isInMemory = false
    if let topic = overtakers.removeValue(forKey: old) { overtakers[record.seq] = topic }
  }

  /// Updates the position of an overtaking record that was stored at `place`.
  mutating func moved(_ overtaking: Overtaking, to place: UInt64) {
    lastKnown.observe(topic: overtaking.topic, from: overtaking.place, movedTo: place)
    overtakings.removeAll { $0.place == overtaking.place }
  }

  /// Forgets records that were dropped, replaced or expired. They are not handed out any more, and answers to
  /// them are ignored.
  mutating func dropped(by store: Store) {
    for lane in DeliveryLane.allCases where store.dropped[lane.rawValue] > 0 {
      dropped(lane, through: store.dropped[lane.rawValue])
    }
    for place in store.replaced {
      let number = handedOut.first { $0.value.place == place && !$0.value.isInMemory }?.key
      if let number { handedOut[number] = nil }
    }
  }

  private mutating func dropped(_ lane: DeliveryLane, through place: UInt64) {
    readAhead[lane.rawValue] = readAhead[lane.rawValue].drop { $0.seq <= place }
    func isGone(_ record: HandedOut) -> Bool {
      record.lane == lane && record.place <= place && !record.isInMemory
    }
    if handedOut.values.contains(where: isGone) { handedOut = handedOut.filter { !isGone($0.value) } }
  }

  /// Updates records that moved from memory into the store, together with their overtakings.
  mutating func stored(_ records: [OutboxRecord]) {
    for record in records { handedOut[record.seq]?.isInMemory = false }
    overtakings = []
  }

  /// Forgets a record that was dropped from memory to make space for other records.
  mutating func droppedFromMemory(_ record: OutboxRecord) { handedOut[record.seq] = nil }

  /// Finds the newest record of each retained topic in an opened store: among the last records of each lane,
  /// and among the records that were delivered before older ones.
  mutating func learn(from store: Store) throws(SQLiteError) {
    for (topic, lane, place) in try store.overtakers() {
      lastKnown.observe(topic: topic, lane: lane, place: place, isDue: false)
    }
    for lane in DeliveryLane.allCases where LastKnown.concerns(lane) {
      for (topic, place) in try store.lastRetained(lane) {
        lastKnown.observe(topic: topic, lane: lane, place: place, isDue: true)
      }
    }
  }

  // MARK: Reading

  /// Returns the next records to send.
  /// - Throws: an error of the store; other available records have been handed out.
  mutating func next(
    limit: Int, store: Store?, memory: MemoryLanes, limits: OutboxConfiguration, now: MonotonicTime,
    into result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    if refusals.resume(at: now) { rewind() }
    var failure: SQLiteError?
    let newest = { (lane: DeliveryLane) in max(store?.newest[lane.rawValue] ?? 0, memory.newest(lane)) }
    order.begin(newest: newest) {
      (store?.lanes[$0.rawValue].records ?? 0) + memory.count($0) <= limits.shortBacklog
    }
    while result.count < limit, let step = order.next(newest: newest, lastKnownIsDue: isLastKnownDue) {
      do throws(SQLiteError) {
        guard case .lane(let lane) = step else {
          try readLastKnown(limit, store, memory, limits, now, &result)
          continue
        }
        let before = order.cursor(lane)
        do throws(SQLiteError) { try readFromDisk(lane, limit, store, limits, now, &result) } catch {
          failure = error
        }
        readFromMemory(lane, limit, memory, now, &result)
        if order.cursor(lane) == before { break }
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    // Everything else is handed out.
    if result.count < limit { repeatNewest(limit, store, limits, now, &result) }
  }

  private mutating func readFromDisk(
    _ lane: DeliveryLane, _ limit: Int, _ store: Store?, _ limits: OutboxConfiguration, _ now: MonotonicTime,
    _ result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    while result.count < limit, let store, store.newest[lane.rawValue] > order.cursor(lane) {
      if readAhead[lane.rawValue].isEmpty {
        // Records of the state lane may be replaced at any time, so it is never read further than records are
        // handed out.
        let portion = lane == .state ? limit - result.count : Self.readAheadCount
        readAhead[lane.rawValue] = try store.read(lane, after: order.cursor(lane), limit: portion)[...]
        if readAhead[lane.rawValue].isEmpty { return order.advance(lane, to: store.newest[lane.rawValue]) }
      }
      while result.count < limit, let row = readAhead[lane.rawValue].popFirst() {
        order.advance(lane, to: row.seq)
        if isPassed(row.seq, lane) { continue }
        guard let record = row.record else {
          discard(row, lane, .damaged)
          continue
        }
        guard let fresh = record.withRemainingExpiry(at: store.clock.now, limits) else {
          discard(row, lane, .expired)
          continue
        }
        if refusals.holds(record.topic, at: now) {
          // The record remains in the store. The gap in `turns` prevents its neighbours from being deleted as
          // one range.
          turns[lane.rawValue] += 1
          continue
        }
        result.append(handOut(fresh, isInMemory: false))
      }
    }
  }

  private mutating func readFromMemory(
    _ lane: DeliveryLane, _ limit: Int, _ memory: MemoryLanes, _ now: MonotonicTime,
    _ result: inout [OutboxRecord]
  ) {
    for record in memory.read(lane, after: order.cursor(lane), limit: limit - result.count) {
      order.advance(lane, to: record.seq)
      if isPassed(record.seq, lane) { continue }
      if refusals.holds(record.topic, at: now) {
        turns[lane.rawValue] += 1
        continue
      }
      result.append(handOut(record, isInMemory: true))
    }
  }

  /// True if the newest record of some topic would wait behind a backlog.
  private var isLastKnownDue: Bool { lastKnown.entries.values.contains(where: isDue) }

  private func isDue(_ entry: LastKnown.Entry) -> Bool {
    entry.isDue && order.isBehindBacklog(entry.lane, entry.place)
  }

  /// Hands out the newest record of each due topic, before older ones.
  private mutating func readLastKnown(
    _ limit: Int, _ store: Store?, _ memory: MemoryLanes, _ limits: OutboxConfiguration, _ now: MonotonicTime,
    _ result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    for (topic, entry) in lastKnown.entries.filter({ isDue($0.value) }).sorted(by: { $0.key < $1.key })
    where result.count < limit {
      lastKnown.handedOut(topic)
      guard !passed.contains(entry.place), !refusals.holds(topic, at: now) else { continue }
      // A removed, damaged or expired record is skipped here, and handled when it is read in order.
      let fromMemory = memory.find(entry.place, in: entry.lane)
      var found = fromMemory
      if found == nil { found = try store?.find(entry.place, in: entry.lane) }
      guard let found, let fresh = store.map({ found.withRemainingExpiry(at: $0.clock.now, limits) }) ?? found
      else { continue }
      // Reading in order reaches this record again, and must then skip it.
      passed.insert(fresh.seq)
      overtakers[fresh.seq] = topic
      // The gaps in `turns` before and after this record prevent it from being deleted in one range with
      // other records.
      turns[entry.lane.rawValue] += 1
      result.append(handOut(fresh, isInMemory: fromMemory != nil))
      lastKnown.handedOutAhead(found)
      turns[entry.lane.rawValue] += 1
    }
  }

  /// Hands out the records that were delivered before older ones a second time. Nothing is waiting for their
  /// acknowledgement, so that answers to their numbers, which are those of no other record, have no effect.
  private mutating func repeatNewest(
    _ limit: Int, _ store: Store?, _ limits: OutboxConfiguration, _ now: MonotonicTime,
    _ result: inout [OutboxRecord]
  ) {
    let refusals = refusals
    let space = limit - result.count
    for record in lastKnown.takeRepetitions(space, isHeld: { refusals.holds($0, at: now) }) {
      let found = store.map { record.withRemainingExpiry(at: $0.clock.now, limits) } ?? record
      guard var fresh = found else { continue }
      fresh.seq = nextRepetition
      nextRepetition -= 1
      result.append(fresh)
    }
  }

  /// Hands out a record. An outdated record loses its retain flag, because the broker's retained message must
  /// not go back in time.
  private mutating func handOut(_ record: OutboxRecord, isInMemory: Bool) -> OutboxRecord {
    lastKnown.handedOutInOrder(record)
    handedOut[record.seq] = HandedOut(
      lane: record.lane, place: record.seq, cost: record.cost, turn: nextTurn(record.lane),
      isInMemory: isInMemory, refusedTopic: refusals.isKnown(record.topic) ? record.topic : nil)
    guard lastKnown.isOutdated(record) else { return record }
    var record = record
    record.retain = false
    return record
  }

  private mutating func discard(_ row: LaneTable.Row, _ lane: DeliveryLane, _ cause: Removal.Cause) {
    let record = HandedOut(
      lane: lane, place: row.seq, cost: row.cost, turn: nextTurn(lane), isInMemory: false)
    removals.append(Removal(record: record, cause: cause))
  }

  /// Returns whether the record at a position must be skipped, because it was handled before the rewind or
  /// out of order.
  private mutating func isPassed(_ place: UInt64, _ lane: DeliveryLane) -> Bool {
    guard !passed.isEmpty, passed.remove(place) != nil else { return false }
    // The gap in `turns` prevents the neighbours of the skipped record from being deleted as one range.
    turns[lane.rawValue] += 1
    return true
  }

  private mutating func nextTurn(_ lane: DeliveryLane) -> Int {
    turns[lane.rawValue] += 1
    return turns[lane.rawValue]
  }

  /// Offers all unanswered records again.
  mutating func offerAgain() {
    refusals.resumeAll()
    handedOut.removeAll(keepingCapacity: true)
    rewind()
  }

  /// Restarts reading. Records that must not be handed out again are skipped.
  mutating func rewind() {
    order.rewind()
    lastKnown.rewind()
    readAhead = Self.nothingAhead
    passed = Set(handedOut.values.map(\.place)).union(removals.map(\.record.place))
    overtakers = overtakers.filter { passed.contains($0.key) }
  }

  // MARK: Answers

  /// Returns the record handed out under a number; nil if there is none.
  func record(_ seq: UInt64) -> HandedOut? { handedOut[seq] }

  /// Handles a topic to which publishing is forbidden: the record stays in the store and is handed out again
  /// later. Returns false without an effect if that is impossible.
  mutating func withhold(_ seq: UInt64, topic: String, at now: MonotonicTime) -> Bool {
    guard let record = handedOut[seq], refusals.refused(topic, at: now) else { return false }
    handedOut[seq] = nil
    passed.remove(record.place)
    overtakers[record.place] = nil
    return true
  }

  /// Removes and returns the record handed out under a number; nil if there is none.
  mutating func answer(_ seq: UInt64) -> HandedOut? { handedOut.removeValue(forKey: seq) }

  /// Handles an acknowledgement: the record is deleted from the store, unless it waited in memory.
  mutating func acknowledge(_ record: HandedOut) {
    if let topic = record.refusedTopic { refusals.taken(topic) }
    if record.isInMemory {
      guard let topic = overtakers.removeValue(forKey: record.place) else { return }
      overtakings.append(Overtaking(topic: topic, lane: record.lane, place: record.place))
    } else {
      removals.append(Removal(record: record, cause: .acknowledged, overtook: overtakers[record.place]))
    }
  }

  /// Records that the pending removals were deleted from the store.
  mutating func removalsDeleted() {
    for removal in removals {
      overtakers[removal.record.place] = nil
      // Rows that were read ahead may include the deleted record. It must then still be skipped.
      let ahead = readAhead[removal.record.lane.rawValue].last?.seq ?? 0
      if !passed.isEmpty, ahead < removal.record.place { passed.remove(removal.record.place) }
    }
    removals.removeAll(keepingCapacity: true)
  }
}

/// Location of a record that was handed out.
struct HandedOut {
  var lane: DeliveryLane
  var place: UInt64
  var cost: Int
  /// Number of the record in its lane's delivery order. Records with consecutive numbers are adjacent in the table.
  var turn: Int
  var isInMemory: Bool
  /// Topic of the record if the broker has rejected it before.
  var refusedTopic: String?
}

/// A record that was delivered before older records of its topic.
struct Overtaking {
  var topic: String
  var lane: DeliveryLane
  var place: UInt64
}

/// A record to be deleted from the store.
struct Removal {
  enum Cause { case acknowledged, expired, damaged }

  var record: HandedOut
  var cause: Cause
  /// Topic of the record if it was delivered before older records of that topic; otherwise nil.
  var overtook: String?
}

extension OutboxRecord {
  /// Returns the record with its remaining expiry; nil if it has expired, or exceeds its lane's age.
  fileprivate func withRemainingExpiry(at now: Int64, _ limits: OutboxConfiguration) -> OutboxRecord? {
    let age = max(0, now - storedAt)
    if let limit = limits.limits(of: lane).age, age > Int64(limit) { return nil }
    guard let expiry else { return self }
    guard age < Int64(expiry) else { return nil }
    var record = self
    record.expiry = expiry - UInt32(age)
    return record
  }
}
