import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Positioning

/// Learning from contested scans: beacons heard at fixes that contradict their positions.
@Suite struct MovedGroupTests {
  private let beacons = (0..<6).map { Radio.accessPoint($0) }

  private func learn(
    _ known: inout [Beacon: LearnedBeacon], at east: Double, day: Int, isContested: Bool = true,
    _ heard: [Beacon]? = nil
  ) {
    let scan = Radio.scan(0, (heard ?? beacons).map { BeaconSighting(beacon: $0, signal: -70) })
    let changes = BeaconLearner.learn(
      scan, at: Place.coordinate(east), accuracy: 5, day: Radio.day + day, known: known,
      isContested: isContested)
    for (beacon, change) in changes { known[beacon] = change }
  }

  /// An office whose beacons were heard ten times on day 0.
  private func office() -> [Beacon: LearnedBeacon] {
    var known: [Beacon: LearnedBeacon] = [:]
    for step in 0..<10 { learn(&known, at: 10 * Double(step), day: 0, isContested: false) }
    return known
  }

  private func told(_ known: [Beacon: LearnedBeacon]) -> [MappedBeacon] { known.values.compactMap(\.mapped) }

  @Test func threeDaysAtOnePositionMoveTheGroup() {
    var known = office()
    for step in 0..<50 { learn(&known, at: 9000 + Double(step), day: 1) }
    #expect(told(known).count == 6, "hidden after one day")
    for step in 0..<50 { learn(&known, at: 9000 + Double(step), day: 4) }
    #expect(told(known).isEmpty && known.values.allSatisfy { $0.place.sightings == 10 })
    learn(&known, at: 9020, day: 5)
    #expect(told(known).count == 6)
    for place in told(known) {
      #expect(place.coordinate.distance(to: Place.coordinate(9010)) < 30)
      #expect(place.sightings == 3 && place.lastSeen == Radio.day + 5)
    }
  }

  /// Scans at the new position are uncontested once the group is hidden; the move is not accelerated by them.
  @Test func hiddenBeaconsAlsoNeedThreeDays() {
    var known = office()
    learn(&known, at: 9000, day: 1)
    learn(&known, at: 9000, day: 2)
    for _ in 0..<50 { learn(&known, at: 9000, day: 2, isContested: false) }
    #expect(told(known).isEmpty)
    learn(&known, at: 9000, day: 3, isContested: false)
    #expect(told(known).allSatisfy { $0.coordinate.distance(to: Place.coordinate(9000)) < 10 })
    #expect(told(known).count == 6)
  }

  @Test func beaconsSeenAtTheirOldPositionHaveNotMoved() {
    var known = office()
    learn(&known, at: 9000, day: 1)
    learn(&known, at: 9000, day: 2)
    learn(&known, at: 50, day: 3, isContested: false)
    #expect(told(known).count == 6)
    learn(&known, at: 9000, day: 4)
    learn(&known, at: 9000, day: 5)
    #expect(known.values.allSatisfy { $0.place.coordinate.distance(to: Place.coordinate(50)) < 60 })
  }

  /// Different positions each day are those of a train or a spoofer: the beacons are hidden, but not moved.
  @Test func differentPositionsEachDayAreNoMove() {
    var known = office()
    for day in 1...10 {
      for step in 0..<5 { learn(&known, at: 9000 * Double(day) + 2000 * Double(step), day: day) }
      #expect(day == 1 ? told(known).count == 6 : told(known).isEmpty)
    }
    #expect(known.values.allSatisfy { $0.place.coordinate.distance(to: Place.coordinate(50)) < 60 })
  }

  @Test func earlierSightingsDoNotAccelerateAMove() {
    var known = office()
    for _ in 0..<4 { learn(&known, at: 9000, day: 1, isContested: false) }
    for _ in 0..<20 { learn(&known, at: 9000, day: 1) }
    for _ in 0..<20 { learn(&known, at: 9000, day: 2, isContested: false) }
    #expect(told(known).isEmpty)
    learn(&known, at: 9000, day: 3)
    #expect(told(known).count == 6)
  }

  /// The move is shorter than the distance at which ordinary sightings count as another position.
  @Test func shortMoveIsDetected() {
    var known = office()
    let reach = known.values.map(\.place.reach).max() ?? 0
    for day in 1...2 { learn(&known, at: 45 + 2.2 * reach, day: day) }
    for _ in 0..<20 { learn(&known, at: 45 + 2.2 * reach, day: 2, isContested: false) }
    #expect(told(known).isEmpty)
    learn(&known, at: 45 + 2.2 * reach, day: 3, isContested: false)
    #expect(told(known).count == 6 && told(known).allSatisfy { $0.sightings == 3 })
  }

  @Test func contestedScanTeachesNothingElse() {
    var known = office()
    let before = known
    // New beacons, and known ones at their known position.
    learn(&known, at: 9000, day: 1, [Radio.accessPoint(70), Radio.lte(3)])
    learn(&known, at: 60, day: 1)
    #expect(known == before)
  }

  @Test func travellingBeaconsFollowTheirOwnRule() {
    var known: [Beacon: LearnedBeacon] = [:]
    for step in 0..<40 { learn(&known, at: 500 * Double(step), day: 0, isContested: false) }
    let before = known
    #expect(known.values.allSatisfy { $0.isTravelling })
    for day in 1...5 { learn(&known, at: 90_000, day: day) }
    #expect(known == before)
  }

  // MARK: Encoding

  @Test func contestedDaysAreStored() throws {
    var known = office()
    for day in 1...2 {
      learn(&known, at: 9000, day: day)
      for (beacon, entry) in known {
        let bytes = entry.bytes
        #expect(bytes.count == 34 && bytes[8] >> 4 == 3)
        let read = try #require(LearnedBeacon(bytes: bytes))
        #expect(read.other?.contestedDays == day && read.other?.sightings == day)
        #expect(read.other?.since == Radio.day + day && read.bytes == bytes)
        known[beacon] = read
      }
    }
    learn(&known, at: 9000, day: 3)
    #expect(told(known).count == 6 && known.values.allSatisfy { $0.other == nil })
  }

  /// Older versions of the format count up to 255 sightings at another position; its high bits are no contested days.
  @Test(arguments: [1, 5, 63, 64, 130, 255] as [UInt8], [1, 2] as [UInt8])
  func otherPositionsOfOlderVersionsAreRead(count: UInt8, version: UInt8) throws {
    var known = office()
    learn(&known, at: 9000, day: 1, isContested: false)
    var bytes = try #require(known[beacons[0]]).bytes
    bytes[8] = bytes[8] & 0x0f | version << 4
    bytes[31] = count
    let read = try #require(LearnedBeacon(bytes: bytes))
    let other = try #require(read.other)
    #expect(other.sightings == min(63, Int(count)) && other.contestedDays == 0 && read.place.isSound)
    #expect(other.since == Radio.day + 1 && other.coordinate.distance(to: Place.coordinate(9000)) < 3)
    let again = try #require(LearnedBeacon(bytes: read.bytes))
    #expect(again.other?.sightings == other.sightings && again.other?.contestedDays == 0)
    // Learning continues with the rule for uncontested sightings.
    known[beacons[0]] = read
    for _ in 0..<5 { learn(&known, at: 9000, day: 2, isContested: false) }
    #expect(
      try #require(known[beacons[0]]?.mapped).coordinate.distance(to: Place.coordinate(9000)) < 10)
  }

  @Test func otherPositionWithoutSightingsIsNoEntry() throws {
    var known = office()
    learn(&known, at: 9000, day: 1)
    var bytes = try #require(known[beacons[0]]).bytes
    bytes[31] = 2 << 6
    #expect(LearnedBeacon(bytes: bytes) == nil)
  }
}
