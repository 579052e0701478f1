import Glibc
import Platform
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// What is preserved with messages: after a crash both are there or neither.
@Suite struct OutboxDocumentTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  @Test func theNewestOfANameIsFoundAfterARestart() throws {
    do {
      let outbox = try Outbox(path: path)
      #expect(outbox.document(named: "states") == nil)
      outbox.append(draft(.events, "1"), preserving: document(1))
      #expect(outbox.append([TextMessage](), preserving: document(2)).isEmpty)
      outbox.append([TextMessage](), preserving: PreservedDocument(name: "other", bytes: [0, 1]))
      #expect(outbox.document(named: "states") == document(2).bytes)
      outbox.close()
    }
    let again = try Outbox(path: path)
    #expect(again.document(named: "states") == document(2).bytes)
    #expect(again.document(named: "other") == [0, 1])
    #expect(again.drain().map(\.text) == ["1"])
  }

  /// The power is cut, or the process killed, between any two bytes that reach the write-ahead log.
  @Test func noEndInBetweenPartsAnEventFromItsDocument() throws {
    let victim = try Outbox(path: path)
    let empty = try size(directory.file("outbox.sqlite-wal"))
    for number in 1...5 {
      victim.append(draft(.events, "\(number)"), preserving: document(number))
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
    // Only here is everything written.
    let killed = try Outbox(path: afterCrash(directory))
    #expect(killed.document(named: "states") == document(5).bytes)
  }

  /// A message that would wait in the file of recent records goes to the store with its document, and those before it too.
  @Test func nothingWaitsOutsideTheStoreForADocument() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.tracks, "before"))
    #expect(outbox.keeper.withLock { $0.store?.lanes[DeliveryLane.tracks.rawValue].records } == 0)
    outbox.append(draft(.tracks, "with it"), preserving: document(1))
    #expect(outbox.keeper.withLock { $0.store?.lanes[DeliveryLane.tracks.rawValue].records } == 2)
  }
}

/// A document that says which event was the last.
func document(_ number: Int) -> PreservedDocument {
  PreservedDocument(name: "states", bytes: Array("\(number)".utf8))
}
