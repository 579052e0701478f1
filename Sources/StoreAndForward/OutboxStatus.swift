public import Telemetry

/// What an outbox says about itself.
public struct OutboxStatus: Hashable, Sendable {
  public struct LaneStatus: Hashable, Sendable {
    /// Records that wait.
    public var records = 0
    /// What they count for in the lane's limit.
    public var bytes = 0
    /// Records dropped since the store was made, because the lane was full.
    public var droppedForSpace = 0
    /// Records dropped since the store was made, because they were too old.
    public var droppedForAge = 0
    /// Records found damaged when they were read.
    public var damaged = 0

    public init() {}
  }

  public enum Mode: Hashable, Sendable {
    /// Accepted records are on disk.
    case durable
    /// Accepted records are in memory only, and why.
    case memory(String)
  }

  public var mode: Mode
  public var epoch: String
  /// By `DeliveryLane.rawValue`.
  public var lanes: [LaneStatus]
  public var deadLetters: Int
  /// Topics whose records wait because the broker refuses them.
  public var refusedTopics: [String] = []
  /// Transactions committed since the outbox was opened.
  public var commits: Int

  /// An outbox in which nothing waits.
  package static let empty = OutboxStatus(
    mode: .durable, epoch: "", lanes: DeliveryLane.allCases.map { _ in LaneStatus() }, deadLetters: 0,
    commits: 0)

  public subscript(lane: DeliveryLane) -> LaneStatus { lanes[lane.rawValue] }

  /// The counters of a store, which may be closed, and of what waits in memory beside it.
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

  /// Records that wait in all lanes.
  public var records: Int { lanes.reduce(0) { $0 + $1.records } }
}

/// What is left in an outbox when it is closed.
public struct OutboxRemainder: Hashable, Sendable {
  /// Records that the next start finds.
  public var kept: Int
  /// Records that were in memory only, since the disk took nothing.
  public var lost: Int

  package init(kept: Int, lost: Int) {
    self.kept = kept
    self.lost = lost
  }
}

/// What became of a record that a broker refused.
public struct OutboxRefusal: Hashable, Sendable {
  public var topic: String
  /// Whether it waits for another attempt; a dead letter otherwise.
  public var isKept: Bool

  package init(topic: String, isKept: Bool) {
    self.topic = topic
    self.isKept = isKept
  }
}

/// Something that a person should hear about once, when it happens.
public enum OutboxNotice: Hashable, Sendable, CustomStringConvertible {
  /// The disk takes nothing: from now on records are kept in memory.
  case degraded(String)
  /// The disk takes records again; those kept in memory are on it.
  case recovered(records: Int)
  /// The store was damaged and set aside; what its checksums prove was taken over. `lost` is how many more records it said that
  /// it had; nil where that cannot be read any more, or the salvage goes on later.
  case setAside(path: String, cause: String, salvaged: Int, lost: Int?)
  /// The write-ahead log was damaged, and SQLite leaves out its commits from there on. `salvaged` records of them were restored; at least
  /// `lost` are lost.
  case logDamaged(path: String, pages: Int, salvaged: Int, lost: Int)
  /// Records that were damaged when they were read; they are lost.
  case damaged(DeliveryLane, records: Int)
  /// The store is a copy of one that went on elsewhere: it goes on under another epoch.
  case newEpoch(String)
  /// A lane was full or a record too old: the oldest made room.
  case dropped(DeliveryLane, records: Int, cause: String)

  public var description: String {
    switch self {
    case .degraded(let cause): "outbox keeps records in memory only: \(cause); free or repair the disk"
    case .recovered(let records): "outbox writes to disk again; \(records) records moved out of memory"
    case .setAside(let path, let cause, let salvaged, let lost):
      "outbox was damaged (\(cause)), was set aside as \(path), and \(salvaged) records were salvaged; "
        + (lost.map { $0 == 0 ? "none is lost" : "\($0) are lost" } ?? "how many are lost is not known")
    case .logDamaged(let path, let pages, let salvaged, let lost):
      "outbox has \(pages) damaged pages in \(path)-wal: \(salvaged) records behind them were salvaged, at least \(lost) are lost"
    case .damaged(let lane, let records):
      "outbox lost \(records) records of lane \(lane): their checksums are wrong"
    case .newEpoch(let epoch): "outbox was restored from a copy and goes on as epoch \(epoch)"
    case .dropped(let lane, let records, let cause):
      "outbox dropped \(records) of the oldest records of lane \(lane): \(cause)"
    }
  }
}

/// Why an outbox cannot be opened at all. What happens to it later (a full disk, a damaged file) is not
/// thrown: the outbox goes on and says so in an `OutboxNotice` and in its status.
public struct OutboxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was being done, as in "open".
  public var operation: String
  /// What it was done to: a file, a setting.
  public var object: String
  /// The cause, and where there is one the remedy, in a sentence.
  public var cause: String

  public init(operation: String, object: String, cause: String) {
    self.operation = operation
    self.object = object
    self.cause = cause
  }

  public var description: String { "outbox: cannot \(operation) \(object): \(cause)" }
}
