internal import Platform
internal import SQLite

/// Handling of rejected records.
extension OutboxState {
  /// Handles a record that must not be published at the moment. It becomes a dead letter if it has waited too
  /// long or cannot wait. Returns nil if the record was not handed out.
  func refuse(_ seq: UInt64, reason: String, isLasting: Bool) -> OutboxRefusal? {
    guard let place = drain.record(seq) else { return nil }
    var found = unstored.find(place.place, in: place.lane)
    if found == nil {
      attempt { () throws(SQLiteError) in found = try store?.find(place.place, in: place.lane) }
    }
    guard let found else { return nil }
    let age = (store?.clock.now ?? found.storedAt) - found.storedAt
    let isKept =
      !isLasting && age < Int64(configuration.refusedAge)
      && drain.withhold(seq, topic: found.topic, at: .now)
    if !isKept { reject(seq, reason: reason) }
    return OutboxRefusal(topic: found.topic, isKept: isKept)
  }

  func reject(_ seq: UInt64, reason: String) {
    guard let place = drain.answer(seq) else { return }
    // A record in memory is removed even if the dead letter cannot be stored. If the disk fails, a stored
    // record remains in the store, and is not offered again before the next connection.
    let fromMemory = unstored.find(place.place, in: place.lane)
    let isKept = attempt { () throws(SQLiteError) in
      guard let store else { return }
      guard var record = fromMemory != nil ? fromMemory : try store.find(place.place, in: place.lane) else {
        return
      }
      record.seq = places.lasting(record.seq)
      let letter = DeadLetter(record: record, reason: reason, refusedAt: .now)
      try transact(store) { () throws(SQLiteError) in
        if fromMemory == nil { try store.remove(place.place, cost: place.cost, from: place.lane) }
        try store.insert(letter, limit: configuration.deadLetters)
      }
      agenda.written()
    }
    if fromMemory == nil { return }
    if isKept, store != nil {
      unstored.remove([(place.place, place.lane)])
    } else {
      unstored.drop(place.place, from: place.lane)
    }
    observeRecent()
  }

  // MARK: Dead letters

  func deadLetters(limit: Int) -> [DeadLetter] {
    var letters: [DeadLetter] = []
    attempt { () throws(SQLiteError) in letters = try store?.deadLetters(limit: limit) ?? [] }
    return letters
  }

  /// Moves all dead letters back into their lanes. Returns their number.
  func retryDeadLetters() -> Int {
    preserveRecent()
    // `deadLetters` returns the newest first. The records are moved in order of acceptance, but a record that was rejected
    // while it was only in memory is in the order of its rejection.
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
}
