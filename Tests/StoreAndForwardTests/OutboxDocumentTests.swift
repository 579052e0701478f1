import Glibc
import Platform
import SQLite
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Documents stored together with messages. After a crash, both are stored or neither.
@Suite struct OutboxDocumentTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  @Test func newestDocumentIsFoundAfterARestart() throws {
    do {
      let outbox = try Outbox(path: path)
      #expect(outbox.document(named: "states") == nil)
      outbox.append(draft(.events, "1"), preserving: [document(1)])
      #expect(outbox.append([TextMessage](), preserving: [document(2)]).isEmpty)
      outbox.append([TextMessage](), preserving: [PreservedDocument(name: "other", bytes: [0, 1])])
      #expect(outbox.document(named: "states") == document(2).bytes)
      outbox.close()
    }
    let again = try Outbox(path: path)
    #expect(again.document(named: "states") == document(2).bytes)
    #expect(again.document(named: "other") == [0, 1])
    #expect(again.drain().map(\.text) == ["1"])
  }

  /// Simulates a power cut or a kill at every 1,373th byte written to the write-ahead log, and at its end.
  @Test func crashNeverSeparatesAnEventFromItsDocument() throws {
    let victim = try Outbox(path: path)
    let empty = try size(directory.file("outbox.sqlite-wal"))
    for number in 1...5 {
      victim.append(draft(.events, "\(number)"), preserving: [document(number)])
      victim.append(draft(.tracks, "between"))
    }
    let length = try size(directory.file("outbox.sqlite-wal"))
    var found: Set<Int> = []
    for end in Array(stride(from: empty, to: length, by: 1373)) + [length] {
      let survivor = try Outbox(path: afterCrash(directory, syncedLength: end))
      let told = survivor.drain().filter { $0.lane == .events }.map(\.text)
      let known = survivor.document(named: "states").map { String(decoding: $0, as: UTF8.self) }
      #expect(told.last == known, "\(end) of \(length) bytes")
      #expect(told == (0..<told.count).map { "\($0 + 1)" })
      found.insert(told.count)
      survivor.close()
    }
    #expect(found.count > 3, "\(found)")
    // The complete log contains the newest document.
    let killed = try Outbox(path: afterCrash(directory))
    #expect(killed.document(named: "states") == document(5).bytes)
  }

  /// A message with a document is written to the store immediately, together with the records that wait in the
  /// file of recent records.
  @Test func documentIsStoredTogetherWithWaitingRecords() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.tracks, "before"))
    #expect(outbox.keeper.withLock { $0.store?.lanes[DeliveryLane.tracks.rawValue].records } == 0)
    outbox.append(draft(.tracks, "with it"), preserving: [document(1)])
    #expect(outbox.keeper.withLock { $0.store?.lanes[DeliveryLane.tracks.rawValue].records } == 2)
  }
}

extension OutboxDocumentTests {
  @Test func documentWithoutMessagesIsStoredAndDeleted() throws {
    do {
      let outbox = try Outbox(path: path)
      outbox.append(draft(.tracks, "waiting"))
      #expect(outbox.preserve(document(1)))
      // Storing a document does not write waiting messages to the store; the broker may acknowledge them soon.
      #expect(outbox.keeper.withLock { $0.store?.lanes[DeliveryLane.tracks.rawValue].records } == 0)
      #expect(outbox.preserve(PreservedDocument(name: "other", bytes: [0])))
      #expect(PreservedDocument.read(store: path) == ["states": document(1).bytes, "other": [0]])
      #expect(outbox.preserve(PreservedDocument(name: "other", bytes: [])))
      #expect(outbox.document(named: "other") == nil)
    }
    #expect(PreservedDocument.read(store: path) == ["states": document(1).bytes])
    let again = try Outbox(path: path)
    #expect(again.document(named: "states") == document(1).bytes)
    #expect(again.document(named: "other") == nil)
    #expect(PreservedDocument.read(store: directory.file("none")).isEmpty)
  }

  /// Earlier versions stored region states in the table `meta`.
  @Test func documentsOfAnEarlierStoreAreMoved() throws {
    try Outbox(path: path).close()
    try Database(path: path, access: .readWrite).execute(
      "DROP TABLE documents; INSERT INTO meta VALUES ('document states', CAST('7' AS BLOB))")
    for _ in 0..<2 {
      let outbox = try Outbox(path: path)
      #expect(outbox.document(named: "states") == document(7).bytes)
      #expect(PreservedDocument.read(store: path) == ["states": document(7).bytes])
      outbox.close()
    }
    let meta = try Database(path: path, access: .readWrite).integer(
      "SELECT count(*) FROM meta WHERE key LIKE 'document%'")
    #expect(meta == 0)
  }

  /// Any one page except the root of the documents is destroyed. Documents on other pages are restored.
  @Test func documentsAreSalvagedFromADamagedStore() throws {
    let large = PreservedDocument(
      name: "large", bytes: (0..<9000).map { UInt8(truncatingIfNeeded: $0 &* $0) })
    do {
      let outbox = try Outbox(path: path)
      outbox.preserve(document(5))
      outbox.preserve(large)
      for number in 0..<100 { outbox.append(draft(.events, "\(number)")) }
      outbox.close()
    }
    let root = try #require(
      try Database(path: path, access: .readWrite).integer(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'documents'"))
    #expect(Schema.roots[Schema.documents] == Int(root))
    let bytes = try readFile(path)
    let pages = bytes.count / 4096
    var (small, both) = (0, 0)
    for page in 0..<pages where page + 1 != Int(root) {
      let victim = directory.file("damaged-\(page).sqlite")
      var damaged = bytes
      damaged.replaceSubrange(4096 * page..<4096 * (page + 1), with: repeatElement(0xA5, count: 4096))
      try writeFile(victim, damaged)
      let outbox = try Outbox(path: victim)
      if outbox.document(named: "states") == document(5).bytes { small += 1 }
      if outbox.document(named: "large") == large.bytes { both += 1 }
    }
    print("\(pages) pages, \(small) times the small document, \(both) times the large one")
    #expect(small == pages - 1)
    // The large document has at most three pages of its own.
    #expect(both >= pages - 4)
  }
}

extension OutboxDocumentTests {
  /// SQLite silently ends a log at its first damaged frame. Documents and records behind it are restored.
  @Test func documentsBehindADamagedFrameAreRestored() throws {
    let outbox = try Outbox(path: path)
    for number in 1...5 {
      outbox.append(draft(.events, "\(number)"), preserving: [document(number)])
      outbox.append(draft(.state, "between"))
    }
    outbox.flush()
    let (file, log) = (try readFile(path), try readFile(path + "-wal"))
    let frames = (log.count - 32) / 4120
    var restored: [String: Int] = [:]
    for frame in 0..<frames {
      let start = 32 + 4120 * frame
      let victim = directory.file("frame-\(frame).sqlite")
      try writeFile(victim, file)
      var damaged = log
      damaged[start + 24 + 4000] ^= 0x10
      try writeFile(victim + "-wal", damaged)
      let survivor = try Outbox(path: victim)
      let newest = survivor.document(named: "states").map { String(decoding: $0, as: UTF8.self) } ?? "none"
      let isOwn = log[start + 3] == UInt8(Schema.roots[Schema.documents] ?? 0)
      #expect(isOwn || newest == "5", "frame \(frame): \(newest)")
      restored[newest, default: 0] += 1
      survivor.close()
    }
    print("\(frames) frames, newest documents: \(restored)")
    #expect(restored["5"] ?? 0 > 10)
  }
}

/// Returns a document that contains the number of the last event.
func document(_ number: Int) -> PreservedDocument {
  PreservedDocument(name: "states", bytes: Array("\(number)".utf8))
}
