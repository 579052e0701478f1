import Foundation
import Platform
import SQLite
import StoreAndForward
import Telemetry
import TestSupport
import Testing

@Suite struct OutboxTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  @Test func keepsOrderWithinALaneAndBetweenLanes() throws {
    let outbox = try Outbox(path: path)
    outbox.append([
      draft(.other, "o1"), draft(.tracks, "t1"), draft(.events, "e1"), draft(.state, "s1"),
      draft(.other, "o2"), draft(.events, "e2"), draft(.tracks, "t2"),
    ])
    #expect(outbox.drain(portion: 1).map(\.text) == ["s1", "e1", "e2", "t1", "t2", "o1", "o2"])
    #expect(outbox.status.records == 0)
  }

  @Test func laterEventsOvertakeAWaitingBacklog() throws {
    let outbox = try Outbox(path: path)
    outbox.append((0..<10).map { draft(.tracks, "t\($0)") })
    #expect(outbox.next(limit: 2).map(\.text) == ["t0", "t1"])
    outbox.append(draft(.events, "e"))
    #expect(outbox.next(limit: 3).map(\.text) == ["e", "t2", "t3"])
  }

  @Test func handsOutOnceUntilAskedToOfferAgain() throws {
    let outbox = try Outbox(path: path)
    outbox.append((0..<6).map { draft(.events, "e\($0)") })
    let first = outbox.next(limit: 4)
    #expect(outbox.next(limit: 10).map(\.text) == ["e4", "e5"])
    #expect(outbox.next(limit: 10).isEmpty)
    outbox.remove([first[0].seq, first[2].seq])
    outbox.offerAgain()
    #expect(outbox.next(limit: 10).map(\.text) == ["e1", "e3", "e4", "e5"])
  }

  @Test func stateLaneKeepsTheNewestOfEachTopic() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.state, "old", topic: "location"))
    outbox.append(draft(.state, "online", topic: "status"))
    let handed = outbox.next(limit: 10)
    #expect(handed.map(\.text) == ["old", "online"])
    outbox.append(draft(.state, "new", topic: "location"))
    outbox.remove(handed.map(\.seq))
    #expect(outbox.status[.state].records == 1)
    #expect(outbox.next(limit: 10).map(\.text) == ["new"])
    outbox.offerAgain()
    #expect(outbox.next(limit: 10).map(\.text) == ["new"])
    #expect(outbox.status[.state].records == 1)
  }

  /// A record that was acknowledged, not yet deleted, and then replaced is counted once.
  @Test func replacementOfAnAcknowledgedRecordIsCountedOnce() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.state, "online", topic: "status"))
    outbox.remove(outbox.next(limit: 10).map(\.seq))
    outbox.append(draft(.state, "offline", topic: "status"))
    #expect(outbox.status[.state].records == 1)
    #expect(outbox.next(limit: 10).map(\.text) == ["offline"])
  }

  @Test func theLastKnownStateComesFirstAfterAReconnect() throws {
    let outbox = try Outbox(path: path)
    outbox.append([draft(.events, "e1"), draft(.state, "s", topic: "location")])
    _ = outbox.next(limit: 10)
    outbox.append(draft(.events, "e2"))
    outbox.offerAgain()
    #expect(outbox.next(limit: 1).map(\.text) == ["s"])
    #expect(outbox.next(limit: 10).map(\.text) == ["e1", "e2"])
  }

  @Test func survivesClosingAndReopening() throws {
    let identities: [MessageIdentity]
    do {
      let outbox = try Outbox(path: path)
      identities = outbox.append((0..<100).map { draft(.tracks, "t\($0)") })
      outbox.remove(outbox.next(limit: 40).map(\.seq))
      outbox.close()
    }
    let outbox = try Outbox(path: path)
    #expect(outbox.status[.tracks].records == 60)
    let next = outbox.append(draft(.tracks, "later"))
    #expect(next.epoch == identities[0].epoch)
    #expect(next.seq == identities[99].seq + 1)
    #expect(outbox.drain().map(\.text) == (40..<100).map { "t\($0)" } + ["later"])
  }

  @Test func batchOfRecordsNeedsOneCommit() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.events, "first"))
    let before = outbox.status.commits
    outbox.append(draft(.events, "second"))
    #expect(outbox.status.commits == before + 1)
    outbox.append((0..<1000).map { draft(.events, "e\($0)") })
    #expect(outbox.status.commits == before + 2)
  }

  @Test func threadsShareCommitsAndLoseNothing() throws {
    let outbox = try Outbox(path: path)
    let threads = try (0..<4).map { thread in
      try DedicatedThread.start(name: "appender") {
        for index in 0..<200 { outbox.append(draft(.events, "\(thread)-\(index)")) }
      }
    }
    for thread in threads { thread.join() }
    let texts = outbox.drain().map(\.text)
    #expect(texts.count == 800)
    for thread in 0..<4 {
      #expect(texts.filter { $0.hasPrefix("\(thread)-") } == (0..<200).map { "\(thread)-\($0)" })
    }
    #expect(outbox.status.commits <= 900)
  }

  @Test func aFullLaneDropsItsOldestAndCounts() throws {
    var configuration = OutboxConfiguration()
    configuration.tracks.bytes = 4096
    let outbox = try Outbox(path: path, configuration: configuration)
    for index in 0..<100 { outbox.append(draft(.tracks, "track \(index)")) }
    outbox.append(draft(.events, "untouched"))
    let status = outbox.status
    #expect(status[.tracks].bytes <= 4096)
    #expect(status[.tracks].records + status[.tracks].droppedForSpace == 100)
    let texts = outbox.drain().map(\.text)
    #expect(texts == ["untouched"] + (100 - status[.tracks].records..<100).map { "track \($0)" })
  }

  @Test func deadLettersAreKeptCountedAndBounded() throws {
    var configuration = OutboxConfiguration()
    configuration.deadLetters = 3
    let outbox = try Outbox(path: path, configuration: configuration)
    outbox.append((0..<5).map { draft(.events, "e\($0)") })
    for record in outbox.next(limit: 5) { outbox.reject(record.seq, reason: "not authorized (0x87)") }
    #expect(outbox.status.deadLetters == 3)
    #expect(outbox.deadLetters().map(\.record.text) == ["e4", "e3", "e2"])
    #expect(
      outbox.deadLetters().allSatisfy { $0.reason == "not authorized (0x87)" && $0.record.lane == .events })
    outbox.offerAgain()
    #expect(outbox.next(limit: 5).isEmpty)
    outbox.clearDeadLetters()
    #expect(outbox.status.deadLetters == 0)
  }

  @Test func secondProcessIsRejected() throws {
    let outbox = try Outbox(path: path)
    #expect(throws: OperationError.self) { try Outbox(path: path) }
    outbox.close()
    let second = try Outbox(path: path)
    #expect(second.status.mode == .durable)
  }

  @Test func payloadsCarryTheIdentityThatIsReturned() throws {
    let outbox = try Outbox(path: path)
    let identities = outbox.append((0..<10).map { draft(.other, "\($0)") })
    #expect(outbox.next(limit: 10).map(\.identity) == identities.map { "\($0.epoch) \($0.seq)" })
    #expect(identities.allSatisfy { $0.epoch.utf8.count == 16 })
  }

  /// Files of the store are readable only by their owner, independent of the umask.
  @Test func filesAreReadableOnlyByTheOwner() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("outbox.sqlite")
    let outbox = try Outbox(path: path)
    outbox.append([draft(.events, "one"), draft(.tracks, "two")])
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(names.contains("outbox.sqlite") && names.contains("outbox.sqlite-wal"))
    for name in names {
      let mode = try FileManager.default.attributesOfItem(atPath: directory.file(name))[.posixPermissions]
      #expect(mode as? Int == 0o600, "\(name)")
    }
    outbox.close()
  }

  /// A damaged `reserved` value below zero is replaced by the first number.
  @Test func negativeReservedNumberIsReset() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("outbox.sqlite")
    do { try Outbox(path: path).close() }
    do {
      let database = try Database(path: path, access: .readWrite)
      try database.execute("UPDATE meta SET value = '-5' WHERE key = 'reserved'")
    }
    let outbox = try Outbox(path: path)
    #expect(outbox.append(draft(.events, "one")).seq > 0 && outbox.status.mode == .durable)
  }
}
