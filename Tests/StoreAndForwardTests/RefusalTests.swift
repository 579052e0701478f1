import Platform
import Telemetry
import TestSupport
import Testing

@testable import StoreAndForward

/// Records that the broker does not authorize stay in the outbox, pause their topic, and are retried.
@Suite struct RefusalTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func outbox(refusedAge: Int = 86_400) throws -> Outbox {
    var configuration = OutboxConfiguration()
    configuration.refusedAge = refusedAge
    return try Outbox(path: directory.file("outbox.sqlite"), configuration: configuration)
  }

  /// In the store, and in memory for lanes whose records wait for an early acknowledgement.
  @Test(arguments: [DeliveryLane.events, .tracks, .other])
  func unauthorizedRecordPausesOnlyItsTopic(lane: DeliveryLane) throws {
    let outbox = try outbox()
    outbox.append([
      draft(lane, "a1", topic: "a"), draft(lane, "b1", topic: "b"), draft(lane, "a2", topic: "a"),
    ])
    let first = try #require(outbox.next(limit: 1).first)
    #expect(
      outbox.refuse(first.seq, reason: "not authorized (0x87)", isLasting: false)
        == OutboxRefusal(topic: "a", isKept: true))
    let rest = outbox.next(limit: 10)
    #expect(rest.map(\.text) == ["b1"] || rest.map(\.text) == ["b1", "a2"])
    outbox.remove(rest.filter { $0.topic == "b" }.map(\.seq))
    for record in rest where record.topic == "a" {
      outbox.refuse(record.seq, reason: "not authorized (0x87)", isLasting: false)
    }
    outbox.append(draft(lane, "a3", topic: "a"))
    #expect(outbox.next(limit: 10).isEmpty)
    #expect(outbox.status.refusedTopics == ["a"])
    #expect(outbox.status.deadLetters == 0)
    outbox.flush()
    #expect(outbox.status.records == 3)
    // After a reconnect, no record is lost or duplicated, and the order is unchanged.
    outbox.offerAgain()
    let again = outbox.next(limit: 10)
    #expect(again.map(\.text) == ["a1", "a2", "a3"])
    outbox.remove(again.map(\.seq))
    outbox.flush()
    #expect(outbox.status.records == 0)
    #expect(outbox.status.refusedTopics == [])
  }

  @Test func lastingOrExpiredRefusalMakesADeadLetter() throws {
    let lasting = try outbox()
    lasting.append(draft(.events, "large", topic: "a"))
    let seq = try #require(lasting.next(limit: 1).first).seq
    #expect(lasting.refuse(seq, reason: "packet too large (0x95)", isLasting: true)?.isKept == false)
    #expect(lasting.deadLetters().map(\.reason) == ["packet too large (0x95)"])
    #expect(lasting.refuse(seq, reason: "again", isLasting: true) == nil)
    lasting.close()
    let strict = try outbox(refusedAge: 0)
    strict.append(draft(.events, "denied", topic: "a"))
    let denied = try #require(strict.next(limit: 1).first).seq
    #expect(strict.refuse(denied, reason: "not authorized (0x87)", isLasting: false)?.isKept == false)
    #expect(strict.deadLetters().count == 2)
    #expect(strict.next(limit: 1).isEmpty)
  }

  @Test func pausesDoubleAndEndWithTheFirstSuccess() {
    var refusals = Refusals()
    func seconds(_ value: Double) -> MonotonicTime { .start.advanced(bySeconds: value) }
    // Refusals of several records in flight start a single pause.
    let known = [0.0, 1].map { refusals.refused("a", at: seconds($0)) }
    #expect(known == [true, true])
    #expect(refusals.holds("a", at: seconds(59)))
    let resumed = [59.0, 60, 60].map { refusals.resume(at: seconds($0)) }
    #expect(resumed == [false, true, false])
    #expect(!refusals.holds("a", at: seconds(60)))
    _ = refusals.refused("a", at: seconds(60))
    #expect(refusals.holds("a", at: seconds(179)))
    #expect(!refusals.holds("a", at: seconds(180)))
    for round in 0..<10 { _ = refusals.refused("a", at: seconds(180 + 3600 * Double(round))) }
    #expect(refusals.holds("a", at: seconds(180 + 3600 * 9 + 3599)))
    refusals.resumeAll()
    #expect(!refusals.holds("a", at: seconds(180)))
    refusals.taken("a")
    #expect(refusals.topics.isEmpty)
  }
}

@Suite struct SequenceMarkTests {
  /// Contract: after a crash, numbers continue at a multiple of 65,536.
  @Test func numbersContinueAtAMultipleOfTheBlockAfterACrash() throws {
    let directory = try TemporaryDirectory()
    let victim = try Outbox(path: directory.file("outbox.sqlite"))
    let accepted = victim.append((0..<10).map { draft(.events, "\($0)") })
    let survivor = try Outbox(path: afterCrash(directory))
    #expect(survivor.append(draft(.events, "next")).seq == 65_536)
    #expect(accepted.map(\.seq) == Array(1...10))
    survivor.close()
    // A regular restart skips no numbers.
    let next = try Outbox(path: directory.file("after-crash.sqlite"))
    #expect(next.append(draft(.events, "after")).seq == 65_537)
  }
}
