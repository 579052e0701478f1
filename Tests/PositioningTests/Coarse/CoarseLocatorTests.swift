import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Positioning

@Suite struct CoarseLocatorTests {
  private let locator = CoarseLocator()

  private func position(_ places: [MappedBeacon], _ sightings: [BeaconSighting]? = nil) -> CoarsePosition? {
    var map = TableMap()
    for place in places { map.add(place) }
    return locator.position(
      of: Radio.scan(0, sightings ?? places.map { BeaconSighting(beacon: $0.beacon, signal: -78) }), by: map,
      speed: 0, day: Radio.day)
  }

  private func distance(_ position: CoarsePosition?, _ east: Double, _ north: Double = 0) -> Double {
    position?.coordinate.distance(to: Place.coordinate(east, north)) ?? .infinity
  }

  @Test func singleBeaconYieldsItsRange() throws {
    let found = try #require(position([Radio.mapped(Radio.accessPoint(0), 100)]))
    #expect(distance(found, 100) < 0.1 && found.beacons == 1)
    // 60 m, and a tenth of it for the error of the map itself, for the 68 % and the 95 % radius.
    #expect(abs(found.horizontalAccuracy - 1.51 * 60 * 1.01.squareRoot()) < 0.5)
    #expect(abs(found.radius95 - 2.448 * 60 * 1.01.squareRoot()) < 0.5)
    let strong = try #require(
      position(
        [Radio.mapped(Radio.accessPoint(0), 100)], [BeaconSighting(beacon: Radio.accessPoint(0), signal: -50)]
      ))
    #expect(strong.horizontalAccuracy < found.horizontalAccuracy && strong.horizontalAccuracy > 30)
  }

  @Test func singleCellYieldsACircleAndTimingAdvanceARing() throws {
    let cell = Radio.mapped(Radio.lte(0), 0, reach: 1000)
    let circle = try #require(position([cell], [BeaconSighting(beacon: cell.beacon, signal: -95)]))
    #expect((1400...1700).contains(circle.horizontalAccuracy) && circle.beacons == 1)
    // The radius covers the whole ring of 3 km.
    let ring = try #require(
      position([cell], [BeaconSighting(beacon: cell.beacon, signal: nil, distance: 3000)]))
    #expect(ring.horizontalAccuracy > 3000 && ring.radius95 > 3500 && distance(ring, 0) < 1)
    // Additional access points determine the position.
    var random = SeededGenerator(seed: 1)
    let both = try #require(position([cell] + Radio.neighbourhood(8, around: 700, &random)))
    #expect(distance(both, 700) < 60 && both.radius95 < 200)
  }

  @Test func movedBeaconIsOutvoted() throws {
    var random = SeededGenerator.announced()
    for _ in 0..<200 {
      let count = 5 + Int(random.nextUniform() * 20)
      let near = Radio.neighbourhood(count, around: 0, &random)
      let far = (0..<max(1, count / 8)).map {
        Radio.mapped(
          Radio.accessPoint(100 + $0), 20_000 * (random.nextUniform() - 0.5),
          20_000 * (random.nextUniform() - 0.5))
      }
      let (without, with) = (try #require(position(near)), try #require(position(near + far)))
      // A moved beacon that is close by chance can shift the position.
      let nearest = far.map { $0.coordinate.distance(to: Place.origin) }.min() ?? 0
      #expect(
        without.coordinate.distance(to: with.coordinate) < (nearest > 1500 ? 10 : 60), "seed \(random.seed)")
    }
  }

  @Test func contradictoryPositionsAreWithinTheRadius() throws {
    // Two against two, 5 km apart: the radius covers both positions.
    let places = [(0, 0.0), (1, 30), (2, 5000), (3, 5030)].map { Radio.mapped(Radio.accessPoint($0.0), $0.1) }
    let found = try #require(position(places))
    #expect(found.radius95 > 4900 && found.radius95 < 6000)
    // Three against one are unambiguous.
    let clear = try #require(
      position([0, 1, 3].map { places[$0] } + [Radio.mapped(Radio.accessPoint(9), 10)]))
    #expect(distance(clear, 15) < 40 && clear.radius95 < 300)
  }

  @Test func manyUnknownBeaconsIndicateAnUnlearnedArea() throws {
    var random = SeededGenerator(seed: 3)
    let known = Radio.neighbourhood(10, around: 0, &random)
    func sightings(_ unknown: Int, of places: [MappedBeacon]) -> [BeaconSighting] {
      (places.map(\.beacon) + (0..<unknown).map { Radio.accessPoint(500 + $0) }).map {
        BeaconSighting(beacon: $0, signal: -78)
      }
    }
    let usual = try #require(position(known, sightings(2, of: known)))
    let half = try #require(position(known, sightings(12, of: known)))
    #expect(half.radius95 > 1.3 * usual.radius95)
    // One known beacon among thirty unknown ones is a beacon that has been moved here.
    #expect(position([known[0]], sightings(30, of: [known[0]])) == nil)
    #expect(position([known[0]], sightings(1, of: [known[0]])) != nil)
  }

  @Test func moreBeaconsImproveTheAccuracyToALimit() throws {
    var random = SeededGenerator(seed: 5)
    let places = Radio.neighbourhood(128, around: 0, &random)
    let radii = try [2, 8, 32, 128].map { try #require(position(Array(places.prefix($0)))).radius95 }
    for (few, many) in zip(radii, radii.dropFirst()) { #expect(many <= 1.05 * few) }
    #expect(try #require(radii.last) > 20)
    // 128 entries at one position count as one site, not as 128 independent beacons.
    let same = (0..<128).map { Radio.mapped(Radio.accessPoint($0), 0) }
    #expect(try #require(position(same)).radius95 > 15)
  }

  @Test func oldOrRareEntriesHaveLessWeight() throws {
    let place = Radio.mapped(Radio.accessPoint(0), 0)
    func radius(_ place: MappedBeacon, age: Double = 0, speed: Double = 0) throws -> Double {
      var map = TableMap()
      map.add(place)
      let scan = Radio.scan(0, [BeaconSighting(beacon: place.beacon, signal: -78, age: age)])
      return try #require(locator.position(of: scan, by: map, speed: speed, day: Radio.day)).radius95
    }
    #expect(try radius(Radio.mapped(Radio.accessPoint(0), 0, sightings: 1)) > 1.3 * radius(place))
    #expect(try radius(place, age: 10, speed: 15) > 2 * radius(place))
    #expect(try radius(place, age: 10, speed: 0) == radius(place))
  }

  // MARK: Hostile input

  private static let numbers = [
    .nan, .infinity, -.infinity, 0, -0.0, 1, -1, 1e-300, 1e300, 90, 180, -180, 360, 48, 11, 60, 1e9,
  ]

  @Test func randomMapsAreHandled() {
    var random = SeededGenerator.announced()
    func number() -> Double { Self.numbers[Int(random.next() % UInt64(Self.numbers.count))] }
    for _ in 0..<3000 {
      var map = TableMap()
      var sightings: [BeaconSighting] = []
      for index in 0..<Int(random.next() % 12) {
        let beacon = random.next() % 3 == 0 ? Radio.lte(index) : Radio.accessPoint(index)
        map.add(
          MappedBeacon(
            beacon: beacon, coordinate: Coordinate(latitude: number(), longitude: number()), reach: number(),
            sightings: Int(truncatingIfNeeded: random.next() % 7) * 30_000 - 1,
            lastSeen: random.next() % 2 == 0 ? Radio.day : .max))
        sightings.append(
          BeaconSighting(
            beacon: beacon, signal: random.next() % 4 == 0 ? nil : number(), age: number(),
            distance: random.next() % 3 == 0 ? number() : nil))
      }
      let found = locator.position(of: Radio.scan(0, sightings), by: map, speed: number(), day: Radio.day)
      guard let found else { continue }
      #expect(found.coordinate.isValid, "seed \(random.seed)")
      #expect(
        found.horizontalAccuracy.isFinite && found.horizontalAccuracy > 1 && found.radius95.isFinite
          && found.radius95 >= found.horizontalAccuracy, "seed \(random.seed): \(found)")
    }
  }

  @Test func scanOfAMillionIsBounded() throws {
    var random = SeededGenerator(seed: 7)
    var map = TableMap()
    let near = Radio.neighbourhood(20, around: 0, &random)
    for place in near { map.add(place) }
    let flood = (0..<1_000_000).lazy.map {
      BeaconSighting(beacon: Radio.accessPoint(10_000 + $0), signal: -95)
    }
    let scan = Radio.scan(0, near.map { BeaconSighting(beacon: $0.beacon, signal: -60) } + Array(flood))
    #expect(scan.useful.count == RadioScan.mostUseful)
    #expect(scan.useful.prefix(20).allSatisfy { $0.signal == -60 })
    // So many unknown beacons indicate an area that was not learned.
    let found = locator.position(of: scan, by: map, speed: 0, day: Radio.day)
    #expect(found.map { $0.radius95 > 300 } ?? true)
  }

  /// A wrong entry for a single beacon does not move the position: anywhere on earth, with a reach of 1 m and many sightings.
  @Test func singleOutlierDoesNotMoveThePosition() throws {
    var random = SeededGenerator.announced()
    let near = Radio.neighbourhood(6, around: 0, &random)
    let honest = try #require(position(near))
    for _ in 0..<500 {
      let liar = MappedBeacon(
        beacon: Radio.accessPoint(999),
        coordinate: Coordinate(
          latitude: 180 * random.nextUniform() - 90, longitude: 360 * random.nextUniform() - 180),
        reach: 1, sightings: 65_535, lastSeen: Radio.day)
      let found = try #require(position(near + [liar]))
      #expect(
        found.coordinate.distance(to: honest.coordinate) < 10 && found.radius95 < 1.5 * honest.radius95,
        "seed \(random.seed)")
    }
  }
}
