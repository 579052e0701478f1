import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Positioning

@Suite struct BeaconLearnerTests {
  private let beacon = Radio.accessPoint(0)

  private func learn(
    _ known: inout [Beacon: LearnedBeacon], at east: Double, _ north: Double = 0, signal: Double? = -78,
    day: Int = Radio.day, beacon: Beacon? = nil
  ) {
    let scan = Radio.scan(0, [BeaconSighting(beacon: beacon ?? self.beacon, signal: signal)])
    let place = Place.coordinate(east, north)
    for (beacon, change) in BeaconLearner.learn(scan, at: place, accuracy: 5, day: day, known: known) {
      known[beacon] = change
    }
  }

  @Test func positionIsWhereTheSignalIsStrongest() throws {
    var random = SeededGenerator.announced()
    var known: [Beacon: LearnedBeacon] = [:]
    // A transmitter at (40, 30), heard from two crossing streets.
    for _ in 0..<200 {
      let way = 240 * (random.nextUniform() - 0.5)
      let (east, north) = random.next() % 2 == 0 ? (40 + way, 0.0) : (0.0, 30 + way)
      let distance = max(5, hypot(east - 40, north - 30))
      let signal = -90 - 30 * log10(distance / 100) + 4 * random.nextNormal()
      if signal > -90 { learn(&known, at: east, north, signal: signal) }
    }
    let mapped = try #require(known[beacon]?.mapped)
    #expect(mapped.coordinate.distance(to: Place.coordinate(40, 30)) < 45, "seed \(random.seed)")
    #expect((25...90).contains(mapped.reach) && mapped.sightings > 30)
  }

  @Test func inaccuratePositionsAreNotLearned() {
    let scan = Radio.scan(0, [BeaconSighting(beacon: beacon, signal: -70)])
    for accuracy in [Double.nan, .infinity, 0, -1, 51] {
      #expect(
        BeaconLearner.learn(scan, at: Place.origin, accuracy: accuracy, day: Radio.day, known: [:]).isEmpty)
    }
    for place in [Coordinate(latitude: .nan, longitude: 0), Coordinate(latitude: 91, longitude: 0)] {
      #expect(BeaconLearner.learn(scan, at: place, accuracy: 5, day: Radio.day, known: [:]).isEmpty)
    }
    for day in [-1, 70_000] {
      #expect(BeaconLearner.learn(scan, at: Place.origin, accuracy: 5, day: day, known: [:]).isEmpty)
    }
    let late = Radio.scan(0, [BeaconSighting(beacon: beacon, signal: -70, age: 20)])
    #expect(BeaconLearner.learn(late, at: Place.origin, accuracy: 5, day: Radio.day, known: [:]).isEmpty)
  }

  @Test func permanentlyMovedBeaconIsRelearned() throws {
    var known: [Beacon: LearnedBeacon] = [:]
    for step in 0..<30 { learn(&known, at: Double(step)) }
    // After two sightings elsewhere, the beacon is hidden; after another one at its old position, it is shown again.
    learn(&known, at: 9000)
    #expect(known[beacon]?.mapped != nil)
    learn(&known, at: 9010)
    #expect(known[beacon]?.mapped == nil)
    var back = known
    learn(&back, at: 10)
    #expect(try #require(back[beacon]?.mapped).coordinate.distance(to: Place.coordinate(15)) < 20)
    for step in 2..<5 { learn(&known, at: 9000 + 10 * Double(step), day: Radio.day + 1) }
    let moved = try #require(known[beacon]?.mapped)
    #expect(moved.coordinate.distance(to: Place.coordinate(9020)) < 30 && moved.sightings == 5)
    // After a day at the new position, the move is complete: a further distant sighting counts as the first one.
    learn(&known, at: 9000, day: Radio.day + 2)
    learn(&known, at: 20_000, day: Radio.day + 3)
    #expect(known[beacon]?.isTravelling == false)
  }

  @Test func travellingBeaconHasNoPosition() throws {
    var known: [Beacon: LearnedBeacon] = [:]
    // Heard every 50 m along two kilometres.
    for step in 0..<40 { learn(&known, at: 50 * Double(step), signal: -45) }
    #expect(try #require(known[beacon]).isTravelling && known[beacon]?.mapped == nil)
    // After a week at one position it still counts as travelling; after another month it counts as stationary.
    for step in 0..<14 { learn(&known, at: 5000, signal: -60, day: Radio.day + step / 2) }
    #expect(known[beacon]?.mapped == nil)
    for step in 0..<30 { learn(&known, at: 5000, signal: -60, day: Radio.day + 7 + step) }
    #expect(try #require(known[beacon]?.mapped).coordinate.distance(to: Place.coordinate(5000)) < 20)
  }

  @Test func newSightingsOutweighOldOnes() throws {
    var known: [Beacon: LearnedBeacon] = [:]
    for _ in 0..<500 { learn(&known, at: 0) }
    // 100 m away two years later: not far enough for another position, but the old sightings have lost their weight.
    for _ in 0..<20 { learn(&known, at: 100, day: Radio.day + 720) }
    let mapped = try #require(known[beacon]?.mapped)
    #expect(mapped.coordinate.distance(to: Place.coordinate(100)) < 30 && mapped.lastSeen == Radio.day + 720)
  }

  @Test func implausibleEntryIsDropped() {
    var broken = LearnedBeacon(Radio.mapped(beacon, 0))
    broken.place.reach = .nan
    let scan = Radio.scan(0, [BeaconSighting(beacon: beacon, signal: -70)])
    let changes = BeaconLearner.learn(
      scan, at: Place.origin, accuracy: 5, day: Radio.day, known: [beacon: broken])
    #expect(changes.count == 1 && changes[beacon] == .some(nil))
  }

  @Test func encodingRoundTrips() throws {
    var random = SeededGenerator.announced()
    var others = 0
    for number in 0..<300 {
      var known: [Beacon: LearnedBeacon] = [:]
      let beacon = number % 2 == 0 ? Radio.accessPoint(number) : Radio.lte(number)
      for _ in 0..<Int(random.next() % 40 + 1) {
        let far = random.next() % 6 == 0 ? 50_000.0 : 0
        learn(
          &known, at: far + 200 * random.nextNormal(), 200 * random.nextNormal(),
          signal: -90 + 40 * random.nextUniform(), day: Radio.day + Int(random.next() % 30), beacon: beacon)
      }
      let learned = try #require(known[beacon])
      let bytes = learned.bytes
      #expect(bytes.count == LearnedBeacon.byteCount)
      let read = try #require(LearnedBeacon(bytes: bytes), "seed \(random.seed)")
      #expect(read.place.beacon == beacon && read.isTravelling == learned.isTravelling)
      #expect(read.place.coordinate.distance(to: learned.place.coordinate) < 0.02)
      #expect(abs(read.place.reach - learned.place.reach) <= 0.5 && read.moves == learned.moves)
      #expect(
        read.place.sightings == learned.place.sightings && read.place.lastSeen == learned.place.lastSeen)
      #expect(read.other?.sightings == learned.other?.sightings && read.other?.since == learned.other?.since)
      if let (a, b) = read.other.flatMap({ a in learned.other.map { (a, $0) } }) {
        others += 1
        #expect(a.coordinate.distance(to: b.coordinate) < 3)
      }
      #expect(read.place.strongest.map { 1...63 ~= $0 + 95 } ?? true)
      #expect(
        abs((read.place.strongest ?? 0) - (learned.place.strongest ?? 0)) <= 0.5, "seed \(random.seed)")
      #expect(read.bytes == bytes)
    }
    #expect(others > 0)
  }

  @Test func strongestSignalBelongsToThePosition() throws {
    var known: [Beacon: LearnedBeacon] = [:]
    for signal in [nil, -80, -66, .nan, 20, -71] as [Double?] { learn(&known, at: 0, signal: signal) }
    #expect(known[beacon]?.mapped?.strongest == -66)
    // A signal heard elsewhere does not change the strongest one; a moved beacon starts with that of its new position.
    learn(&known, at: 9000, signal: -40)
    #expect(known[beacon]?.place.strongest == -66)
    for _ in 0..<4 { learn(&known, at: 9000, signal: -75) }
    #expect(try #require(known[beacon]?.mapped).coordinate.distance(to: Place.coordinate(9000)) < 30)
    #expect(known[beacon]?.mapped?.strongest == -75)
  }

  /// The first version of the format has no strongest signal and more bits for the number of sightings.
  @Test func firstVersionIsRead() throws {
    var learned = LearnedBeacon(Radio.mapped(beacon, 0, sightings: 700))
    learned.place.strongest = nil
    var bytes = learned.bytes
    #expect(bytes[8] >> 4 == 3)
    bytes[8] = bytes[8] & 0x0f | 0x10
    bytes.replaceSubrange(19..<21, with: [0x34, 0x12])
    let read = try #require(LearnedBeacon(bytes: bytes))
    #expect(read.place.sightings == 0x1234 && read.place.strongest == nil)
    // The entry is written in the new version.
    let again = try #require(LearnedBeacon(bytes: read.bytes))
    #expect(again.place.sightings == 1023 && again.place.coordinate == read.place.coordinate)
    bytes[8] = bytes[8] & 0x0f | 0x40
    #expect(LearnedBeacon(bytes: bytes) == nil)
  }

  @Test func randomBytesAndSightingsAreHandled() {
    var random = SeededGenerator.announced()
    for _ in 0..<20_000 {
      let count = random.next() % 4 == 0 ? Int(random.next() % 60) : LearnedBeacon.byteCount
      var bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      if bytes.count > 8 {
        bytes[7] = bytes[7] & 0x0f | 0x10
        bytes[8] = bytes[8] & 0x0f | UInt8(random.next() % 3 + 1) << 4
      }
      guard let read = LearnedBeacon(bytes: bytes) else { continue }
      #expect(read.place.isSound && read.bytes.count == LearnedBeacon.byteCount, "seed \(random.seed)")
      let sighting = BeaconSighting(
        beacon: read.place.beacon, signal: [nil, .nan, -70, 1e300][Int(random.next() % 4)])
      let changes = BeaconLearner.learn(
        Radio.scan(0, [sighting]), at: Place.origin, accuracy: 5, day: Int(random.next() % 65_536),
        known: [read.place.beacon: read], isContested: random.next() % 2 == 0)
      for case let change? in changes.values {
        #expect(change.place.isSound && change.bytes.count == LearnedBeacon.byteCount, "seed \(random.seed)")
      }
    }
  }
}
