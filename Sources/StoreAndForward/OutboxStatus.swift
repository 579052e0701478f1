package import Telemetry

/// State of an outbox.
package struct OutboxStatus: Hashable, Sendable {
  package struct LaneStatus: Hashable, Sendable {
    /// Number of waiting records.
    package var records = 0
    /// Size in bytes for the lane's limit.
    package var bytes = 0
    /// Records dropped since the store was created because the lane was full.
    package var droppedForSpace = 0
    /// Records dropped since the store was created because they were too old.
    package var droppedForAge = 0
    /// Records that were damaged when they were read.
    package var damaged = 0

    package init() {}
  }

  package enum Mode: Hashable, Sendable {
    /// Accepted records are on disk.
    case durable
    /// Accepted records are in memory only, with the reason.
    case memory(String)
  }

  package var mode: Mode
  package var epoch: String
  /// Indexed by `DeliveryLane.rawValue`.
  package var lanes: [LaneStatus]
  package var deadLetters: Int
  /// Topics whose records wait because the broker rejects them.
  package var refusedTopics: [String] = []
  /// Number of transactions committed since the outbox was opened.
  package var commits: Int

  /// State of an empty outbox.
  package static let empty = OutboxStatus(
    mode: .durable, epoch: "", lanes: DeliveryLane.allCases.map { _ in LaneStatus() }, deadLetters: 0,
    commits: 0)

  package subscript(lane: DeliveryLane) -> LaneStatus { lanes[lane.rawValue] }

  /// Number of records in a lane, or in all lanes for nil.
  package func records(in lane: DeliveryLane?) -> Int { lane.map { self[$0].records } ?? records }

  /// Returns the counters of a store, which may be closed, and of records in memory.
  /// - Parameter removals: records that the store still counts.
  static func lanes(_ store: Store?, _ memory: MemoryLanes, removals: [Removal]) -> [LaneStatus] {
    var lanes = store?.lanes ?? DeliveryLane.allCases.map { _ in LaneStatus() }
    for lane in DeliveryLane.allCases {
      lanes[lane.rawValue].records += memory.count(lane)
      lanes[lane.rawValue].bytes += memory.bytes(lane)
      lanes[lane.rawValue].droppedForSpace += memory.drops[lane.rawValue]
    }
    for removal in removals where store != nil {
      lanes[removal.record.lane.rawValue].records -= 1
      lanes[removal.record.lane.rawValue].bytes -= removal.record.cost
    }
    return lanes
  }

  /// Number of waiting records in all lanes.
  package var records: Int { lanes.reduce(0) { $0 + $1.records } }
}

/// Remaining records of a closed outbox.
package struct OutboxRemainder: Hashable, Sendable {
  /// Number of records that the next start finds.
  package var kept: Int
  /// Number of records that were in memory only because the disk was not writable.
  package var lost: Int

  package init(kept: Int, lost: Int) {
    self.kept = kept
    self.lost = lost
  }
}

/// The outcome for a rejected record.
package struct OutboxRefusal: Hashable, Sendable {
  package var topic: String
  /// True if the record waits for another attempt, false if it is a dead letter.
  package var isKept: Bool

  package init(topic: String, isKept: Bool) {
    self.topic = topic
    self.isKept = isKept
  }
}

/// An event that is reported to the user once.
package enum OutboxNotice: Hashable, Sendable, CustomStringConvertible {
  /// The disk is not writable: records are held in memory from now on.
  case degraded(String)
  /// The disk is writable again; the records from memory are stored.
  case recovered(records: Int)
  /// The store was damaged and set aside; records with valid checksums were transferred. `lost` is the number
  /// of further records according to the damaged store's counters. It is nil if the counters are unreadable,
  /// or if the salvage continues later.
  case setAside(path: String, cause: String, salvaged: Int, lost: Int?)
  /// The write-ahead log was damaged, and SQLite ignores all commits after the damage. `salvaged` records of
  /// these commits were restored; at least `lost` records are lost.
  case logDamaged(path: String, pages: Int, salvaged: Int, lost: Int)
  /// Some records were found damaged when they were read; they are lost.
  case damaged(DeliveryLane, records: Int)
  /// The store is a copy of one that was used elsewhere; it continues with a new epoch.
  case newEpoch(String)
  /// A lane was full or records were too old: the oldest were dropped.
  case dropped(DeliveryLane, records: Int, cause: String)

  package var description: String {
    switch self {
    case .degraded(let cause):
      "store not writable, records are held in memory: \(cause); free or repair the disk, or give the agent's user access"
    case .recovered(let records): "outbox writes to disk again; \(records) records moved out of memory"
    case .setAside(let path, let cause, let salvaged, let lost):
      "outbox was damaged (\(cause)), was set aside as \(path), and \(salvaged) records were salvaged; "
        + (lost.map { $0 == 0 ? "none is lost" : "\($0) are lost" } ?? "the number of lost records is unknown")
    case .logDamaged(let path, let pages, let salvaged, let lost):
      "outbox has \(pages) damaged pages in \(path)-wal: \(salvaged) records behind them were salvaged, at least \(lost) are lost"
    case .damaged(let lane, let records):
      "outbox lost \(records) records of lane \(lane): their checksums are wrong"
    case .newEpoch(let epoch): "outbox was restored from a copy and continues as epoch \(epoch)"
    case .dropped(let lane, let records, let cause):
      "outbox dropped \(records) of the oldest records of lane \(lane): \(cause)"
    }
  }
}
