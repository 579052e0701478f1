import FaultyDisk
import Glibc
import Platform
import SQLite
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// Documents on a disk that fails. Only one fault can be set at a time, so these tests run serially with those
/// of the model.
extension OutboxModelTests {
  /// A store found to be damaged while in use is replaced by a new one that contains the documents.
  @Test func documentsSurviveDamageOfAnOpenStore() throws {
    try #require(faulty_disk_install() == 0)
    defer { faulty_disk_repair() }
    let (directory, recorder) = (try TemporaryDirectory(), NoticeRecorder())
    let path = directory.file("outbox.sqlite")
    let outbox = try Outbox(path: path, notice: recorder.handler)
    outbox.append(draft(.events, "1"), preserving: [document(1)])
    faulty_disk_break(path, FAULTY_DISK_WRITE, SQLiteError.Code.corrupt.rawValue, 0, 1)
    outbox.append(draft(.events, "2"), preserving: [document(2)])
    faulty_disk_repair()
    guard case .setAside? = recorder.notices.first else {
      Issue.record("expected a damaged store, got \(recorder.notices)")
      return
    }
    outbox.flush()
    outbox.close()
    #expect(try Outbox(path: path).document(named: "states") == document(2).bytes)
  }

  /// Documents of a store that cannot be opened are readable, and later documents replace them.
  @Test func documentsAreReadFromAFailingDisk() throws {
    try #require(faulty_disk_install() == 0)
    defer { faulty_disk_repair() }
    let directory = try TemporaryDirectory()
    let path = directory.file("outbox.sqlite")
    let other = PreservedDocument(name: "other", bytes: [1, 2, 3])
    let first = try Outbox(path: path)
    first.preserve(document(1))
    first.preserve(other)
    first.close()
    faulty_disk_break(path, FAULTY_DISK_READ, SQLiteError.Code.inputOutput.rawValue, 0, -1)
    let outbox = try Outbox(path: path)
    guard case .memory = outbox.status.mode else {
      Issue.record("the store was opened")
      return
    }
    #expect(outbox.document(named: "states") == document(1).bytes)
    #expect(!outbox.preserve(document(2), isHeld: false))
    #expect(outbox.document(named: "states") == document(1).bytes)
    #expect(!outbox.preserve(document(3)))
    faulty_disk_repair()
    outbox.flush()
    outbox.close()
    let last = try Outbox(path: path)
    #expect(last.document(named: "states") == document(3).bytes)
    #expect(last.document(named: "other") == other.bytes)
  }

  /// A program that restarts from its document publishes each event exactly once, with random disk faults and kills.
  @Test func eventsAreDeliveredOnceThroughKillsAndFaults() throws {
    try #require(faulty_disk_install() == 0)
    defer { faulty_disk_repair() }
    for _ in 0..<6 {
      let seed = UInt64.random(in: 0 ... .max)
      var run = try DocumentRun(seed: seed)
      for _ in 0..<100 { try run.step() }
      let told = try run.finish()
      #expect(told == Array(1..<told.count + 1), "seed \(seed): \(run.history.suffix(40))")
      #expect(told.count > 10, "seed \(seed)")
    }
  }
}

/// A program on a failing disk. Its whole state is the number of its last event.
private struct DocumentRun {
  private(set) var history: [String] = []
  private let directory: TemporaryDirectory
  private var random: SplitMix
  private var path: String
  private var outbox: Outbox
  private var last = 0
  private var told: [Int] = []
  private var generation = 0
  private let configuration: OutboxConfiguration

  init(seed: UInt64) throws {
    directory = try TemporaryDirectory()
    random = SplitMix(seed: seed)
    path = directory.file("outbox-0.sqlite")
    configuration = OutboxConfiguration()
    outbox = try Outbox(path: path, configuration: configuration)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case ..<45:
      last += 1
      outbox.append(
        [draft(.events, "\(last)")] + (Bool.random(using: &random) ? [draft(.tracks, "t")] : []),
        preserving: [document(last)])
      history.append("event \(last)")
    case ..<60: outbox.append(draft([.tracks, .state, .other].randomElement(using: &random) ?? .other, "x"))
    case ..<72: deliver(limit: Int.random(in: 1...8, using: &random))
    case ..<84:
      let code = Bool.random(using: &random) ? SQLiteError.Code.full : .inputOutput
      let countdown = Int32.random(in: 0...10, using: &random)
      faulty_disk_break(
        path, FAULTY_DISK_WRITE, code.rawValue, countdown, Bool.random(using: &random) ? 1 : -1)
      history.append("break \(code.rawValue) after \(countdown)")
    case ..<92: repair()
    default: try kill()
    }
  }

  mutating func finish() throws -> [Int] {
    repair()
    try kill()
    deliver(limit: 100_000)
    outbox.close()
    return told
  }

  private mutating func repair() {
    faulty_disk_repair()
    outbox.flush()
    history.append("repair")
  }

  /// Delivers only while the store is durable: a record delivered from memory would be delivered again after a kill.
  private mutating func deliver(limit: Int) {
    guard outbox.status.mode == .durable else { return }
    let records = outbox.next(limit: limit)
    told += records.filter { $0.lane == .events }.compactMap { Int($0.text) }
    outbox.remove(records.map(\.seq))
    // An acknowledged record that is still in the store would be sent again with the same number; flush deletes it.
    outbox.flush()
    history.append("delivered up to \(told.last ?? 0)")
    guard outbox.status.mode == .durable else { return repair() }
  }

  private mutating func kill() throws {
    generation += 1
    let next = directory.file("outbox-\(generation).sqlite")
    for suffix in ["", "-wal", ".recent"] where unsafe access(path + suffix, F_OK) == 0 {
      try writeFile(next + suffix, readFile(path + suffix))
    }
    var status = stat()
    stat(next, &status)
    path = next
    faulty_disk_repair()
    try Database(path: path, access: .readWrite)
      .execute("UPDATE meta SET value = '\(status.st_ino)' WHERE key = 'inode'")
    outbox = try Outbox(path: path, configuration: configuration)
    last = outbox.document(named: "states").flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    history.append("kill, continues from \(last)")
  }
}
