import Glibc
import Sensors
import Simulation
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// The newest retained record of a topic is sent before a long backlog, and the backlog is complete.
@Suite struct LastKnownTests {
  let directory: TemporaryDirectory
  let path: String
  /// Every backlog is long.
  private var overtaking = OutboxConfiguration()

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
    overtaking.shortBacklog = 0
  }

  /// Consumers that show the last message they received end with the newest. Only that one is retained.
  @Test(arguments: [(200, true), (201, false)]) func shortBacklogIsSentInOrder(count: Int, isInOrder: Bool)
    throws
  {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<count))
    let records = shown(outbox.drain(portion: 7))
    let newest = "l\(count - 1)*"
    var expected: [String] = isInOrder ? [] : [newest]
    for index in 0..<count - 1 { expected.append("l\(index)") }
    expected.append(newest)
    #expect(records == expected)
    // After an interruption, the remaining records are counted again.
    outbox.offerAgain()
    outbox.append(locations(count..<count + 2))
    #expect(shown(outbox.drain(portion: 7)) == ["l\(count)", "l\(count + 1)*"])
  }

  private func locations(_ range: Range<Int>) -> [TextMessage] {
    range.map { draft(.tracks, "l\($0)", topic: "location", retain: true) }
  }

  /// Returns the texts of the records; a star marks a retained record, as in `l3*`.
  private func shown(_ records: [OutboxRecord]) -> [String] {
    records.map { $0.text + ($0.retain ? "*" : "") }
  }

  @Test func newestIsSentBeforeEventsAndHistoryFollowsUnretained() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<5) + [draft(.events, "e"), draft(.state, "online", topic: "status")])
    #expect(
      shown(outbox.drain(portion: 1)) == ["l4*", "online", "e", "l0", "l1", "l2", "l3", "l4*"])
    #expect(outbox.status.records == 0)
  }

  @Test func newestRecordOvertakesTheBacklog() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<4))
    #expect(shown(outbox.next(limit: 2)) == ["l3*", "l0"])
    outbox.append(locations(4..<6))
    #expect(shown(outbox.next(limit: 2)) == ["l5*", "l1"])
    #expect(shown(outbox.next(limit: 9)) == ["l2", "l4", "l5*"])
    // Without a backlog, records are sent in their usual order.
    outbox.append(locations(6..<9))
    #expect(shown(outbox.next(limit: 9)) == ["l6", "l7", "l8*"])
  }

  @Test func recordsStoredWhileDisconnectedAreABacklog() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<2))
    outbox.remove(outbox.next(limit: 9).map(\.seq))
    outbox.offerAgain()
    outbox.append(locations(2..<5))
    #expect(shown(outbox.next(limit: 9)) == ["l4*", "l2", "l3", "l4*"])
  }

  /// The repetition has a number of its own, whose answers change nothing.
  @Test func repetitionIsNotPartOfTheQueue() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<3))
    let records = outbox.next(limit: 9)
    #expect(shown(records) == ["l2*", "l0", "l1", "l2*"] && Set(records.map(\.seq)).count == 4)
    #expect(outbox.status.records == 3)
    outbox.remove([records[3].seq])
    #expect(outbox.refuse(records[3].seq, reason: "quota exceeded", isLasting: true) == nil)
    #expect(outbox.status.records == 3 && outbox.deadLetters(limit: 9).isEmpty)
    outbox.remove(records.map(\.seq))
    #expect(outbox.status.records == 0 && outbox.next(limit: 9).isEmpty)
  }

  /// The limit of a request applies to repetitions, too. A newer record makes a repetition unnecessary.
  @Test func repetitionFollowsAllOlderRecords() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<2) + [draft(.other, "w0", topic: "waypoint", retain: true)])
    outbox.append([draft(.other, "w1", topic: "waypoint", retain: true)])
    #expect(shown(outbox.next(limit: 4)) == ["l1*", "w1*", "l0", "w0"])
    #expect(shown(outbox.next(limit: 1)) == ["l1*"])
    #expect(shown(outbox.next(limit: 1)) == ["w1*"])
    outbox.offerAgain()
    #expect(shown(outbox.next(limit: 4)) == ["l1*", "w1*", "l0", "w0"])
    outbox.append(locations(2..<3))
    #expect(shown(outbox.next(limit: 4)) == ["l2*", "w1*"])
    #expect(outbox.next(limit: 4).isEmpty)
  }

  @Test func recordsInFlightAreOfferedAgainInTheSameOrder() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<4))
    let first = outbox.next(limit: 9)
    // The broker acknowledged part of the history, but not the newest record.
    outbox.remove([first[1].seq, first[2].seq])
    outbox.offerAgain()
    #expect(shown(outbox.next(limit: 9)) == ["l3*", "l2", "l3*"])
    // The reverse case: the newest record is acknowledged, the history is not.
    outbox.offerAgain()
    outbox.append(locations(4..<5))
    let second = outbox.next(limit: 1)
    #expect(shown(second) == ["l4*"])
    outbox.remove(second.map(\.seq))
    outbox.offerAgain()
    #expect(shown(outbox.drain(portion: 1)) == ["l2", "l3", "l4*"])
    #expect(outbox.status.records == 0)
  }

  /// Otherwise the broker would retain an outdated position.
  @Test func olderRecordIsNotRetainedAfterARestart() throws {
    do {
      let outbox = try Outbox(path: path, configuration: overtaking)
      outbox.append(locations(0..<5))
      let first = outbox.next(limit: 1)
      #expect(shown(first) == ["l4*"])
      outbox.remove(first.map(\.seq))
      outbox.close()
    }
    let outbox = try Outbox(path: path, configuration: overtaking)
    #expect(shown(outbox.next(limit: 2)) == ["l0", "l1"])
    outbox.append(locations(5..<6))
    #expect(shown(outbox.next(limit: 9)) == ["l5*", "l2", "l3", "l5*"])
  }

  @Test func newestRecordIsFoundAfterARestartWithABacklog() throws {
    do {
      let outbox = try Outbox(path: path, configuration: overtaking)
      outbox.append(locations(0..<2000))
      outbox.append((0..<500).map { draft(.tracks, "t\($0)", topic: "track") })
      outbox.close()
    }
    let outbox = try Outbox(path: path, configuration: overtaking)
    #expect(shown(outbox.next(limit: 2)) == ["l1999*", "l0"])
  }

  @Test func eachTopicHasItsOwnNewestRecord() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<3) + [draft(.other, "w0", topic: "waypoint", retain: true)])
    outbox.append([draft(.other, "o"), draft(.other, "w1", topic: "waypoint", retain: true)])
    #expect(shown(outbox.drain(portion: 2)) == ["l2*", "w1*", "l0", "l1", "w0", "o", "l2*", "w1*"])
  }

  @Test func newestRecordIsSentFirstFromMemory() throws {
    let missing = directory.file("not-there")
    let outbox = try Outbox(path: missing + "/outbox.sqlite", configuration: overtaking)
    outbox.append(locations(0..<4))
    let first = outbox.next(limit: 2)
    #expect(shown(first) == ["l3*", "l0"])
    outbox.remove([first[0].seq])
    mkdir(missing, 0o700)
    outbox.flush()
    #expect(outbox.status.mode == .durable)
    // `l0` is still in flight.
    #expect(shown(outbox.drain()) == ["l1", "l2", "l3*"])
    #expect(outbox.status.records == 1)
  }

  @Test func removingTheNewestRecordKeepsTheCounts() throws {
    let outbox = try Outbox(path: path, configuration: overtaking)
    outbox.append(locations(0..<50))
    var left = 50
    while true {
      let records = outbox.next(limit: 7)
      if records.isEmpty { break }
      outbox.remove(records.map(\.seq))
      left = max(0, left - records.count)
      outbox.flush()
      #expect(outbox.status[.tracks].records == left)
    }
    #expect(left == 0 && outbox.status[.tracks].bytes == 0)
  }

  /// Random sequences of operations: every record is delivered exactly once, apart from repetitions of the newest,
  /// a retained record is never replaced by an older one, and the rest is delivered in order. The newest is the
  /// last, unless a restart has prevented its repetition.
  @Test(arguments: 0..<20) func randomHistoriesAreCompleteAndRetainedNeverGoesBack(round: Int) throws {
    var random = SeededGenerator.announced()
    var outbox = try Outbox(path: path, configuration: overtaking)
    var made = 0
    var arrived: [String] = []
    var repeated: [String] = []
    var lastRetained = -1
    var hasRestarted = false
    for _ in 0..<60 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        let count = Int.random(in: 1...9, using: &random)
        outbox.append(locations(made..<made + count))
        made += count
      case 2: outbox.offerAgain()
      case 3:
        outbox.close()
        outbox = try Outbox(path: path, configuration: overtaking)
        hasRestarted = true
      default:
        let records = outbox.next(limit: Int.random(in: 1...6, using: &random))
        // The broker accepts some of the records, in this order.
        let taken = records.prefix(Int.random(in: 0...records.count, using: &random))
        for record in taken {
          if arrived.contains(record.text), record.retain {
            repeated.append(record.text)
            #expect(repeated.last == "l\(lastRetained)")
          } else {
            arrived.append(record.text)
          }
          guard record.retain else { continue }
          let number = try #require(Int(record.text.dropFirst()))
          #expect(number >= lastRetained)
          lastRetained = number
        }
        outbox.remove(taken.map(\.seq))
        if taken.count < records.count { outbox.offerAgain() }
      }
    }
    outbox.offerAgain()
    // The broker has these records before the others or has none of them.
    outbox.append(locations(made..<made + 2))
    made += 2
    let rest = outbox.drain(portion: 3)
    #expect(hasRestarted || shown(rest).last == "l\(made - 1)*")
    for record in rest where !arrived.contains(record.text) || !record.retain { arrived.append(record.text) }
    #expect(Set(arrived).count == arrived.count)
    #expect(Set(arrived) == Set((0..<made).map { "l\($0)" }))
    var highest = -1
    var history = -1
    for number in arrived.compactMap({ Int($0.dropFirst()) }) {
      if number > highest {
        highest = number
      } else {
        #expect(number > history)
        history = number
      }
    }
  }
}
