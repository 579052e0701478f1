import Glibc
import Sensors
import Simulation
import StoreAndForward
import Telemetry
import TestSupport
import Testing

/// What is last known goes before the history that it belongs to, and the history is whole.
@Suite struct LastKnownTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  private func locations(_ range: Range<Int>) -> [TextMessage] {
    range.map { draft(.tracks, "l\($0)", topic: "location", retain: true) }
  }

  /// As in `l3*`, with a star for a record that is retained.
  private func shown(_ records: [OutboxRecord]) -> [String] {
    records.map { $0.text + ($0.retain ? "*" : "") }
  }

  @Test func theNewestGoesBeforeEventsAndHistoryFollowsWithoutRetain() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<5) + [draft(.events, "e"), draft(.state, "online", topic: "status")])
    #expect(
      shown(outbox.drain(portion: 1)) == ["l4*", "online", "e", "l0", "l1", "l2", "l3"])
    #expect(outbox.status.records == 0)
  }

  @Test func eachNewOneOvertakesWhileTheBacklogLasts() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<4))
    #expect(shown(outbox.next(limit: 2)) == ["l3*", "l0"])
    outbox.append(locations(4..<6))
    #expect(shown(outbox.next(limit: 2)) == ["l5*", "l1"])
    #expect(shown(outbox.next(limit: 9)) == ["l2", "l4"])
    // Without a backlog the order is the usual one.
    outbox.append(locations(6..<9))
    #expect(shown(outbox.next(limit: 9)) == ["l6", "l7", "l8*"])
  }

  @Test func whatWaitedWhileNobodyAskedIsABacklogToo() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<2))
    outbox.remove(outbox.next(limit: 9).map(\.seq))
    outbox.offerAgain()
    outbox.append(locations(2..<5))
    #expect(shown(outbox.next(limit: 9)) == ["l4*", "l2", "l3"])
  }

  @Test func whatIsUnderWayIsOfferedAgainInTheSameOrder() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<4))
    let first = outbox.next(limit: 9)
    // The history was acknowledged in part, the last known was not.
    outbox.remove([first[1].seq, first[2].seq])
    outbox.offerAgain()
    #expect(shown(outbox.next(limit: 9)) == ["l3*", "l2"])
    // And the other way round.
    outbox.offerAgain()
    outbox.append(locations(4..<5))
    let second = outbox.next(limit: 1)
    #expect(shown(second) == ["l4*"])
    outbox.remove(second.map(\.seq))
    outbox.offerAgain()
    #expect(shown(outbox.drain(portion: 1)) == ["l2", "l3"])
    #expect(outbox.status.records == 0)
  }

  /// Otherwise the broker would be left with a place where the vehicle was before.
  @Test func afterARestartNoOlderOneIsTakenForTheLastKnown() throws {
    do {
      let outbox = try Outbox(path: path)
      outbox.append(locations(0..<5))
      let first = outbox.next(limit: 1)
      #expect(shown(first) == ["l4*"])
      outbox.remove(first.map(\.seq))
      outbox.close()
    }
    let outbox = try Outbox(path: path)
    #expect(shown(outbox.next(limit: 2)) == ["l0", "l1"])
    outbox.append(locations(5..<6))
    #expect(shown(outbox.next(limit: 9)) == ["l5*", "l2", "l3"])
  }

  @Test func aRestartWithABacklogFindsTheLastKnown() throws {
    do {
      let outbox = try Outbox(path: path)
      outbox.append(locations(0..<2000))
      outbox.append((0..<500).map { draft(.tracks, "t\($0)", topic: "track") })
      outbox.close()
    }
    let outbox = try Outbox(path: path)
    #expect(shown(outbox.next(limit: 2)) == ["l1999*", "l0"])
  }

  @Test func eachTopicHasItsOwn() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<3) + [draft(.other, "w0", topic: "waypoint", retain: true)])
    outbox.append([draft(.other, "o"), draft(.other, "w1", topic: "waypoint", retain: true)])
    #expect(shown(outbox.drain(portion: 2)) == ["l2*", "w1*", "l0", "l1", "w0", "o"])
  }

  @Test func aFullDiskChangesNothingAboutIt() throws {
    let missing = directory.file("not-there")
    let outbox = try Outbox(path: missing + "/outbox.sqlite")
    outbox.append(locations(0..<4))
    let first = outbox.next(limit: 2)
    #expect(shown(first) == ["l3*", "l0"])
    outbox.remove([first[0].seq])
    mkdir(missing, 0o700)
    outbox.flush()
    #expect(outbox.status.mode == .durable)
    // `l0` is still under way.
    #expect(shown(outbox.drain()) == ["l1", "l2"])
    #expect(outbox.status.records == 1)
  }

  @Test func anOvertakerIsDeletedAloneAndTheCountsHold() throws {
    let outbox = try Outbox(path: path)
    outbox.append(locations(0..<50))
    var left = 50
    while true {
      let records = outbox.next(limit: 7)
      if records.isEmpty { break }
      outbox.remove(records.map(\.seq))
      left -= records.count
      outbox.flush()
      #expect(outbox.status[.tracks].records == left)
    }
    #expect(left == 0 && outbox.status[.tracks].bytes == 0)
  }

  /// Whatever happens in which order: nothing is lost or said twice without being offered again, what is retained never
  /// goes back, and the rest is in order.
  @Test(arguments: 0..<20) func anyHistoryIsWholeAndRetainedNeverGoesBack(round: Int) throws {
    var random = SeededGenerator.announced()
    var outbox = try Outbox(path: path)
    var made = 0
    var arrived: [String] = []
    var lastRetained = -1
    for _ in 0..<60 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1:
        let count = Int.random(in: 1...9, using: &random)
        outbox.append(locations(made..<made + count))
        made += count
      case 2: outbox.offerAgain()
      case 3:
        outbox.close()
        outbox = try Outbox(path: path)
      default:
        let records = outbox.next(limit: Int.random(in: 1...6, using: &random))
        // The broker takes some; the order of those is what a consumer sees.
        let taken = records.prefix(Int.random(in: 0...records.count, using: &random))
        for record in taken {
          arrived.append(record.text)
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
    arrived += outbox.drain(portion: 3).map(\.text)
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
