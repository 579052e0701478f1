import FaultyDisk
import Foundation
import Glibc
import Platform
import SQLite
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Runs an outbox and its model with the same random operations and disk faults, and compares them.
@Suite(.serialized) struct OutboxModelTests {
  /// Set ODOGRAPH_SEED to replay one seed. Runs several minutes if ODOGRAPH_FULL is set.
  @Test func randomHistoriesMatchTheModel() throws {
    let environment = ProcessInfo.processInfo.environment
    let isFull = environment["ODOGRAPH_FULL"] == "1"
    try #require(faulty_disk_install() == 0)
    defer { faulty_disk_repair() }
    if let seed = environment["ODOGRAPH_SEED"].flatMap({ UInt64($0) }) { return try play(seed, steps: 300) }
    for _ in 0..<(isFull ? 3000 : 15) { try play(.random(in: 0 ... .max), steps: isFull ? 300 : 120) }
  }

  /// Random operations on a healthy disk, with recent records outside the store until they are acknowledged.
  @Test func randomHistoriesWithRecentRecordsMatchTheModel() throws {
    let environment = ProcessInfo.processInfo.environment
    let isFull = environment["ODOGRAPH_FULL"] == "1"
    if let seed = environment["ODOGRAPH_SEED"].flatMap({ UInt64($0) }) {
      return try play(seed, steps: 300, keepsRecent: true)
    }
    for _ in 0..<(isFull ? 3000 : 30) {
      try play(.random(in: 0 ... .max), steps: isFull ? 300 : 120, keepsRecent: true)
    }
  }

  /// If the first record of a process cannot be stored, the next process assigns its number again.
  @Test func rejectionOnABrokenDiskKeepsTheOrder() throws {
    try #require(faulty_disk_install() == 0)
    defer { faulty_disk_repair() }
    let directory = try TemporaryDirectory()
    let path = directory.file("outbox.sqlite")
    var letters: [String] = []
    var expected: [String] = []
    for run in 0..<3 {
      let outbox = try Outbox(path: path)
      faulty_disk_break(path, FAULTY_DISK_WRITE, SQLiteError.Code.inputOutput.rawValue, 0, -1)
      let texts = (0..<5).map { "\($0) of \(run)" }
      outbox.append(texts.map { draft(.events, $0) })
      guard case .memory = outbox.status.mode else {
        Issue.record("expected memory, got \(outbox.status)")
        return
      }
      let offered = outbox.next(limit: 1000)
      #expect(offered.map(\.text) == expected + texts)
      faulty_disk_repair()
      let rejected = try #require(offered.first { $0.text == texts[0] })
      outbox.reject(rejected.seq, reason: "not authorized (0x87)")
      letters.append(texts[0])
      outbox.flush()
      outbox.append(draft(.events, "last of \(run)"))
      expected += texts.dropFirst() + ["last of \(run)"]
      #expect(outbox.deadLetters().reversed().map(\.record.text) == letters)
      outbox.close()
    }
    let outbox = try Outbox(path: path)
    #expect(outbox.next(limit: 1000).map(\.text) == expected)
  }

  private func play(_ seed: UInt64, steps: Int, keepsRecent: Bool = false) throws {
    var run = try OutboxRun(seed: seed, keepsRecent: keepsRecent)
    for step in 0..<steps {
      try run.step()
      guard run.model.problems.isEmpty else {
        Issue.record(
          "seed \(seed), step \(step): \(run.model.problems)\n\(run.history.suffix(40).joined(separator: "\n"))"
        )
        return
      }
    }
    try run.finish()
    #expect(run.model.problems.isEmpty, "seed \(seed), at the end")
  }
}

/// A random sequence of operations.
private struct OutboxRun {
  private enum Fault { case none, once, lasting }

  private(set) var model: OutboxModel
  private(set) var history: [String] = []
  private var outbox: Outbox
  private var path: String
  private var random: SplitMix
  private var fault = Fault.none
  private var isDegraded = false
  /// Time since which the disk fails. The outbox retries automatically after 5 s; a retry must not fall between
  /// reading the disk and reading the counters.
  private var degradedAt = MonotonicTime.start
  private var isRetryNear: Bool { isDegraded && degradedAt.secondsElapsed > 2 }
  /// Numbers of the records in flight, in order.
  private var outstanding: [UInt64] = []
  private var operation = FAULTY_DISK_WRITE
  /// True after a failed sync: its commit may or may not survive a crash.
  private var hasUncertainCommit = false
  private var accepted = 0
  private var generation = 0
  private var identities: Set<MessageIdentity> = []
  private let directory: TemporaryDirectory
  private let recorder = NoticeRecorder()

  private let keepsRecent: Bool

  init(seed: UInt64, keepsRecent: Bool) throws {
    self.keepsRecent = keepsRecent
    random = SplitMix(seed: seed)
    directory = try TemporaryDirectory()
    path = directory.file("outbox-0.sqlite")
    var configuration = OutboxConfiguration()
    configuration.events = .init(bytes: 6000, age: 10_000, durability: .beforeAccepting)
    configuration.state.bytes = 1200
    configuration.tracks = .init(bytes: 4096, age: 10_000, durability: .withinASecond)
    configuration.other = .init(bytes: 2048, age: 4000, durability: .withinASecond)
    configuration.deadLetters = 3
    configuration.shortBacklog = Int.random(in: 0...5, using: &random)
    configuration.memoryBytes = 5000
    configuration.recentBytes = keepsRecent ? 1500 : 0
    model = OutboxModel(configuration)
    outbox = try Outbox(path: path, configuration: configuration, notice: recorder.handler)
  }

  // MARK: Actions

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case ..<30: append()
    case ..<45: drain()
    case ..<57: acknowledge()
    case ..<62: reject()
    case ..<68: offerAgain()
    case ..<72: deadLetters()
    case ..<82: if !keepsRecent { breakDisk() }
    case ..<90: flush()
    case ..<93: try restart()
    case ..<97: try kill()
    default: try advance()
    }
    settle()
  }

  private mutating func append() {
    let count = Int.random(in: 1...6, using: &random)
    let turns = (0..<count).map { _ in model.nextTurn() }
    let drafts = turns.map { _ -> (TextMessage, String) in
      let lane = DeliveryLane.allCases[Int.random(in: 0..<4, using: &random)]
      let retain = Bool.random(using: &random)
      let topic = "\(lane)/\(Int.random(in: 0..<3, using: &random))\(retain ? "r" : "")"
      let text = "\(accepted) " + String(repeating: "x", count: Int.random(in: 0...400, using: &random))
      accepted += 1
      let expiry: UInt32? = [nil, 2500, 5000][Int.random(in: 0..<3, using: &random)]
      return (draft(lane, text, topic: topic, retain: retain, expiry: expiry), text)
    }
    let names = outbox.append(drafts.map(\.0))
    let isDurable = outbox.status.mode == .durable
    history.append(
      "append \(accepted - count)..<\(accepted) \(drafts.map { "\($0.0.topic)" }) durable \(isDurable)")
    let entries = zip(drafts.indices, names).map { index, name in
      let (draft, text) = drafts[index]
      model.expect(identities.insert(name).inserted, "\(name) given twice")
      let identity = "\(name.epoch) \(name.seq)"
      return OutboxModel.Entry(
        id: accepted - count + index, lane: draft.lane, topic: draft.topic, retain: draft.retain,
        expiry: draft.expiry, identity: identity,
        cost: "\(text) \(identity)".utf8.count + draft.topic.utf8.count + 48, turn: turns[index])
    }
    model.expect(entries.count == count, "\(entries.count) identities for \(count) records")
    model.accept(entries, isDurable: isDurable && !isDegraded)
  }

  private mutating func drain() {
    let limit = Int.random(in: 1...12, using: &random)
    let records = outbox.next(limit: limit)
    history.append("next \(limit): \(records.map { "\($0.id ?? -1)\($0.retain ? "*" : "")@\($0.seq)" })")
    model.handOut(records, limit: limit, canReadAll: fault == .none, isDiskAway: isDiskAway)
    outstanding += records.map(\.seq)
  }

  /// Brokers acknowledge in order.
  private mutating func acknowledge() {
    let seqs = Array(outstanding.prefix(Int.random(in: 1...12, using: &random)))
    outstanding.removeFirst(seqs.count)
    outbox.remove(seqs + [.random(in: 1 << 60...1 << 61, using: &random)])
    history.append("remove \(seqs)")
    model.acknowledge(seqs)
  }

  private mutating func reject() {
    let records = outbox.next(limit: 1)
    model.handOut(records, limit: 1, canReadAll: fault == .none, isDiskAway: isDiskAway)
    guard let record = records.first else { return }
    // An older record that is retried must not become the last known one.
    if record.lane > .state && record.topic.hasSuffix("r") {
      outstanding.append(record.seq)
      return
    }
    let before = outbox.status.records
    outbox.reject(record.seq, reason: "not authorized (0x87)")
    let isDurable =
      model.isInMemory(record.id ?? -1)
      ? outbox.deadLetters(limit: 10).contains { $0.record.id == record.id } : outbox.status.records < before
    history.append("reject \(record.id ?? -1) durable \(isDurable)")
    let letter = isDurable ? outbox.deadLetters(limit: 10).first { $0.record.id == record.id } : nil
    if let number = letter?.record.seq {
      model.expect(
        number < TemporarySequence.first && !model.dead.contains { $0.number == number },
        "a dead letter has the number \(number), which is given again")
    }
    model.reject(record.seq, isDurable: isDurable, number: letter?.record.seq)
  }

  private mutating func offerAgain() {
    history.append("offer again")
    outbox.offerAgain()
    model.offerAgain()
    outstanding = []
  }

  private mutating func deadLetters() {
    guard fault == .none, outbox.status.mode == .durable else { return }
    let letters = outbox.deadLetters(limit: 10).map { $0.record.id }
    model.expect(
      Set(letters) == Set(model.dead.map { Optional($0.id) }), "dead \(letters), not \(model.dead.map(\.id))")
    if Bool.random(using: &random) {
      history.append("retry dead letters")
      model.expect(outbox.retryDeadLetters() == letters.count, "not all retried")
      model.retryDead()
    } else {
      history.append("clear dead letters")
      model.expect(outbox.clearDeadLetters() == letters.count, "not all cleared")
      model.clearDead()
    }
  }

  private mutating func breakDisk() {
    fault = [Fault.once, .lasting][Int.random(in: 0..<2, using: &random)]
    let (operation, code): (FaultyDiskOperation, SQLiteError.Code) =
      [
        (FAULTY_DISK_WRITE, .full), (FAULTY_DISK_WRITE, .inputOutput), (FAULTY_DISK_SYNC, .inputOutput),
        (FAULTY_DISK_READ, .inputOutput),
      ][Int.random(in: 0..<4, using: &random)]
    self.operation = operation
    hasUncertainCommit = hasUncertainCommit || operation == FAULTY_DISK_SYNC
    let countdown = Int32.random(in: 0...12, using: &random)
    history.append("break \(operation.rawValue) \(code.rawValue) after \(countdown), \(fault)")
    faulty_disk_break(path, operation, code.rawValue, countdown, fault == .once ? 1 : -1)
  }

  private mutating func flush() {
    faulty_disk_repair()
    fault = .none
    hasUncertainCommit = false
    outbox.flush()
    history.append("repair and flush")
    model.expect(outbox.status.mode == .durable, "the disk is repaired, and not used: \(outbox.status.mode)")
  }

  private mutating func restart() throws {
    // Records in memory may be lost only if the disk cannot be written at all.
    if fault != .lasting || operation != FAULTY_DISK_WRITE || hasUncertainCommit || isRetryNear { flush() }
    settle()
    outbox.close()
    history.append("close and open, fault \(fault)")
    faulty_disk_repair()
    fault = .none
    model.restart(found: try onDisk())
    (outstanding, isDegraded) = ([], false)
    outbox = try Outbox(path: path, configuration: model.configuration, notice: recorder.handler)
  }

  /// Continues from a copy of the store, as found after a kill at this moment.
  private mutating func kill() throws {
    if hasUncertainCommit || isRetryNear { flush() }
    settle()
    generation += 1
    let next = directory.file("outbox-\(generation).sqlite")
    for suffix in ["", "-wal", ".recent"] where unsafe access(path + suffix, F_OK) == 0 {
      try writeFile(next + suffix, readFile(path + suffix))
    }
    var status = stat()
    stat(next, &status)
    path = next
    try Database(path: path, access: .readWrite)
      .execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
    history.append("kill")
    faulty_disk_repair()
    fault = .none
    if keepsRecent {
      // Recent records are moved into the store.
      outbox = try Outbox(path: path, configuration: model.configuration, notice: recorder.handler)
      let status = outbox.status
      model.restart(found: try onDisk(), drops: DeliveryLane.allCases.map { status[$0].droppedForSpace })
    } else {
      model.restart(found: try onDisk())
      outbox = try Outbox(path: path, configuration: model.configuration, notice: recorder.handler)
    }
    (outstanding, isDegraded) = ([], false)
  }

  /// Advances the store's clock while it is closed.
  private mutating func advance() throws {
    flush()
    try restart()
    outbox.close()
    try Database(path: path, access: .readWrite)
      .execute("UPDATE meta SET value = CAST(value AS INTEGER) + 3000 WHERE key = 'clock'")
    history.append("advance")
    outbox = try Outbox(path: path, configuration: model.configuration, notice: recorder.handler)
    model.advance(seconds: 3000)
    let records = outbox.next(limit: 1000)
    model.handOut(records, limit: 1000, canReadAll: true, isDiskAway: false)
    outbox.flush()
    offerAgain()
  }

  // MARK: Checks

  private var isDiskAway: Bool { outbox.keeper.withLock { $0.store == nil } }

  /// Compares the counters. Records may have moved from memory to disk since the last comparison.
  private mutating func settle() {
    let status = outbox.status
    if isDegraded, status.mode == .durable { model.recover() }
    if !isDegraded, status.mode != .durable { degradedAt = .now }
    isDegraded = status.mode != .durable
    model.check(status, isDiskAway: isDiskAway)
  }

  /// Returns the identifiers in the file, per lane and in order.
  private func onDisk() throws -> [[Int]] {
    let reader = try SQLiteReader(path)
    return try DeliveryLane.allCases.map { lane in
      try reader.rows("SELECT CAST(payload AS TEXT) FROM \(lane) ORDER BY seq")
        .compactMap { $0[0].flatMap { Int($0.prefix { $0 != " " }) } }
    }
  }

  /// Drains the outbox: exactly the records of the model must be delivered.
  mutating func finish() throws {
    flush()
    settle()
    offerAgain()
    while true {
      let records = outbox.next(limit: 7)
      model.handOut(records, limit: 7, canReadAll: true, isDiskAway: false)
      outbox.remove(records.map(\.seq))
      model.acknowledge(records.map(\.seq))
      if records.isEmpty { break }
    }
    outbox.flush()
    settle()
    model.expect(outbox.status.records == 0 && model.live.isEmpty, "left over: \(model.live)")
    let others = recorder.notices.filter { notice in
      switch notice {
      case .setAside, .newEpoch: true
      default: false
      }
    }
    model.expect(others.isEmpty, "\(others)")
  }
}
