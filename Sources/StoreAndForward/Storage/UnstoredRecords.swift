internal import Platform
internal import Telemetry

/// The records outside the store: recent ones, which are also in a file beside the store until they are
/// acknowledged or too old, and all new ones while the disk is not writable. They are newer than the stored
/// records of their lane.
struct UnstoredRecords {
  private(set) var lanes: MemoryLanes
  /// The file that preserves recent records in a crash; nil if disabled or unavailable.
  private var file: RecentRecords?
  /// The first record of each call that added recent records, with the time of the call.
  private var times: [(seq: UInt64, time: MonotonicTime)] = []
  private let configuration: OutboxConfiguration

  init(_ configuration: OutboxConfiguration) {
    self.configuration = configuration
    lanes = MemoryLanes(limit: configuration.memoryBytes)
  }

  // MARK: Recent records

  /// Opens the file of recent records beside the store at `path`, if enabled. Returns the records left by a
  /// crashed process, which remain in the file until `removeAll`.
  mutating func open(beside path: String) -> [OutboxRecord] {
    guard configuration.recentBytes > 0 else { return [] }
    file = RecentRecords(path: path + ".recent")
    let records = file?.recover() ?? []
    if records.isEmpty { file?.reset() }
    return records
  }

  /// Holds records outside the store for the time in which the broker usually acknowledges them. Returns
  /// false if the records must be stored immediately.
  /// - Parameter waiting: returns the number of stored records of a lane.
  mutating func keep(_ records: [OutboxRecord], waiting: (DeliveryLane) -> Int) -> Bool {
    guard let file, let first = records.first else { return false }
    var costs = DeliveryLane.allCases.map { lanes.bytes($0) }
    for record in records { costs[record.lane.rawValue] += record.cost }
    let limit = min(configuration.recentBytes, configuration.memoryBytes)
    guard costs.reduce(0, +) <= limit else { return false }
    for lane in Set(records.map(\.lane)) {
      let limits = configuration.limits(of: lane)
      guard limits.durability == .withinASecond, waiting(lane) == 0, costs[lane.rawValue] <= limits.bytes
      else { return false }
    }
    guard file.append(records) else { return false }
    for record in records { _ = lanes.insert(record) }
    times.append((first.seq, .now))
    return true
  }

  /// Adds records that are in the file but not in the store.
  mutating func keepRecovered(_ records: [OutboxRecord]) {
    guard let first = records.first else { return }
    for record in records { _ = lanes.insert(record) }
    times.append((first.seq, .now))
  }

  /// Returns the time since which the oldest recent record waits; nil if there is none, or
  /// while the disk is not writable.
  mutating func waitingSince(isDegraded: Bool) -> MonotonicTime? {
    guard !isDegraded, let oldest = lanes.oldest else {
      times = []
      return nil
    }
    while times.count > 1, times[1].seq <= oldest { times.removeFirst() }
    return times.first?.time
  }

  // MARK: Any of them

  var isEmpty: Bool { lanes.isEmpty }

  /// Records in order of acceptance within each lane.
  var records: [OutboxRecord] { lanes.records }

  /// Returns the records that must be stored before `newer`; in the state lane only the newest of a topic.
  func records(before newer: [OutboxRecord]) -> [OutboxRecord] {
    let newStates = Set(newer.filter { $0.lane == .state }.map(\.topic))
    return records.filter { $0.lane != .state || !newStates.contains($0.topic) }
  }

  func find(_ seq: UInt64, in lane: DeliveryLane) -> OutboxRecord? { lanes.find(seq, in: lane) }

  /// Adds a record while the disk is not writable. Returns the dropped records.
  mutating func insert(_ record: OutboxRecord) -> [OutboxRecord] { lanes.insert(record) }

  /// Removes completed records. Other numbers are ignored.
  mutating func remove(_ places: [(seq: UInt64, lane: DeliveryLane)]) {
    let removed = places.filter { lanes.remove($0.seq, from: $0.lane) != nil }
    forget(removed.map(\.seq))
  }

  /// Removes and counts a lost record.
  mutating func drop(_ seq: UInt64, from lane: DeliveryLane) {
    lanes.drop(seq, from: lane)
    forget([seq])
  }

  /// Removes all records after they were stored.
  mutating func removeAll() {
    lanes.removeAll()
    file?.reset()
  }

  /// Closes the file. Returns the number of records that are neither in the store nor in the file, and are
  /// lost with the process.
  mutating func close() -> Int {
    let kept = Set((file?.recover() ?? []).map(\.seq))
    file = nil
    return records.count { !kept.contains($0.seq) }
  }

  private func forget(_ seqs: [UInt64]) {
    guard !seqs.isEmpty else { return }
    if lanes.isEmpty { file?.reset() } else { file?.remove(seqs) }
  }
}
