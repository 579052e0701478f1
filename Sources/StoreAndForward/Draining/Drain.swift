internal import SQLite
internal import Telemetry

/// Reads what waits, in the order in which it is to be sent, and knows what became of what was handed out.
struct Drain {
  /// Records that are read at once: one statement serves many small requests.
  private static let readAheadCount = 128
  private static let nothingAhead: [ArraySlice<LaneTable.Row>] = DeliveryLane.allCases.map { _ in [] }

  /// Handed out and not answered, by the number under which they were.
  private var handedOut: [UInt64: HandedOut] = [:]
  /// Done with, and still to be deleted from the store.
  private(set) var removals: [Removal] = []
  /// Acknowledged out of memory ahead of their history, which the store does not know yet.
  private(set) var overtakings: [Overtaking] = []
  private var lastKnown = LastKnown()
  private var order = DrainOrder()
  /// Of what was handed out ahead of its history: the topic, by place.
  private var overtakers: [UInt64: String] = [:]
  /// After a rewind, the places that reading comes across again: of what is handed out, and of what is still to be
  /// deleted.
  private var passed: Set<UInt64> = []
  /// Rows that were read and not handed out yet, per lane.
  private var readAhead = nothingAhead
  /// Topics that are not handed out for now.
  private(set) var refusals = Refusals()
  private var turns = Array(repeating: 0, count: DeliveryLane.allCases.count)

  // MARK: What is accepted and what is gone

  mutating func accepted(_ record: OutboxRecord) { lastKnown.observe(record) }

  /// A record got another place in the store; one that is handed out keeps its number towards the broker.
  /// - Parameter isNewest: whether no record of its topic that moves with it is newer.
  mutating func moved(_ record: OutboxRecord, from old: UInt64, isNewest: Bool) {
    if isNewest { lastKnown.observe(record, movedFrom: old) }
    handedOut[old]?.place = record.seq
    handedOut[old]?.isInMemory = false
    if let topic = overtakers.removeValue(forKey: old) { overtakers[record.seq] = topic }
  }

  /// The store knows of an overtaking, at the place that its record would have there.
  mutating func moved(_ overtaking: Overtaking, to place: UInt64) {
    lastKnown.observe(topic: overtaking.topic, from: overtaking.place, movedTo: place)
    overtakings.removeAll { $0.place == overtaking.place }
  }

  /// Records made room for newer ones, were replaced or too old: they are not handed out any more, and an answer to one
  /// that was says nothing.
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

  /// Records that waited in memory are in the store, at their places, and so is what is known of overtakings.
  mutating func stored(_ records: [OutboxRecord]) {
    for record in records { handedOut[record.seq]?.isInMemory = false }
    overtakings = []
  }

  /// A record in memory made room for others.
  mutating func droppedFromMemory(_ record: OutboxRecord) { handedOut[record.seq] = nil }

  /// Learns what is last known from a store that was just opened: of each topic among the last records of a lane, and
  /// what had overtaken records that still wait.
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

  /// Hands out the records to send next.
  /// - Throws: when the store could not be read; what else there was has been handed out.
  /// - Parameter now: monotonic nanoseconds.
  mutating func next(
    limit: Int, store: Store?, memory: MemoryLanes, limits: OutboxConfiguration, now: Int64,
    into result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    if refusals.resume(at: now) { rewind() }
    var failure: SQLiteError?
    let newest = { (lane: DeliveryLane) in max(store?.newest[lane.rawValue] ?? 0, memory.newest(lane)) }
    order.begin(newest: newest)
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
  }

  private mutating func readFromDisk(
    _ lane: DeliveryLane, _ limit: Int, _ store: Store?, _ limits: OutboxConfiguration, _ now: Int64,
    _ result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    while result.count < limit, let store, store.newest[lane.rawValue] > order.cursor(lane) {
      if readAhead[lane.rawValue].isEmpty {
        // The state lane changes under its readers: never further than is handed out.
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
          // It stays, and its neighbours are no neighbours of each other.
          turns[lane.rawValue] += 1
          continue
        }
        result.append(handOut(fresh, isInMemory: false))
      }
    }
  }

  private mutating func readFromMemory(
    _ lane: DeliveryLane, _ limit: Int, _ memory: MemoryLanes, _ now: Int64, _ result: inout [OutboxRecord]
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

  /// Whether the newest record of some topic would wait behind a backlog.
  private var isLastKnownDue: Bool { lastKnown.entries.values.contains(where: isDue) }

  private func isDue(_ entry: LastKnown.Entry) -> Bool {
    entry.isDue && order.isBehindBacklog(entry.lane, entry.place)
  }

  /// Hands out the newest record of each topic that is due, ahead of its history.
  private mutating func readLastKnown(
    _ limit: Int, _ store: Store?, _ memory: MemoryLanes, _ limits: OutboxConfiguration, _ now: Int64,
    _ result: inout [OutboxRecord]
  ) throws(SQLiteError) {
    for (topic, entry) in lastKnown.entries.filter({ isDue($0.value) }).sorted(by: { $0.key < $1.key })
    where result.count < limit {
      lastKnown.handedOut(topic)
      guard !passed.contains(entry.place), !refusals.holds(topic, at: now) else { continue }
      // What is gone, damaged or too old is met again by reading in order, which counts it.
      let fromMemory = memory.find(entry.place, in: entry.lane)
      var found = fromMemory
      if found == nil { found = try store?.find(entry.place, in: entry.lane) }
      guard let found, let fresh = store.map({ found.withRemainingExpiry(at: $0.clock.now, limits) }) ?? found
      else { continue }
      // Reading in order comes across it again.
      passed.insert(fresh.seq)
      overtakers[fresh.seq] = topic
      // It is no neighbour of what was handed out before or will be after it.
      turns[entry.lane.rawValue] += 1
      result.append(handOut(fresh, isInMemory: fromMemory != nil))
      turns[entry.lane.rawValue] += 1
    }
  }

  /// What the broker keeps must not go back behind what has overtaken it.
  private mutating func handOut(_ record: OutboxRecord, isInMemory: Bool) -> OutboxRecord {
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

  /// Whether a place was met before the rewind.
  private mutating func isPassed(_ place: UInt64, _ lane: DeliveryLane) -> Bool {
    guard !passed.isEmpty, passed.remove(place) != nil else { return false }
    // The neighbours of what is skipped are no neighbours of each other.
    turns[lane.rawValue] += 1
    return true
  }

  private mutating func nextTurn(_ lane: DeliveryLane) -> Int {
    turns[lane.rawValue] += 1
    return turns[lane.rawValue]
  }

  /// Everything that was handed out is handed out again.
  mutating func offerAgain() {
    refusals.resumeAll()
    handedOut.removeAll(keepingCapacity: true)
    rewind()
  }

  /// Reading starts over; what must not be handed out (again) is remembered.
  mutating func rewind() {
    order.rewind()
    lastKnown.rewind()
    readAhead = Self.nothingAhead
    passed = Set(handedOut.values.map(\.place)).union(removals.map(\.record.place))
    overtakers = overtakers.filter { passed.contains($0.key) }
  }

  // MARK: Answers

  /// What is handed out under a number; nil when nothing is.
  func record(_ seq: UInt64) -> HandedOut? { handedOut[seq] }

  /// The broker lets nobody publish to the topic of a record: it stays where it is, and is handed out again later. Returns
  /// false, and changes nothing, when that cannot be.
  mutating func withhold(_ seq: UInt64, topic: String, at now: Int64) -> Bool {
    guard let record = handedOut[seq], refusals.refused(topic, at: now) else { return false }
    handedOut[seq] = nil
    passed.remove(record.place)
    overtakers[record.place] = nil
    return true
  }

  /// What was handed out under a number, of which nothing is known any more; nil when nothing was.
  mutating func answer(_ seq: UInt64) -> HandedOut? { handedOut.removeValue(forKey: seq) }

  /// The broker has a record: it is to be deleted from the store, unless it waited in memory.
  mutating func acknowledge(_ record: HandedOut) {
    if let topic = record.refusedTopic { refusals.taken(topic) }
    if record.isInMemory {
      guard let topic = overtakers.removeValue(forKey: record.place) else { return }
      overtakings.append(Overtaking(topic: topic, lane: record.lane, place: record.place))
    } else {
      removals.append(Removal(record: record, cause: .acknowledged, overtook: overtakers[record.place]))
    }
  }

  /// What there was to delete is deleted.
  mutating func removalsDeleted() {
    for removal in removals {
      overtakers[removal.record.place] = nil
      // What was read ahead is met once more, though it is deleted by now.
      let ahead = readAhead[removal.record.lane.rawValue].last?.seq ?? 0
      if !passed.isEmpty, ahead < removal.record.place { passed.remove(removal.record.place) }
    }
    removals.removeAll(keepingCapacity: true)
  }
}

/// Where a record is that was handed out.
struct HandedOut {
  var lane: DeliveryLane
  var place: UInt64
  var cost: Int
  /// Counts the records of a lane as they are handed out: what is between two neighbours by this number is nothing.
  var turn: Int
  var isInMemory: Bool
  /// Its topic, where the broker has refused that before.
  var refusedTopic: String?
}

/// A record that was delivered ahead of the history of its topic.
struct Overtaking {
  var topic: String
  var lane: DeliveryLane
  var place: UInt64
}

/// A record that is to be deleted from the store.
struct Removal {
  enum Cause { case acknowledged, expired, damaged }

  var record: HandedOut
  var cause: Cause
  /// The topic whose history it was delivered ahead of.
  var overtook: String?
}

extension OutboxRecord {
  /// The record with what is left of its usefulness; nil when nothing is, or its lane's age is over.
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
