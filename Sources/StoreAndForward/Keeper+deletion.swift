extension Keeper {
  /// Deletes records inside a transaction. What was handed out in a row stands in a row, with nothing in
  /// between, and goes with one statement.
  func delete(
    _ removals: [(record: Held, cause: RemovalCause)], from store: Store
  ) throws(SQLiteFailure) {
    var rest = removals.sorted { a, b in (a.record.lane, a.record.place) < (b.record.lane, b.record.place) }[
      ...]
    try noteOvertaking(removals, in: store)
    while let first = rest.first {
      let run = rest.enumerated().prefix { index, removal in
        removal.record.lane == first.record.lane && removal.record.turn == first.record.turn + index
          && removal.cause == first.cause
      }
      let records = rest.prefix(run.count).map { $0.record }
      rest = rest.dropFirst(run.count)
      let count = try store.remove(records)
      switch first.cause {
      case .acknowledged: break
      case .expired: store.change(first.record.lane) { $0.droppedForAge += count }
      case .damaged: store.change(first.record.lane) { $0.damaged += count }
      }
    }
  }
}

extension Keeper {
  /// What has gone ahead of its history is remembered with its deletion, so that after a restart no older one is taken for
  /// the last known.
  private func noteOvertaking(
    _ removals: [(record: Held, cause: RemovalCause)], in store: Store
  ) throws(SQLiteFailure) {
    guard !overtakers.isEmpty else { return }
    for (record, cause) in removals {
      guard case .acknowledged = cause, let topic = overtakers[record.place] else { continue }
      try store.noteOvertaking(topic: topic, lane: record.lane, place: record.place)
    }
  }
}

extension Store {
  /// Removes records that stand in a row. Returns how many were there.
  fileprivate func remove(_ records: [Keeper.Held]) throws(SQLiteFailure) -> Int {
    guard let first = records.first, let last = records.last else { return 0 }
    if records.count > 1 {
      let cost = records.reduce(0) { $0 + $1.cost }
      if try removeRow(first.place...last.place, of: first.lane, count: records.count, cost: cost) {
        return records.count
      }
    }
    // Some made room or were replaced meanwhile: only single deletions tell which.
    var count = 0
    for record in records where try remove(record.place, cost: record.cost, from: record.lane) { count += 1 }
    return count
  }
}
