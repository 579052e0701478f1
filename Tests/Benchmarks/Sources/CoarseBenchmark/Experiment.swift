import Foundation
import Positioning
import Sensors
import Simulation
import Spatial

/// A map that is learned on one part of a drive and used on the other.
struct Experiment {
  var drive: Drive
  var split: Split
  var model: CityModel
  var seed: UInt64

  enum Split: Hashable {
    /// Learned in blocks of the given duration in s, used in those between.
    case blocks(Double)
    /// Learned in the first half of the time.
    case halves
    /// Learned on the whole drive, used on the way back, on the other side of the street.
    case back

    var name: String {
      switch self {
      case .blocks(let seconds): "blocks-\(Int(seconds))"
      case .halves: "halves"
      case .back: "back"
      }
    }
  }

  struct Score {
    /// Error in m, and whether it is within the stated radii.
    var errors: [(error: Double, in68: Bool, in95: Bool)] = []

    mutating func add(_ error: Double, _ radius68: Double?, _ radius95: Double) {
      errors.append((error, radius68.map { error <= $0 } ?? false, error <= radius95))
    }

    func percentile(_ share: Double) -> Double {
      let sorted = errors.map(\.error).sorted()
      return sorted.isEmpty ? .nan : sorted[Int((Double(sorted.count - 1) * share).rounded())]
    }

    func share(_ inside: KeyPath<(error: Double, in68: Bool, in95: Bool), Bool>) -> Double {
      Double(errors.count { $0[keyPath: inside] }) / Double(max(1, errors.count))
    }
  }

  struct Result {
    var (locator, tracked, centroid, exact) = (Score(), Score(), Score(), Score())
    /// Scans far from all learned positions, and how many of them have a position.
    var fringe = (scans: 0, positions: 0)
    /// Scans used, their sightings, and beacons of the map.
    var (scans, sightings, mapped) = (0, 0, 0)
    var nanosecondsPerPosition = 0.0
    var density = 0.0
  }

  /// Interval of scans in s, distance between learned scans in m; deviation and stated 68 % accuracy of fixes in m; day numbers.
  private static let (interval, spacing, fixError, fixAccuracy) = (5.0, 10.0, 4.0, 6.0)
  private static let (learned, used) = (20_000, 20_030)
  /// Metres: distance from learned positions that counts as far, and between the two sides of a street.
  private static let (far, street) = (100.0, 8.0)

  func run() -> Result {
    let city = City(around: drive, model, seed: seed)
    var random = SeededGenerator(seed: seed, stream: 2)
    var table = BeaconTable()
    var last: SIMD2<Double>?
    var learnedPlaces: [SIMD2<Double>] = []
    for time in stride(from: Self.interval, to: drive.duration, by: Self.interval) where isLearned(time) {
      let place = drive.place(at: time)
      if let last, ((place - last) * (place - last)).sum() < Self.spacing * Self.spacing { continue }
      last = place
      learnedPlaces.append(place)
      let scan = city.scan(at: time, of: drive, isLater: false, &random)
      let fix = place + Self.fixError * SIMD2(random.nextNormal(), random.nextNormal())
      table.learn(
        scan, at: drive.frame.coordinate(at: fix), accuracy: Self.fixAccuracy, day: Self.learned)
    }
    return use(table, city, learnedPlaces, &random)
  }

  private func isLearned(_ time: Double) -> Bool {
    switch split {
    case .blocks(let seconds): Int(time / seconds) % 2 == 0
    case .halves: time < drive.duration / 2
    case .back: true
    }
  }

  private func use(
    _ table: BeaconTable, _ city: City, _ learnedPlaces: [SIMD2<Double>], _ random: inout SeededGenerator
  ) -> Result {
    let drive = split == .back ? drive.returning(beside: Self.street) : drive
    let exactMap = city.exactMap(of: Set(table.learned.keys), in: drive.frame, day: Self.used)
    var result = Result()
    result.mapped = table.learned.values.count { $0.mapped != nil }
    result.density = Double(model.beacons) / city.areaInSquareKilometres
    let locator = CoarseLocator()
    var tracker = CoarseTracker(mobility: .vehicle)
    var nanoseconds: Int64 = 0
    for time in stride(from: Self.interval, to: drive.duration, by: Self.interval)
    where split == .back || !isLearned(time) {
      let scan = city.scan(at: time, of: drive, isLater: true, &random)
      let here = drive.place(at: time)
      let truth = drive.frame.coordinate(at: here)
      result.scans += 1
      result.sightings += scan.sightings.count
      let begin = processorNanoseconds()
      let found = locator.position(of: scan, by: table, day: Self.used)
      nanoseconds += processorNanoseconds() - begin
      if learnedPlaces.allSatisfy({ (($0 - here) * ($0 - here)).sum() > Self.far * Self.far }) {
        result.fringe.scans += 1
        result.fringe.positions += found == nil ? 0 : 1
      }
      if let exact = locator.position(of: scan, by: exactMap, day: Self.used) {
        result.exact.add(exact.coordinate.distance(to: truth), exact.horizontalAccuracy, exact.radius95)
      }
      if let found {
        result.locator.add(
          found.coordinate.distance(to: truth), found.horizontalAccuracy, found.radius95)
        let smooth = tracker.process(found, isAtRest: false)
        result.tracked.add(
          smooth.coordinate.distance(to: truth), smooth.horizontalAccuracy, smooth.radius95)
      }
      if let (place, radius) = Centroid.position(of: scan, by: table) {
        result.centroid.add(place.distance(to: truth), nil, radius)
      }
    }
    result.nanosecondsPerPosition = Double(nanoseconds) / Double(max(1, result.scans))
    return result
  }

  private func processorNanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
