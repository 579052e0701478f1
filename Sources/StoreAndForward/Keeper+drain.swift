internal import Platform

extension Keeper {
  func next(limit: Int) -> [Record] {
    expire()
    var result: [Record] = []
    for lane in order.lanes(newest: newest) where result.count < limit {
      readFromDisk(lane, limit: limit, into: &result)
      for record in memory.read(lane, after: order.cursor(lane), limit: limit - result.count) {
        order.handedOut(lane, upTo: record.seq)
        if passed.contains(record.seq) { continue }
        hold(record)
        result.append(record)
      }
    }
    return result
  }

  private var newest: [UInt64] {
    Lane.allCases.map { max(store?.newest[$0.rawValue] ?? 0, memory.newest($0)) }
  }

  private func readFromDisk(_ lane: Lane, limit: Int, into result: inout [Record]) {
    while result.count < limit, let store, store.newest[lane.rawValue] > order.cursor(lane) {
      let rows: [(seq: UInt64, cost: Int, record: Record?)]
      do throws(SQLiteFailure) {
        rows = try store.read(lane, after: order.cursor(lane), limit: limit - result.count)
      } catch {
        return handle(error)
      }
      guard !rows.isEmpty else { return order.handedOut(lane, upTo: store.newest[lane.rawValue]) }
      for row in rows {
        order.handedOut(lane, upTo: row.seq)
        if passed.contains(row.seq) { continue }
        guard let record = row.record else {
          discard(Held(lane: lane, place: row.seq, cost: row.cost), .damaged)
          continue
        }
        guard let fresh = withRemainingExpiry(record, store.clock.now) else {
          discard(Held(lane: lane, place: row.seq, cost: row.cost), .expired)
          continue
        }
        hold(fresh)
        result.append(fresh)
      }
    }
  }

  /// The record with what is left of its usefulness; nil when nothing is, or its lane's age is over.
  private func withRemainingExpiry(_ record: Record, _ now: Int64) -> Record? {
    let age = max(0, now - record.storedAt)
    if let limit = configuration.limits(of: record.lane).age, age > Int64(limit) { return nil }
    guard let expiry = record.expiry else { return record }
    guard age < Int64(expiry) else { return nil }
    var record = record
    record.expiry = expiry - UInt32(age)
    return record
  }

  private func discard(_ record: Held, _ cause: RemovalCause) {
    passed.insert(record.place)
    removals.append((record, cause))
    schedule(seconds: Self.patience)
  }

  private func hold(_ record: Record) {
    held[record.seq] = Held(lane: record.lane, place: record.seq, cost: record.cost)
    passed.insert(record.seq)
  }

  func offerAgain() {
    tidy(everything: false)
    for held in held.values { passed.remove(held.place) }
    held.removeAll(keepingCapacity: true)
    order.rewind()
  }

  func remove(_ seqs: [UInt64]) {
    for seq in seqs {
      guard let held = held.removeValue(forKey: seq) else { continue }
      if memory.remove(held.place, from: held.lane) != nil {
        passed.remove(held.place)
      } else {
        removals.append((held, .acknowledged))
      }
    }
    // Few commits while a backlog drains, and none of them more than half a second late.
    if removals.count >= 256 { tidy(everything: false) } else { schedule(seconds: Self.patience) }
  }
}
