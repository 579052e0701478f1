import Glibc
import Platform
import SQLite
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Flash that has gone read-only, as worn cards and damaged file systems do; and records that grow too old.
@Suite struct OutboxReadOnlyTests {
  let directory: TemporaryDirectory
  let recorder = NoticeRecorder()

  init() throws { directory = try TemporaryDirectory() }

  /// A real file system that is made read-only under the store.
  @Test(.needs(.mounting)) func aReadOnlyFileSystemIsSurvivedAndSaid() throws {
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

  /// Age is counted by the store's own clock; here the records are made older than they are.
  @Test func whatIsTooOldIsDroppedAndCounted() throws {
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
    // The broker is told what is left of it.
    #expect((1...40).contains(records.first?.expiry ?? 0))
    outbox.flush()
    let status = outbox.status
    #expect(status[.tracks].droppedForAge == 2 && status[.events].droppedForAge == 1)
    #expect(status.records == 0)
  }
}
