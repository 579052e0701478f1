internal import Platform
internal import Telemetry

/// The records outside the store: the recent ones, which a file beside the store has until they are acknowledged or old enough,
/// and all while the disk takes nothing. Those of a lane are newer than what the store has of it.
struct UnstoredRecords {
  private(set) var lanes: MemoryLanes
  /// What the recent ones would be found in after a crash; nil where it is not wanted or cannot be had.
  private var file: RecentRecords?
  /// The first record of each call since the oldest that is still recent, and when it was accepted.
  private var times: [(seq: UInt64, time: Int64)] = []
  private let configuration: OutboxConfiguration

  init(_ configuration: OutboxConfiguration) {
    self.configuration = configuration
    lanes = MemoryLanes(limit: configuration.memoryBytes)
  }

  // MARK: Recent records

  /// Opens the file of recent records beside the store at `path`, where it is wanted. Returns what a process that died left
  /// there; it stays there until `removeAll`.
  mutating func open(beside path: String) -> [OutboxRecord] {
    guard configuration.recentBytes > 0 else { return [] }
    file = RecentRecords(path: path + ".recent")
    let records = file?.recover() ?? []
    if records.isEmpty { file?.reset() }
    return records
  }

  /// Keeps records out of the store for as long as their broker may take to acknowledge them. Returns false for those that
  /// belong there at once.
  /// - Parameter waiting: how many records of a lane wait in the store.
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
    times.append((first.seq, SystemClock.monotonic))
    return true
  }

  /// Keeps records that the file has and the store did not take.
  mutating func keepRecovered(_ records: [OutboxRecord]) {
    guard let first = records.first else { return }
    for record in records { _ = lanes.insert(record) }
    times.append((first.seq, SystemClock.monotonic))
  }

  /// Since when the oldest record waits, by the monotonic clock; nil when none does, and while the disk takes nothing.
  mutating func waitingSince(isDegraded: Bool) -> Int64? {
    guard !isDegraded, let oldest = lanes.oldest else {
      times = []
      return nil
    }
    while times.count > 1, times[1].seq <= oldest { times.removeFirst() }
    return times.first?.time
  }

  // MARK: Any of them

  var isEmpty: Bool { lanes.isEmpty }

  /// In the order in which they were accepted within each lane.
  var records: [OutboxRecord] { lanes.records }

  /// Those that are to go to the store ahead of these: in the state lane the newest of a topic is enough.
  func records(before newer: [OutboxRecord]) -> [OutboxRecord] {
    let newStates = Set(newer.filter { $0.lane == .state }.map(\.topic))
    return records.filter { $0.lane != .state || !newStates.contains($0.topic) }
  }

  func find(_ seq: UInt64, in lane: DeliveryLane) -> OutboxRecord? { lanes.find(seq, in: lane) }

  /// Keeps a record that the disk does not take. Returns those that made room for it.
  mutating func insert(_ record: OutboxRecord) -> [OutboxRecord] { lanes.insert(record) }

  /// Records are done with. Numbers of others are ignored.
  mutating func remove(_ places: [(seq: UInt64, lane: DeliveryLane)]) {
    let removed = places.filter { lanes.remove($0.seq, from: $0.lane) != nil }
    forget(removed.map(\.seq))
  }

  /// A record is lost, and counted.
  mutating func drop(_ seq: UInt64, from lane: DeliveryLane) {
    lanes.drop(seq, from: lane)
    forget([seq])
  }

  /// The store has them all.
  mutating func removeAll() {
    lanes.removeAll()
    file?.reset()
  }

  /// Closes the file. Returns how many records neither the store nor the file has: they end with the process.
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
