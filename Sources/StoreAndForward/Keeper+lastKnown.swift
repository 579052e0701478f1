extension Keeper {
  /// Whether the newest record of some topic would wait behind a backlog.
  var lastKnownIsDue: Bool { lastKnown.entries.values.contains(where: isDue) }

  private func isDue(_ entry: LastKnown.Entry) -> Bool {
    entry.isDue && order.isBehindBacklog(entry.lane, entry.place)
  }

  /// Hands out the newest record of each topic that is due, ahead of its history.
  func readLastKnown(limit: Int, into result: inout [Record]) {
    for (topic, entry) in lastKnown.entries.filter({ isDue($0.value) }).sorted(by: { $0.key < $1.key })
    where result.count < limit {
      lastKnown.handedOut(topic)
      guard !passed.contains(entry.place), let record = find(entry), let fresh = checked(record) else {
        continue
      }
      // Reading in order comes across it again.
      passed.insert(fresh.seq)
      overtakers[fresh.seq] = topic
      // It is no neighbour of what was handed out before or will be after it.
      turns[entry.lane.rawValue] += 1
      hold(fresh)
      turns[entry.lane.rawValue] += 1
      result.append(fresh)
    }
  }

  /// Nil when it is not there any more, or damaged: reading in order meets that again and says so.
  private func find(_ entry: LastKnown.Entry) -> Record? {
    if let record = memory.read(entry.lane, after: entry.place - 1, limit: 1).first, record.seq == entry.place
    {
      return record
    }
    guard let store else { return nil }
    do throws(SQLiteFailure) {
      let row = try store.read(entry.lane, after: entry.place - 1, limit: 1).first
      return row?.seq == entry.place ? row?.record : nil
    } catch {
      handle(error)
      return nil
    }
  }

  /// Nil for a record that is too old: reading in order meets it again and counts it.
  private func checked(_ record: Record) -> Record? {
    guard let store else { return record }
    return withRemainingExpiry(record, store.clock.now)
  }

  /// Learns what is last known from a store that was just opened: of each topic among the last records of a lane, and
  /// what had overtaken records that still wait.
  func learnLastKnown(_ store: Store) {
    do throws(SQLiteFailure) {
      for (topic, lane, place) in try store.overtakers() {
        lastKnown.note(topic: topic, lane: lane, place: place, isDue: false)
      }
      for lane in Lane.allCases where LastKnown.concerns(lane) {
        for (topic, place) in try store.lastRetained(lane) {
          lastKnown.note(topic: topic, lane: lane, place: place, isDue: true)
        }
      }
    } catch {
      handle(error)
    }
  }
}
