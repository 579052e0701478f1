/// Where records wait while the disk takes none: bounded, and lost with the process. Pure.
///
/// All lanes share the bound. When it is reached, the oldest record of the least important lane that has any
/// makes room.
struct MemoryLanes {
  private var lanes: [[Record]] = Lane.allCases.map { _ in [] }
  private(set) var bytes = 0
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// A record is never without a cost; this is asked for each one that the broker acknowledges.
  var isEmpty: Bool { bytes == 0 }

  /// All records, in the order in which they were accepted within each lane.
  var records: [Record] { lanes.flatMap { $0 } }

  func count(_ lane: Lane) -> Int { lanes[lane.rawValue].count }

  func bytes(_ lane: Lane) -> Int { lanes[lane.rawValue].reduce(0) { $0 + $1.cost } }

  func newest(_ lane: Lane) -> UInt64 { lanes[lane.rawValue].last?.seq ?? 0 }

  /// Takes a record in. Returns the lanes of the records that made room.
  mutating func insert(_ record: Record) -> [Lane] {
    if record.lane == .state,
      let index = lanes[Lane.state.rawValue].firstIndex(where: { $0.topic == record.topic })
    {
      bytes -= lanes[Lane.state.rawValue].remove(at: index).cost
    }
    lanes[record.lane.rawValue].append(record)
    bytes += record.cost
    var dropped: [Lane] = []
    while bytes > limit, let lane = Lane.allCases.last(where: { !lanes[$0.rawValue].isEmpty }) {
      bytes -= lanes[lane.rawValue].removeFirst().cost
      dropped.append(lane)
    }
    return dropped
  }

  func read(_ lane: Lane, after seq: UInt64, limit: Int) -> ArraySlice<Record> {
    let start = index(of: seq + 1, in: lane)
    return lanes[lane.rawValue][start...].prefix(limit)
  }

  /// Removes a record; nil when it is not here.
  mutating func remove(_ seq: UInt64, from lane: Lane) -> Record? {
    let place = index(of: seq, in: lane)
    guard place < lanes[lane.rawValue].count, lanes[lane.rawValue][place].seq == seq else { return nil }
    let record = lanes[lane.rawValue].remove(at: place)
    bytes -= record.cost
    return record
  }

  mutating func removeAll() { self = MemoryLanes(limit: limit) }

  /// The first place whose record has at least this seq.
  private func index(of seq: UInt64, in lane: Lane) -> Int {
    let records = lanes[lane.rawValue]
    var (low, high) = (0, records.count)
    while low < high {
      let middle = (low + high) / 2
      if records[middle].seq < seq { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
