internal import Platform

extension Keeper {
  /// Accepts the drafts of several calls in one commit.
  func commit(_ batches: [Batch]) {
    expire()
    let records = batches.flatMap { batch in accept(batch) }
    for record in records { lastKnown.note(record) }
    if degradation == nil, let store, write(records, to: store) { return }
    for record in records {
      for lane in memory.insert(record) { memoryDrops[lane.rawValue] += 1 }
    }
    noticeDrops()
  }

  /// Names the records of a batch and makes their payloads.
  private func accept(_ batch: Batch) -> [Record] {
    reserve(batch.drafts.count)
    return batch.drafts.map { draft in
      let identity = nextIdentity()
      batch.identities.append(identity)
      return Record(
        lane: draft.lane, seq: identity.seq, topic: draft.topic, payload: draft.payload(identity),
        qos: min(draft.qos, 2), retain: draft.retain, contentType: draft.contentType, expiry: draft.expiry,
        createdAt: draft.createdAt, storedAt: store?.clock.now ?? 0)
    }
  }

  /// A name that no record has or will have.
  func makeIdentity() -> RecordIdentity {
    reserve(1)
    return nextIdentity()
  }

  private func reserve(_ count: Int) {
    guard degradation == nil, let store, let mark = store.sequence.markNeeded(for: count) else { return }
    do throws(SQLiteFailure) { try store.reserve(mark) } catch { handle(error) }
  }

  /// Below the store's mark as long as there are numbers; else of an epoch that lives in memory only.
  private func nextIdentity() -> RecordIdentity {
    if let store, let seq = store.sequence.take() { return RecordIdentity(epoch: store.epoch, seq: seq) }
    defer { temporary.next += 1 }
    return RecordIdentity(epoch: temporary.epoch, seq: temporary.next)
  }

  /// Returns whether the disk took them.
  private func write(_ records: [Record], to store: Store) -> Bool {
    let lanes = Set(records.map(\.lane))
    let synced = lanes.contains { configuration.limits(of: $0).durability == .beforeAccepting }
    do throws(SQLiteFailure) {
      try store.transaction(synced: synced) { () throws(SQLiteFailure) in
        // First what was acknowledged: were it replaced or pushed out instead, it would be counted twice.
        try delete(removals, from: store)
        for record in records { try store.insert(record) }
        for lane in lanes { try store.makeRoom(in: lane, bytes: configuration.limits(of: lane).bytes) }
      }
    } catch {
      handle(error)
      // After damage there is a new store, which has nothing against these.
      guard degradation == nil, let fresh = self.store, fresh !== store else { return false }
      do throws(SQLiteFailure) { try moveIn(records, to: fresh) } catch { return false }
      return true
    }
    forgetRemovals()
    if synced { noteSynced() } else { noteUnsynced() }
    noticeDrops()
    return true
  }
}
