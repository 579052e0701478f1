import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import Positioning

/// A straight street that was learned, and scans in it and beside it.
@Suite struct LearnedGroundTests {
  private struct Town {
    /// Positions of the transmitters, metres east and north.
    var places: [SIMD2<Double>] = []
    var random: SeededGenerator
    /// Received signal in dBm at 100 m.
    static let sensitivity = -90.0

    init(_ random: SeededGenerator, perSquareKilometre density: Double) {
      self.random = random
      for _ in 0..<Int(density * 1.2 * 1.6) {
        places.append(
          SIMD2(1200 * (self.random.nextUniform() - 0.5), 1600 * (self.random.nextUniform() - 0.5)))
      }
    }

    mutating func scan(at place: SIMD2<Double>) -> RadioScan {
      var sightings: [BeaconSighting] = []
      for (number, transmitter) in places.enumerated() {
        let away = max(3, ((transmitter - place) * (transmitter - place)).sum().squareRoot())
        let signal = Self.sensitivity - 31 * log10(away / 100) + 6.5 * random.nextNormal()
        guard signal >= Self.sensitivity else { continue }
        sightings.append(BeaconSighting(beacon: Radio.accessPoint(number), signal: min(-30, signal)))
      }
      return Radio.scan(0, sightings)
    }

    /// Learns along the east axis.
    mutating func learnedMap() -> TableMap {
      var known: [Beacon: LearnedBeacon] = [:]
      for east in stride(from: -500.0, through: 500, by: 50) {
        let place = Place.coordinate(east, 0)
        let changes = BeaconLearner.learn(
          scan(at: SIMD2(east, 0)), at: place, accuracy: 5, day: Radio.day, known: known)
        for (beacon, change) in changes { known[beacon] = change }
      }
      var map = TableMap()
      for beacon in known.values { beacon.mapped.map { map.add($0) } }
      return map
    }
  }

  @Test(arguments: [150.0, 600])
  func adjacentStreetIsWithinTheRadius(density: Double) throws {
    var random = SeededGenerator(seed: 1)
    let locator = CoarseLocator()
    for off in [0.0, 60, 120, 180, 240] {
      var (found, inside, radii) = (0, 0, [Double]())
      for _ in 0..<16 {
        var town = Town(SeededGenerator(seed: random.next()), perSquareKilometre: density)
        let map = town.learnedMap()
        let place = SIMD2(400 * (random.nextUniform() - 0.5), off)
        guard
          let position = locator.position(of: town.scan(at: place), by: map, speed: 0, day: Radio.day)
        else { continue }
        found += 1
        let error = position.coordinate.distance(to: Place.coordinate(place.x, place.y))
        inside += error <= position.radius95 ? 1 : 0
        radii.append(position.radius95)
      }
      let radius = radii.sorted()[radii.count / 2]
      #expect(found >= 8 && Double(inside) >= 0.8 * Double(found), "\(off) m")
      // The radius is not so large that it always covers the error.
      #expect(off > 0 || radius < 300, "\(radius) m in the street")
      #expect(off < 180 || radius > off, "\(radius) m at \(off) m")
    }
  }

  @Test func strongSignalsMappedAsWeakIndicateAnotherStreet() {
    func distance(strongest: Double?, unknown: Int = 2) -> Double {
      let known = (0..<12).map {
        LearnedGround.Witness(signal: -60 - 2 * Double($0), known: (40, strongest))
      }
      let others = (0..<unknown).map { _ in LearnedGround.Witness(signal: -75, known: nil) }
      let ground = LearnedGround(known + others, scale: 85, nearest: 10)
      #expect(ground.isNear)
      return ground.distance(at: 0.95, deviations: 1.645)
    }
    #expect(distance(strongest: -55) < 70)
    #expect(distance(strongest: -85) > 120)
    #expect(distance(strongest: nil) < distance(strongest: nil, unknown: 12))
  }

  @Test func coincidentalMatchesAreNotNear() {
    func isNear(_ known: Int, of count: Int) -> Bool {
      LearnedGround(
        (0..<count).map { LearnedGround.Witness(signal: -78, known: $0 < known ? (30, -60) : nil) },
        scale: 85,
        nearest: 20
      ).isNear
    }
    #expect(isNear(1, of: 1) && isNear(2, of: 3) && isNear(10, of: 30))
    #expect(!isNear(0, of: 1) && !isNear(1, of: 20) && !isNear(1, of: 128))
  }

  @Test func randomWitnessesAreHandled() {
    let numbers: [Double?] = [nil, -150, 0, -0.0, -90, -30]
    var random = SeededGenerator.announced()
    func number() -> Double? { numbers[Int(random.next() % UInt64(numbers.count))] }
    for _ in 0..<500 {
      let witnesses = (0...Int(random.next() % 20)).map { _ in
        LearnedGround.Witness(
          signal: number(), known: random.next() % 2 == 0 ? (1e6 * random.nextUniform(), number()) : nil)
      }
      let ground = LearnedGround(witnesses, scale: 1 + 1e5 * random.nextUniform(), nearest: 1e4)
      let distances = [(0.5, 0), (0.68, 0.468), (0.95, 1.645)].map {
        ground.distance(at: $0, deviations: $1)
      }
      #expect(distances.allSatisfy { $0.isFinite && $0 >= 0 } && distances == distances.sorted())
    }
  }
}
