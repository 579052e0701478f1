import Foundation
import Glibc
import Platform
import SQLite
import Spatial
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Disks that cannot be written: full, read-only or missing.
@Suite struct OutboxDiskTests {
  let directory: TemporaryDirectory
  let path: String
  let recorder = NoticeRecorder()

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  @Test func fullStoreDegradesToMemoryAndRecovers() throws {
    let outbox = try Outbox(path: path, notice: recorder.handler)
    outbox.append((0..<10).map { draft(.events, "before \($0)") })
    try limitPages(outbox, toCurrent: true)
    let identities = outbox.append(
      (0..<400).map { draft(.events, "during \($0) \(String(repeating: "x", count: 60))") })
    guard case .memory(let cause) = outbox.status.mode else {
      Issue.record("expected memory, got \(outbox.status)")
      return
    }
    #expect(cause.contains("full"))
    #expect(outbox.status.records == 410)
    // Records on disk and in memory are drained together.
    let first = outbox.next(limit: 100)
    #expect(first.prefix(10).map(\.text) == (0..<10).map { "before \($0)" })
    #expect(first.count == 100)
    outbox.remove(first.prefix(50).map(\.seq))
    try limitPages(outbox, toCurrent: false)
    outbox.flush()
    #expect(outbox.status.mode == .durable)
    #expect(outbox.status.records == 360)
    // Records in flight keep their numbers, so their acknowledgements remain valid.
    outbox.remove(first.dropFirst(50).map(\.seq))
    #expect(outbox.status.records == 310)
    let rest = outbox.drain()
    #expect(rest.count == 310)
    #expect(rest.first?.text.hasPrefix("during 90") == true)
    // Consumers count a skipped number as a lost record.
    let last = try #require(identities.last)
    #expect(identities.map(\.seq) == Array((last.seq - 399)...last.seq))
    let next = outbox.append(draft(.events, "after"))
    #expect(next.epoch == last.epoch && next.seq == last.seq + 1)
    #expect(outbox.drain().map(\.text) == ["after"])
    #expect(recorder.kinds == ["degraded", "recovered"])
  }

  @Test func storeThatCannotBeOpenedIsRetried() throws {
    let missing = directory.file("not-there")
    let outbox = try Outbox(path: missing + "/outbox.sqlite", notice: recorder.handler)
    let early = outbox.append([draft(.events, "early 1"), draft(.state, "early 2", topic: "s")])
    guard case .memory = outbox.status.mode else {
      Issue.record("expected memory, got \(outbox.status)")
      return
    }
    let handed = outbox.next(limit: 1)
    mkdir(missing, 0o700)
    outbox.flush()
    #expect(outbox.status.mode == .durable)
    let late = outbox.append(draft(.events, "late"))
    #expect(late.epoch != early[0].epoch)
    #expect(late.seq < TemporarySequence.first)
    outbox.remove(handed.map(\.seq))
    #expect(outbox.drain().map(\.text).sorted() == ["early 1", "late"])
    #expect(recorder.kinds == ["degraded", "recovered"])
  }

  @Test func memoryIsBoundedAndDropsTheLowestLaneFirst() throws {
    var configuration = OutboxConfiguration()
    configuration.memoryBytes = 8192
    let outbox = try Outbox(path: directory.file("not-there/outbox.sqlite"), configuration: configuration)
    outbox.append((0..<20).map { draft(.events, "event \($0)") })
    outbox.append((0..<500).map { draft(.tracks, "track \($0)") })
    let status = outbox.status
    #expect(status[.events].records == 20)
    #expect(status[.tracks].records + status[.tracks].droppedForSpace == 500)
    #expect(status.lanes.reduce(0) { $0 + $1.bytes } <= 8192)
    #expect(outbox.drain().suffix(1).map(\.text) == ["track 499"])
  }

  /// Uses a real file system that is full.
  @Test(.needs(.mounting)) func fullFileSystemLosesNoRecord() throws {
    let disk = try SmallFileSystem(size: "4m")
    let outbox = try Outbox(path: disk.file("outbox.sqlite"), notice: recorder.handler)
    var accepted: [String] = []
    while outbox.status.mode == .durable {
      let text = "record \(accepted.count) \(String(repeating: "y", count: 2000))"
      outbox.append(draft(.events, text))
      accepted.append(text)
      try #require(accepted.count < 2000)
    }
    for extra in 0..<20 {
      outbox.append(draft(.events, "extra \(extra)"))
      accepted.append("extra \(extra)")
    }
    #expect(outbox.status.records == accepted.count)
    // Acknowledged records free space.
    let portion = outbox.next(limit: 200)
    outbox.remove(portion.map(\.seq))

    outbox.flush()

    #expect(outbox.status.mode == .durable)
    outbox.append(draft(.events, "after"))
    let records = portion + outbox.drain()
    #expect(records.map(\.text) == accepted + ["after"])
    // The numbers in the payloads have no gap: consumers report no missing record.
    let numbers = records.compactMap { $0.identity.split(separator: " ").last.flatMap { UInt64($0) } }
    #expect(numbers == Array((numbers.first ?? 0)...(numbers.last ?? 0)))
    #expect(recorder.kinds == ["degraded", "recovered"])
    outbox.close()
  }

  @Test func deadLettersAndRecentRecordsSkipNoNumbers() throws {
    let outbox = try Outbox(path: path)
    let first = outbox.append((0..<5).map { draft(.events, "record \($0)") })
    for record in outbox.next(limit: 5) { outbox.reject(record.seq, reason: "test") }
    #expect(outbox.retryDeadLetters() == 5)
    let next = outbox.append(draft(.events, "next"))
    #expect(next.seq == (first.last?.seq ?? 0) + 1)
    let drained = outbox.drain()
    #expect(drained.map(\.text) == (0..<5).map { "record \($0)" } + ["next"])
    outbox.close()
  }

  @Test func messageWithoutIdentityUsesNoNumber() throws {
    struct Bare: OutboxMessage {
      var carriesIdentity: Bool { false }
      func record(as identity: MessageIdentity) -> OutboxRecord {
        OutboxRecord(
          lane: .state, topic: "bare", payload: [1], retain: true, createdAt: UTCTime(nanoseconds: 1))
      }
    }
    let outbox = try Outbox(path: path)
    let first = outbox.append(draft(.events, "first"))
    outbox.append(Bare())
    outbox.append(Bare())
    let second = outbox.append(draft(.events, "second"))
    #expect(second.seq == first.seq + 1)
    #expect(outbox.drain().map(\.topic).sorted() == ["bare", "t", "t"])
    outbox.close()
    let reopened = try Outbox(path: path)
    #expect(reopened.append(draft(.events, "third")).seq == second.seq + 1)
  }

  /// Limits the store to its current size, or removes the limit.
  private func limitPages(_ outbox: Outbox, toCurrent: Bool) throws {
    try outbox.keeper.withLock { keeper in
      let store = try #require(keeper.store)
      let pages = try store.database.integer("PRAGMA page_count") ?? 0
      try store.database.execute("PRAGMA max_page_count = \(toCurrent ? pages : 1 << 30)")
    }
  }
}

extension NoticeRecorder {
  /// Names of the recorded notices.
  var kinds: [String] {
    notices.map {
      "\($0)".contains("held in memory:") ? "degraded" : "\($0)".contains("again;") ? "recovered" : "\($0)"
    }
  }
}
