internal import Platform

extension Keeper {
  func next(limit: Int) -> [Record] {
    expire()
    var result: [Record] = []
    result.reserveCapacity(limit)
    order.begin(newest: newest)
    while result.count < limit,
      let step = order.next(newest: newest, lastKnownIsDue: lastKnownIsDue)
    {
      guard case .lane(let lane) = step else {
        readLastKnown(limit: limit, into: &result)
        continue
      }
      let before = order.cursor(lane)
      readFromDisk(lane, limit: limit, into: &result)
      readFromMemory(lane, limit: limit, into: &result)
      // Without progress the disk has failed, which `status` and a notice say.
      if order.cursor(lane) == before { break }
    }
    return result
  }

  func newest(_ lane: Lane) -> UInt64 { max(store?.newest[lane.rawValue] ?? 0, memory.newest(lane)) }

  private func readFromDisk(_ lane: Lane, limit: Int, into result: inout [Record]) {
    while result.count < limit, let store, store.newest[lane.rawValue] > order.cursor(lane) {
      if readAhead[lane.rawValue].isEmpty {
        do throws(SQLiteFailure) {
          // The state lane changes under its readers: never further than is handed out.
          let portion = lane == .state ? limit - result.count : Self.readAheadCount
          readAhead[lane.rawValue] = try store.read(lane, after: order.cursor(lane), limit: portion)[...]
        } catch {
          return handle(error)
        }
        if readAhead[lane.rawValue].isEmpty {
          return order.handedOut(lane, upTo: store.newest[lane.rawValue])
        }
      }
      while result.count < limit, let row = readAhead[lane.rawValue].popFirst() {
        order.handedOut(lane, upTo: row.seq)
        if isPassed(row.seq, lane) { continue }
        guard let record = row.record else {
          discard(row.seq, row.cost, lane, .damaged)
          continue
        }
        guard let fresh = withRemainingExpiry(record, store.clock.now) else {
          discard(row.seq, row.cost, lane, .expired)
          continue
        }
        hold(fresh)
        result.append(withoutOutdatedRetain(fresh))
      }
    }
  }

  /// What the broker keeps must not go back behind what has overtaken it.
  private func withoutOutdatedRetain(_ record: Record) -> Record {
    guard lastKnown.isOutdated(record) else { return record }
    var record = record
    record.retain = false
    return record
  }

  private func readFromMemory(_ lane: Lane, limit: Int, into result: inout [Record]) {
    for record in memory.read(lane, after: order.cursor(lane), limit: limit - result.count) {
      order.handedOut(lane, upTo: record.seq)
      if isPassed(record.seq, lane) { continue }
      hold(record)
      result.append(withoutOutdatedRetain(record))
    }
  }

  /// The record with what is left of its usefulness; nil when nothing is, or its lane's age is over.
  func withRemainingExpiry(_ record: Record, _ now: Int64) -> Record? {
    let age = max(0, now - record.storedAt)
    if let limit = configuration.limits(of: record.lane).age, age > Int64(limit) { return nil }
    guard let expiry = record.expiry else { return record }
    guard age < Int64(expiry) else { return nil }
    var record = record
    record.expiry = expiry - UInt32(age)
    return record
  }

  private func discard(_ seq: UInt64, _ cost: Int, _ lane: Lane, _ cause: RemovalCause) {
    removals.append((Held(lane: lane, place: seq, cost: cost, turn: takeTurn(lane)), cause))
    schedule(seconds: Self.patience)
  }

  func hold(_ record: Record) {
    held[record.seq] = Held(
      lane: record.lane, place: record.seq, cost: record.cost, turn: takeTurn(record.lane))
  }

  /// Whether a place was met before the rewind.
  private func isPassed(_ place: UInt64, _ lane: Lane) -> Bool {
    guard !passed.isEmpty, passed.remove(place) != nil else { return false }
    // The neighbours of what is skipped are no neighbours of each other.
    turns[lane.rawValue] += 1
    return true
  }

  private func takeTurn(_ lane: Lane) -> Int {
    turns[lane.rawValue] += 1
    return turns[lane.rawValue]
  }

  func offerAgain() {
    tidy(everything: false)
    held.removeAll(keepingCapacity: true)
    rewind()
  }

  /// Reading starts over; what must not be handed out (again) is remembered.
  func rewind() {
    order.rewind()
    lastKnown.rewind()
    readAhead = Self.nothingAhead
    passed = Set(held.values.map(\.place)).union(removals.map(\.record.place))
    overtakers = overtakers.filter { passed.contains($0.key) }
  }

  func remove(_ seqs: [UInt64]) {
    for seq in seqs {
      guard let held = held.removeValue(forKey: seq) else { continue }
      if memory.isEmpty || memory.remove(held.place, from: held.lane) == nil {
        removals.append((held, .acknowledged))
      } else {
        overtakers[held.place] = nil
      }
    }
    // Few commits while a backlog drains, and none of them more than half a second late.
    if removals.count >= Self.removalGroup {
      tidy(everything: false)
    } else {
      schedule(seconds: Self.patience)
    }
  }
}
