internal import SQLite
internal import Telemetry

/// Records that are written to a store at new positions: from memory, from a damaged store, or from the dead
/// letters.
///
/// Call `write` inside a transaction, and `apply` after it.
struct Renumbering {
  private let records: [OutboxRecord]
  /// Records that were delivered before some of `records`; each receives a new position in order.
  private let overtakings: [Overtaking]
  private var moved: [(record: OutboxRecord, old: UInt64)] = []
  private var overtaken: [(Overtaking, place: UInt64)] = []

  init(_ records: [OutboxRecord], _ overtakings: [Overtaking]) {
    self.records = records
    self.overtakings = overtakings
  }

  mutating func write(to store: Store, _ places: inout RecordPositions) throws(SQLiteError) {
    var rest = overtakings.sorted { $0.place < $1.place }
    for var record in records {
      while let index = rest.firstIndex(where: { $0.lane == record.lane && $0.place < record.seq }) {
        overtaken.append((rest.remove(at: index), places.next()))
      }
      let old = record.seq
      // The record may already be in the store: a commit whose sync failed may still have been written.
      if try store.find(old, in: record.lane)?.payload != record.payload {
        record.seq = places.next()
        record.storedAt = store.clock.now
        try store.insert(record)
      }
      moved.append((record, old))
    }
    for overtaking in rest { overtaken.append((overtaking, places.next())) }
    for (overtaking, place) in overtaken {
      try store.insert(Overtaking(topic: overtaking.topic, lane: overtaking.lane, place: place))
    }
  }

  /// Reports the new positions to the drain.
  func apply(to drain: inout Drain) {
    // Of several moved records of a topic, only the last determines the topic's newest position.
    let newest = Dictionary(
      moved.indices.filter { moved[$0].record.retain }.map { (moved[$0].record.topic, $0) },
      uniquingKeysWith: max)
    for (index, (record, old)) in moved.enumerated() {
      drain.moved(record, from: old, isNewest: newest[record.topic] == index)
    }
    for (overtaking, place) in overtaken { drain.moved(overtaking, to: place) }
  }
}
