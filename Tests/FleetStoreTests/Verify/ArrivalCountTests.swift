import Fleet
import FleetManagement
import FleetStore
import TestSupport
import Testing

@Suite struct ArrivalCountTests {
  private let van = VehicleKey(fleet: "demo", vehicle: "van")

  @Test func eachNumberIsAccountedFor() throws {
    var count = try ArrivalCount([
      SentNumbers(vehicle: van, epoch: "e", last: 10, unacknowledged: [3...4, 9...9]),
      SentNumbers(vehicle: van, epoch: "f", last: 2),
    ])
    for number in [1, 2, 3, 5, 5, 7, 10, 11, 0] as [Int64] { count.observe(van, epoch: "e", seq: number) }
    for number in [1, 2] as [Int64] { count.observe(van, epoch: "f", seq: number) }
    // Messages of other vehicles and runs do not count.
    count.observe(van, epoch: "g", seq: 1)
    count.observe(VehicleKey(fleet: "demo", vehicle: "car"), epoch: "e", seq: 1)
    let result = count.result
    #expect(result.acknowledged == 9 && result.arrived == 7 && result.missing == 2)
    #expect(result.unacknowledged == 3 && result.unacknowledgedArrived == 1)
    #expect(result.doubled == 1 && result.untold == 2 && !result.isWhole)
    let odd = try #require(result.odd.first)
    #expect(result.odd.count == 1 && odd.epoch == "e")
    #expect(odd.missing == [6, 8] && odd.doubled == [5] && odd.untold == [0, 11])
    #expect(result.sentence.contains("2 missing, 1 doubled, 2 that nobody told; of 3"))
  }

  @Test func duplicateInputIsRefused() throws {
    let told = SentNumbers(vehicle: van, epoch: "e", last: 1)
    let error = try #require(throws: FleetError.self) { try ArrivalCount([told, told]) }
    #expect("\(error)".contains("name each file once"))
  }

  /// Random losses and duplicates are found, and nothing else.
  @Test func lostMessagesAreFound() throws {
    var random = SplitMix.announced()
    for _ in 0..<50 {
      let last = Int64.random(in: 1...300, using: &random)
      var count = try ArrivalCount([SentNumbers(vehicle: van, epoch: "e", last: last)])
      var (missing, doubled): ([Int64], [Int64]) = ([], [])
      var arrivals: [Int64] = []
      for number in 1...last {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: missing.append(number)
        case 1:
          doubled.append(number)
          arrivals += [number, number]
        default: arrivals.append(number)
        }
      }
      for number in arrivals.shuffled(using: &random) { count.observe(van, epoch: "e", seq: number) }
      let result = count.result
      #expect(result.missing == missing.count && result.doubled == doubled.count)
      #expect(result.isWhole == (missing.isEmpty && doubled.isEmpty))
      #expect(result.odd.allSatisfy { $0.missing == missing && $0.doubled == doubled })
    }
  }

  @Test func rangesOfNumbers() {
    #expect(ArrivalResult.text([]) == "")
    #expect(ArrivalResult.text([3]) == "3")
    #expect(ArrivalResult.text([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9")
  }
}
