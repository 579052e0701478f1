internal import Telemetry

/// Holds records in memory while the disk is not writable. The memory is bounded, and its records are lost
/// with the process. Pure.
///
/// All lanes share the limit. If it is exceeded, the oldest record of the least important nonempty lane is
/// dropped.
struct MemoryLanes {
  private var lanes: [[OutboxRecord]] = DeliveryLane.allCases.map { _ in [] }
  private(set) var bytes = 0
  /// Number of dropped records per lane.
  private(set) var drops = DeliveryLane.allCases.map { _ in 0 }
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// All records, in order of acceptance within each lane.
  var records: [OutboxRecord] { lanes.flatMap { $0 } }

  var isEmpty: Bool { lanes.allSatisfy(\.isEmpty) }

  /// The smallest position of any record in memory; nil if there is none.
  var oldest: UInt64? { lanes.compactMap { $0.first?.seq }.min() }

  func count(_ lane: DeliveryLane) -> Int { lanes[lane.rawValue].count }

  func bytes(_ lane: DeliveryLane) -> Int { lanes[lane.rawValue].reduce(0) { $0 + $1.cost } }

  func newest(_ lane: DeliveryLane) -> UInt64 { lanes[lane.rawValue].last?.seq ?? 0 }

  /// Adds a record; in the state lane it replaces the record of the same topic. Returns the dropped records.
  mutating func insert(_ record: OutboxRecord) -> [OutboxRecord] {
    if record.lane == .state,
      let index = lanes[DeliveryLane.state.rawValue].firstIndex(where: { $0.topic == record.topic })
    {
      bytes -= lanes[DeliveryLane.state.rawValue].remove(at: index).cost
    }
    lanes[record.lane.rawValue].append(record)
    bytes += record.cost
    var dropped: [OutboxRecord] = []
    while bytes > limit, let lane = DeliveryLane.allCases.last(where: { !lanes[$0.rawValue].isEmpty }) {
      dropped.append(drop(lanes[lane.rawValue][0].seq, from: lane) ?? record)
    }
    return dropped
  }

  /// Removes and counts a lost record; nil if it is missing.
  @discardableResult
  mutating func drop(_ seq: UInt64, from lane: DeliveryLane) -> OutboxRecord? {
    guard let record = remove(seq, from: lane) else { return nil }
    drops[lane.rawValue] += 1
    return record
  }

  func read(_ lane: DeliveryLane, after seq: UInt64, limit: Int) -> ArraySlice<OutboxRecord> {
    let start = index(of: seq + 1, in: lane)
    return lanes[lane.rawValue][start...].prefix(limit)
  }

  /// Removes a record; nil if it is missing.
  @discardableResult
  mutating func remove(_ seq: UInt64, from lane: DeliveryLane) -> OutboxRecord? {
    guard let record = find(seq, in: lane) else { return nil }
    lanes[lane.rawValue].remove(at: index(of: seq, in: lane))
    bytes -= record.cost
    return record
  }

  /// Removes all records after they were stored; the counts of drops remain.
  mutating func removeAll() {
    lanes = DeliveryLane.allCases.map { _ in [] }
    bytes = 0
  }

  /// Returns a record; nil if it is missing.
  func find(_ seq: UInt64, in lane: DeliveryLane) -> OutboxRecord? {
    let place = index(of: seq, in: lane)
    guard place < lanes[lane.rawValue].count, lanes[lane.rawValue][place].seq == seq else { return nil }
    return lanes[lane.rawValue][place]
  }

  /// Returns the index of the first record of a lane whose position is at least `seq`.
  private func index(of seq: UInt64, in lane: DeliveryLane) -> Int {
    let records = lanes[lane.rawValue]
    var (low, high) = (0, records.count)
    while low < high {
      let middle = (low + high) / 2
      if records[middle].seq < seq { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
