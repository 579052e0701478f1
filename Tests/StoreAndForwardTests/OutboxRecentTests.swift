import Platform
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Records that wait outside the store for an early acknowledgement.
@Suite struct OutboxRecentTests {
  let directory: TemporaryDirectory
  let path: String
  /// Every backlog is long, so that its newest record is sent first.
  private var overtaking = OutboxConfiguration()

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
    overtaking.shortBacklog = 0
  }

  private func location(_ index: Int, lane: DeliveryLane = .tracks) -> TextMessage {
    draft(lane, "fix \(index) \(String(repeating: "x", count: 300))", topic: "location", retain: true)
  }

  /// A fix per second with a broker that acknowledges. A day of fixes cost 1.7 GB of writes when each was
  /// stored and deleted.
  @Test func recordsAcknowledgedInTimeAreNotWrittenToTheStore() throws {
    let outbox = try Outbox(path: path)
    let (before, written) = (outbox.status.commits, try readFile(path + "-wal").count)
    for index in 0..<1000 {
      outbox.append(location(index))
      #expect(outbox.status[.tracks].records == 1)
      #expect(outbox.drain().count == 1)
    }
    // One commit removes expired records. A slow machine may need a few more for late acknowledgements.
    #expect(outbox.status.commits - before <= 10)
    // Without the file of recent records, 1,000 messages wrote 2,000 transactions of three pages.
    #expect(try readFile(path + "-wal").count - written <= 200_000)
    #expect(try readFile(path + ".recent").count <= 4096)
  }

  @Test func recordsNotAcknowledgedInTimeAreStored() throws {
    let outbox = try Outbox(path: path)
    outbox.append(location(1))
    let before = outbox.status.commits
    // The housekeeping thread stores the record within one second.
    let deadline = MonotonicTime.after(30)
    while outbox.status.commits == before, !deadline.hasPassed {
      _ = waitUntilReadable([], seconds: 0.02)
    }
    #expect(
      try outbox.keeper.withLock { try $0.store?.find(1, in: .tracks)?.text.hasPrefix("fix 1 ") } == true)
    #expect(outbox.drain().count == 1)
    #expect(outbox.status.records == 0)
  }

  @Test func eventsAreInTheStoreWhenTheyAreAccepted() throws {
    let outbox = try Outbox(path: path)
    outbox.append(location(1))
    outbox.append(draft(.events, "impact"))
    // After a power cut only the synced store remains.
    let survivor = try Outbox(path: afterCrash(directory, syncedLength: .max))
    #expect(survivor.drain().map(\.text).contains("impact"))
  }

  @Test func recordsAreStoredImmediatelyIfEachIsSynced() throws {
    var configuration = OutboxConfiguration()
    configuration.tracks.durability = .beforeAccepting
    let outbox = try Outbox(path: path, configuration: configuration)
    outbox.append(location(1))
    let survivor = try Outbox(path: afterCrash(directory, syncedLength: .max))
    #expect(survivor.status.records == 1)
  }

  @Test func killedProcessLosesNoRecentRecordAndKeepsTheOrder() throws {
    let victim = try Outbox(path: path)
    for index in 0..<20 {
      victim.append(draft([.tracks, .other][index % 2], "fix \(index)"))
      if index < 5 { victim.remove(victim.next(limit: 1).map(\.seq)) }
    }
    let waiting = victim.next(limit: 100)
    let survivor = try Outbox(path: afterCrash(directory))
    let next = survivor.append(draft(.tracks, "later"))
    #expect(waiting.allSatisfy { $0.seq < next.seq })
    let found = survivor.drain()
    let expected = (5..<20).map { "fix \($0)" }
    #expect(
      found.map(\.text) == stride(from: 1, to: 15, by: 2).map { expected[$0] } + ["later"]
        + stride(from: 0, to: 15, by: 2).map { expected[$0] })
    // Records keep the identities under which they were accepted.
    let names = Set(waiting.map(\.identity))
    #expect(found.filter { $0.text != "later" }.allSatisfy { names.contains($0.identity) })
  }

  /// After a reboot, it is unknown which recent records the broker has accepted.
  @Test func recentRecordsOfAnotherBootAreIgnored() throws {
    let victim = try Outbox(path: path)
    victim.append(location(1))
    let place = try afterCrash(directory)
    var bytes = try readFile(place + ".recent")
    bytes[30] ^= 1
    try writeFile(place + ".recent", bytes)
    #expect(try Outbox(path: place).status.records == 0)
  }

  /// A truncation or a flipped bit at any offset loses only records behind it.
  @Test func damageIsSurvived() throws {
    let victim = try Outbox(path: path)
    for index in 0..<10 { victim.append(draft(.tracks, "fix \(index)")) }
    let recent = try readFile(path + ".recent")
    for offset in stride(from: 0, to: recent.count, by: 29) {
      for isCut in [false, true] {
        var bytes = recent
        if isCut { bytes.removeLast(bytes.count - offset) } else { bytes[offset] ^= 0x10 }
        let place = try afterCrash(directory)
        try writeFile(place + ".recent", bytes)
        let texts = try Outbox(path: place).drain().map(\.text)
        #expect(texts == (0..<texts.count).map { "fix \($0)" }, "offset \(offset)")
      }
    }
  }

  /// An older record must not replace a retained one that the broker has accepted, even after a crash.
  @Test func retainedRecordIsNotReplacedByAnOlderOneAfterACrash() throws {
    let victim = try Outbox(path: path, configuration: overtaking)
    victim.append(location(1))
    victim.append(location(2))
    let newest = victim.next(limit: 1)
    #expect(newest.map(\.retain) == [true])
    #expect(newest.map(\.text) == [location(2).text])
    victim.remove(newest.map(\.seq))
    let survivor = try Outbox(path: afterCrash(directory), configuration: overtaking)
    #expect(survivor.drain().map(\.retain) == [false])
  }

  /// Numbers after a crash are far above earlier ones; the newest record is still sent first.
  @Test func theNewestGoesFirstAfterACrash() throws {
    let victim = try Outbox(path: path, configuration: overtaking)
    for index in 0..<3 { victim.append(location(index)) }
    let survivor = try Outbox(path: afterCrash(directory), configuration: overtaking)
    let records = survivor.next(limit: 10)
    #expect(records.map { $0.text.prefix(5) } == ["fix 2", "fix 0", "fix 1", "fix 2"])
    #expect(records.map(\.retain) == [true, false, false, true])
  }

  @Test func largeBatchIsStoredBehindTheRecentRecords() throws {
    let outbox = try Outbox(path: path)
    outbox.append(draft(.tracks, "fix 0"))
    let first = outbox.next(limit: 1)
    outbox.append((1..<1000).map { draft(.tracks, "fix \($0)") })
    #expect(outbox.status[.tracks].records == 1000)
    outbox.remove(first.map(\.seq))
    #expect(outbox.status[.tracks].records == 999)
    #expect(outbox.drain().map(\.text) == (1..<1000).map { "fix \($0)" })
    #expect(outbox.status.records == 0)
  }

  @Test func newEpochContinuesTheNumbersAcrossARestart() throws {
    let outbox = try Outbox(path: path)
    let first = outbox.append(location(1))
    outbox.beginEpoch()
    let second = outbox.append(location(2))
    #expect(second.epoch != first.epoch && second.seq == first.seq + 1)
    outbox.close()
    let again = try Outbox(path: path)
    #expect(again.append(location(3)).epoch == second.epoch)
    #expect(again.drain().count == 3)
  }
}
