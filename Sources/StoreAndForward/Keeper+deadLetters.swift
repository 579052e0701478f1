internal import Platform

extension Keeper {
  func reject(_ seq: UInt64, reason: String) {
    guard let held = held.removeValue(forKey: seq) else { return }
    let record = memory.remove(held.place, from: held.lane)
    guard let store else {
      memoryDrops[held.lane.rawValue] += 1
      return
    }
    do throws(SQLiteFailure) {
      let stored = try store.find(held.place, in: held.lane)
      guard let record = record ?? stored else { return }
      try store.transaction(synced: false) { () throws(SQLiteFailure) in
        try store.remove(held.place, cost: held.cost, from: held.lane)
        try store.bury(record, reason: reason, at: SystemClock.realtime, limit: configuration.deadLetters)
      }
      noteUnsynced()
    } catch {
      // It stays in its lane, and is not offered again before the next connection.
      handle(error)
    }
  }

  func deadLetters(limit: Int) -> [DeadLetter] {
    guard let store else { return [] }
    do throws(SQLiteFailure) {
      return try DeadLetter.read(store.database, limit: limit)
    } catch {
      handle(error)
      return []
    }
  }

  /// Puts all dead letters back into their lanes. Returns how many.
  func retryDeadLetters() -> Int {
    guard let store else { return 0 }
    do throws(SQLiteFailure) {
      // Oldest first, as they were accepted.
      let records = try DeadLetter.read(store.database, limit: .max).reversed().map(\.record)
      try moveIn(records, to: store)
      try forgetDeadLetters(of: store)
      return records.count
    } catch {
      handle(error)
      return 0
    }
  }

  func clearDeadLetters() -> Int {
    guard let store else { return 0 }
    do throws(SQLiteFailure) {
      let count = store.deadCount
      try forgetDeadLetters(of: store)
      return count
    } catch {
      handle(error)
      return 0
    }
  }

  private func forgetDeadLetters(of store: Store) throws(SQLiteFailure) {
    try store.transaction(synced: true) { () throws(SQLiteFailure) in
      try store.database.execute("DELETE FROM dead")
      store.deadLettersCleared()
    }
  }

  var status: OutboxStatus {
    // What was acknowledged may have been replaced before: only the deletion tells whether it still counted.
    if removals.contains(where: { $0.record.lane == .state }) { tidy(everything: false) }
    var lanes = store?.lanes ?? Lane.allCases.map { _ in OutboxStatus.LaneStatus() }
    for lane in Lane.allCases {
      lanes[lane.rawValue].records += memory.count(lane)
      lanes[lane.rawValue].bytes += memory.bytes(lane)
      lanes[lane.rawValue].droppedForSpace += memoryDrops[lane.rawValue]
    }
    for (held, _) in removals {
      lanes[held.lane.rawValue].records -= 1
      lanes[held.lane.rawValue].bytes -= held.cost
    }
    return OutboxStatus(
      mode: degradation.map(OutboxStatus.Mode.memory) ?? .durable,
      epoch: store?.epoch ?? temporary.epoch, lanes: lanes, deadLetters: store?.deadCount ?? 0,
      commits: store?.commits ?? 0)
  }
}
