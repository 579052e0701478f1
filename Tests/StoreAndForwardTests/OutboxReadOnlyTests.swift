import Glibc
import Platform
import SQLite
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Flash storage that became read-only, as worn cards and damaged file systems do, and expired records.
@Suite struct OutboxReadOnlyTests {
  let directory: TemporaryDirectory
  let recorder = NoticeRecorder()

  init() throws { directory = try TemporaryDirectory() }

  /// A real file system is remounted read-only while it contains the store.
  @Test(.needs(.mounting)) func readOnlyFileSystemIsReportedAndLosesNothing() throws {
    let card = try SmallFileSystem(size: "8m")
    var outbox = try Outbox(path: card.file("outbox.sqlite"), notice: recorder.handler)
    outbox.append((0..<5).map { draft(.events, "before \($0)") })
    outbox.close()
    try card.setReadOnly(true)
    outbox = try Outbox(path: card.file("outbox.sqlite"), notice: recorder.handler)
    outbox.append((0..<5).map { draft(.events, "during \($0)") })
    guard case .memory(let cause) = outbox.status.mode else {
      Issue.record("expected memory, got \(outbox.status)")
      return
    }
    #expect(!cause.isEmpty)
    #expect(recorder.kinds == ["degraded"])
    #expect(outbox.status.records >= 5)
    try card.setReadOnly(false)
    outbox.flush()
    #expect(outbox.status.mode == .durable)
    #expect(recorder.kinds == ["degraded", "recovered"])
    let texts = outbox.drain().map(\.text)
    #expect(texts == (0..<5).map { "before \($0)" } + (0..<5).map { "during \($0)" })
    outbox.close()
  }

  /// The age of a record is measured by the store's own clock. The test changes the stored times instead.
  @Test func expiredRecordsAreDroppedAndCounted() throws {
    var configuration = OutboxConfiguration()
    configuration.tracks.age = 3600
    let outbox = try Outbox(path: directory.file("outbox.sqlite"), configuration: configuration)
    outbox.append((0..<4).map { draft(.tracks, "t\($0)") })
    outbox.append([draft(.events, "useful", expiry: 100), draft(.events, "useless", expiry: 100)])
    let isChanged = try outbox.keeper.withLock { keeper in
      guard let store = keeper.store else { return false }
      try store.database.execute(
        """
        UPDATE tracks SET stored = stored - 3601 WHERE seq <= (SELECT min(seq) + 1 FROM tracks);
        UPDATE events SET stored = stored - 60 WHERE seq = (SELECT min(seq) FROM events);
        UPDATE events SET stored = stored - 101 WHERE seq = (SELECT max(seq) FROM events)
        """)
      try renewChecksums(store.database)
      return true
    }
    #expect(isChanged)
    let records = outbox.drain()
    #expect(records.map(\.text) == ["useful", "t2", "t3"])
    // The record is handed out with its remaining expiry interval.
    #expect((1...40).contains(records.first?.expiry ?? 0))
    outbox.flush()
    let status = outbox.status
    #expect(status[.tracks].droppedForAge == 2 && status[.events].droppedForAge == 1)
    #expect(status.records == 0)
  }
}
