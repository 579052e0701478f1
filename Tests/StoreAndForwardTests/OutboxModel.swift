import StoreAndForward
import Telemetry

/// Reference model of an outbox: plain lists with linear search.
struct OutboxModel {
  struct Entry: Hashable {
    /// Number in the order of acceptance.
    var id: Int
    var lane: DeliveryLane
    var topic: String
    var retain: Bool
    var expiry: UInt32?
    var identity: String
    var cost: Int
    /// Age in seconds of powered-on time since the entry was stored.
    var age: UInt32 = 0
    /// Position within the lane.
    var turn: Int
    /// Number of the record when it was rejected.
    var number: UInt64 = 0
  }

  let configuration: OutboxConfiguration
  private(set) var disk: [[Entry]] = DeliveryLane.allCases.map { _ in [] }
  private(set) var memory: [[Entry]] = DeliveryLane.allCases.map { _ in [] }
  private(set) var dead: [Entry] = []
  private(set) var spaceDrops = DeliveryLane.allCases.map { _ in 0 }
  private(set) var memoryDrops = DeliveryLane.allCases.map { _ in 0 }
  private(set) var ageDrops = DeliveryLane.allCases.map { _ in 0 }
  /// Identifier of each entry in flight, by the number under which it was handed out.
  private(set) var held: [UInt64: Int] = [:]
  /// Entries dropped for space since reading started. They may already have been read.
  private(set) var dropped: Set<Int> = []
  /// Acknowledged entries still on disk until the next deletion. They return after a crash.
  private(set) var answered: [Entry] = []
  /// The newest retained entry of each topic that the broker has accepted.
  private(set) var taken: [String: Int] = [:]
  /// Previous value of `taken` for topics whose newest entry was acknowledged from memory; the store does not
  /// yet have the new value.
  private var takenBefore: [String: Int] = [:]
  private var turn = 0
  /// Last position handed out in each lane since reading started.
  private var lastTurn = DeliveryLane.allCases.map { _ in -1 }
  private(set) var problems: [String] = []

  init(_ configuration: OutboxConfiguration) { self.configuration = configuration }

  var live: [Entry] { disk.flatMap { $0 } + memory.flatMap { $0 } }
  func live(_ lane: DeliveryLane) -> [Entry] { disk[lane.rawValue] + memory[lane.rawValue] }
  var isInMemory: Bool { memory.contains { !$0.isEmpty } }

  mutating func expect(_ holds: Bool, _ message: String) {
    if !holds { problems.append(message) }
  }

  func isInMemory(_ id: Int) -> Bool { memory.joined().contains { $0.id == id } }

  // MARK: Accepting

  mutating func nextTurn() -> Int {
    turn += 1
    return turn
  }

  /// - Parameter isDurable: true if the disk accepted the entries.
  mutating func accept(_ entries: [Entry], isDurable: Bool) {
    if isDurable {
      // Entries in the file of recent records are accepted without a commit that deletes acknowledged ones.
      if configuration.recentBytes == 0 { answered = [] }
      store(entries)
      makeRoom(in: Set(entries.map(\.lane)))
      return
    }
    for entry in entries {
      if entry.lane == .state { memory[1].removeAll { $0.topic == entry.topic } }
      memory[entry.lane.rawValue].append(entry)
      while memory.joined().reduce(0, { $0 + $1.cost }) > configuration.memoryBytes,
        let lane = memory.indices.last(where: { !memory[$0].isEmpty })
      {
        dropped.insert(memory[lane].removeFirst().id)
        memoryDrops[lane] += 1
      }
    }
  }

  /// Moves entries from memory to disk after the disk has recovered.
  mutating func recover() {
    store(memory.flatMap { $0 })
    memory = DeliveryLane.allCases.map { _ in [] }
    takenBefore = [:]
    makeRoom(in: Set(DeliveryLane.allCases))
    answered = []
    beginReading()
  }

  private mutating func store(_ entries: [Entry]) {
    for entry in entries {
      if entry.lane == .state { disk[1].removeAll { $0.topic == entry.topic } }
      disk[entry.lane.rawValue].append(entry)
    }
  }

  private mutating func makeRoom(in lanes: Set<DeliveryLane>) {
    for lane in lanes {
      while disk[lane.rawValue].reduce(0, { $0 + $1.cost }) > configuration.limits(of: lane).bytes {
        dropped.insert(disk[lane.rawValue].removeFirst().id)
        spaceDrops[lane.rawValue] += 1
      }
    }
  }

  // MARK: Reading

  private mutating func beginReading() {
    lastTurn = DeliveryLane.allCases.map { _ in -1 }
    dropped = []
  }

  mutating func offerAgain() {
    held = [:]
    beginReading()
  }

  /// Checks records that were handed out.
  /// - Parameters:
  /// - canReadAll: true if the outbox can read all waiting records.
  /// - isDiskAway: true if the store is not open.
  mutating func handOut(_ records: [OutboxRecord], limit: Int, canReadAll: Bool, isDiskAway: Bool) {
    for record in records { handOut(record, canReadAll: canReadAll) }
    guard canReadAll, records.count < limit else { return }
    let waiting = Set((isDiskAway ? memory.flatMap { $0 } : live).map(\.id)).subtracting(held.values)
    expect(waiting.isEmpty, "never handed out: \(waiting.sorted())")
  }

  private mutating func handOut(_ record: OutboxRecord, canReadAll: Bool) {
    guard let id = record.id else { return expect(false, "unknown record \(record.text)") }
    guard record.seq < 1 << 62 else { return checkRepetition(record, id, canReadAll: canReadAll) }
    expect(!held.values.contains(id), "\(id) handed out twice")
    expect(held[record.seq] == nil, "number \(record.seq) given twice")
    held[record.seq] = id
    guard let entry = live(record.lane).first(where: { $0.id == id }) else {
      return expect(dropped.contains(id), "\(id) was gone and came again")
    }
    expect(record.identity == entry.identity, "\(id) has another identity: \(record.identity)")
    expect(record.topic == entry.topic && record.contentType == "text/plain", "\(id) was changed")
    let left = entry.expiry.map { Int($0) - Int(entry.age) } ?? 0
    expect((entry.expiry == nil) == (record.expiry == nil), "\(id) has another expiry")
    expect(abs(left - Int(record.expiry ?? 0)) < 600, "\(id) expires in \(record.expiry ?? 0) s, not \(left)")
    checkRetain(record, entry)
    // The newest retained record is sent before the backlog.
    let overtakes = entry.retain && record.retain && entry.lane > .state
    guard !overtakes else { return }
    expect(entry.turn > lastTurn[entry.lane.rawValue], "\(id) out of turn in lane \(entry.lane)")
    lastTurn[entry.lane.rawValue] = entry.turn
    guard canReadAll, entry.lane > .state else { return }
    for lane in DeliveryLane.allCases where lane < entry.lane {
      let before = live(lane).filter { other in !held.values.contains(other.id) }
      expect(before.isEmpty, "\(id) of lane \(entry.lane) before \(before.map(\.id)) of lane \(lane)")
    }
  }

  /// Checks a second copy of a record that was handed out before older ones.
  private mutating func checkRepetition(_ record: OutboxRecord, _ id: Int, canReadAll: Bool) {
    expect(record.retain && record.lane > .state, "\(id) was repeated without its retain flag")
    let isDelivered = held.values.contains(id) || taken[record.topic] == id
    expect(isDelivered, "\(id) was repeated before it was delivered")
    let others = live(record.lane).filter { $0.topic == record.topic && !held.values.contains($0.id) }
    expect(others.isEmpty || !canReadAll, "\(id) was repeated before \(others.map(\.id))")
    let newer = live.filter { $0.retain && $0.topic == record.topic && $0.id > id }
    expect(newer.isEmpty, "\(id) was repeated although \(newer.map(\.id)) is newer")
  }

  private mutating func checkRetain(_ record: OutboxRecord, _ entry: Entry) {
    guard entry.retain, entry.lane > .state else {
      return expect(record.retain == entry.retain, "\(entry.id): the retain flag was changed")
    }
    let newer = live.filter { $0.retain && $0.topic == entry.topic && $0.id > entry.id }
    let went = taken[entry.topic] ?? -1
    if record.retain {
      expect(newer.isEmpty, "\(entry.id) retained before \(newer.map(\.id))")
      expect(went < entry.id, "\(entry.id) retained after \(went)")
    }
  }

  // MARK: Answers

  mutating func acknowledge(_ seqs: [UInt64]) {
    for seq in seqs {
      guard let id = held.removeValue(forKey: seq) else { continue }
      let wasInMemory = isInMemory(id)
      if let entry = removeLive(id), entry.retain, entry.lane > .state {
        if wasInMemory, takenBefore[entry.topic] == nil {
          takenBefore[entry.topic] = taken[entry.topic] ?? -1
        }
        taken[entry.topic] = max(taken[entry.topic] ?? -1, id)
      }
    }
  }

  /// - Parameters:
  /// - isDurable: true if the disk accepted the dead letter.
  /// - number: the number of the stored dead letter; nil if it was not stored.
  mutating func reject(_ seq: UInt64, isDurable: Bool, number: UInt64?) {
    guard let id = held.removeValue(forKey: seq) else { return }
    let wasInMemory = isInMemory(id)
    guard isDurable || wasInMemory else { return }
    guard var entry = removeLive(id) else { return }
    guard isDurable else {
      memoryDrops[entry.lane.rawValue] += 1
      return
    }
    if !wasInMemory { answered.removeLast() }
    entry.number = number ?? seq
    dead.append(entry)
    if dead.count > configuration.deadLetters, let oldest = dead.map(\.number).min() {
      dead.removeAll { $0.number == oldest }
    }
  }

  mutating func clearDead() { dead = [] }

  /// Dead letters are appended to the ends of their lanes, in order.
  mutating func retryDead() {
    let entries = dead.sorted { $0.number < $1.number }.map { entry in
      var entry = entry
      entry.turn = nextTurn()
      entry.age = 0
      return entry
    }
    dead = []
    store(entries)
    makeRoom(in: Set(DeliveryLane.allCases))
  }

  private mutating func removeLive(_ id: Int) -> Entry? {
    for lane in memory.indices {
      if let index = memory[lane].firstIndex(where: { $0.id == id }) { return memory[lane].remove(at: index) }
      guard let index = disk[lane].firstIndex(where: { $0.id == id }) else { continue }
      answered.append(disk[lane][index])
      return disk[lane].remove(at: index)
    }
    return nil
  }

  // MARK: Ends

  /// The process was killed, or exited while the disk was not writable.
  /// - Parameters:
  /// - found: the entries on disk, per lane.
  /// - drops: records dropped for space per lane, if the store has dropped some since. Acknowledged records
  ///   whose deletion was not committed are restored and use space.
  mutating func restart(found: [[Int]], drops: [Int]? = nil) {
    let lost = Set(memory.joined().map(\.id))
    for lane in disk.indices {
      let known = (disk[lane] + answered.filter { $0.lane.rawValue == lane }).sorted { $0.turn < $1.turn }
      expect(
        Set(disk[lane].map(\.id)).isSubset(of: found[lane]),
        "lost: \(disk[lane].map(\.id)), on disk: \(found[lane])")
      let here = known.filter { found[lane].contains($0.id) }
      if let drops {
        let (count, gone) = (drops[lane] - spaceDrops[lane], known.count - here.count)
        let cost = known.reduce(0) { $0 + $1.cost }
        let limit = configuration.limits(of: DeliveryLane.allCases[lane]).bytes
        expect(
          count == 0 || (cost > limit && count > 0 && count <= gone),
          "lane \(lane): \(count) dropped for space, \(gone) gone, \(cost) of \(limit) bytes")
        spaceDrops[lane] += count
      }
      expect(
        here.map(\.id) == found[lane], "on disk: \(found[lane]), known: \(known.map(\.id)), lost: \(lost)")
      disk[lane] = here
    }
    for (topic, id) in takenBefore { taken[topic] = id }
    // A restored entry that the broker already has is pending again.
    for entry in disk.joined() where entry.retain && taken[entry.topic] ?? -1 >= entry.id {
      taken[entry.topic] = nil
    }
    takenBefore = [:]
    memory = DeliveryLane.allCases.map { _ in [] }
    memoryDrops = DeliveryLane.allCases.map { _ in 0 }
    answered = []
    offerAgain()
  }

  /// Advances the clock and drops expired entries.
  mutating func advance(seconds: UInt32) {
    for lane in DeliveryLane.allCases {
      let limit = configuration.limits(of: lane).age ?? .max
      for index in disk[lane.rawValue].indices { disk[lane.rawValue][index].age += seconds }
      let old = disk[lane.rawValue].filter { Int($0.age) > limit || $0.age >= $0.expiry ?? .max }
      ageDrops[lane.rawValue] += old.count
      disk[lane.rawValue].removeAll(where: old.contains)
    }
  }

  // MARK: Counters

  /// - Parameter isDiskAway: true if the store is not open.
  mutating func check(_ status: OutboxStatus, isDiskAway: Bool) {
    for lane in DeliveryLane.allCases {
      let entries = isDiskAway ? memory[lane.rawValue] : live(lane)
      let (one, index) = (status[lane], lane.rawValue)
      expect(one.records == entries.count, "lane \(lane): \(one.records) records, not \(entries.count)")
      let bytes = entries.reduce(0) { $0 + $1.cost }
      expect(one.bytes == bytes, "lane \(lane): \(one.bytes) bytes, not \(bytes)")
      let drops = (isDiskAway ? 0 : spaceDrops[index]) + memoryDrops[index]
      expect(one.droppedForSpace == drops, "lane \(lane): \(one.droppedForSpace) for space, not \(drops)")
      let old = isDiskAway ? 0 : ageDrops[index]
      expect(one.droppedForAge == old, "lane \(lane): \(one.droppedForAge) for age, not \(old)")
      expect(one.damaged == 0, "lane \(lane): damaged")
    }
    if !isDiskAway {
      expect(status.deadLetters == dead.count, "\(status.deadLetters) dead letters, not \(dead.count)")
    }
  }
}

extension OutboxRecord {
  /// Number at the start of the text.
  var id: Int? { Int(text.prefix { $0 != " " }) }
}
