package import Fleet
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// A builder of the fleet's beacon map from the vehicles' scans. A value type without I/O.
///
/// The positions of beacons are learned for each vehicle separately, with the algorithm that vehicles use for
/// their own maps. Then the vehicles vote: a beacon is at a position if more than half of the vehicles that
/// received it agree. The map contains the median of the agreeing positions. Two correct vehicles that
/// received a beacon outvote a third, faulty or malicious one.
package struct BeaconMapBuilder {
  package struct Requirements: Hashable, Sendable {
    /// The minimum number of vehicles that agree on a beacon's position.
    package var vehicles = 1
    /// The minimum number of the agreeing vehicles' sightings of a beacon, in total.
    package var sightings = 2

    package init(vehicles: Int = 1, sightings: Int = 2) {
      (self.vehicles, self.sightings) = (vehicles, sightings)
    }
  }

  /// Statistics of the input.
  package struct Counts: Hashable, Sendable {
    package var scans = 0
    /// The number of scans with an implausible time: in the future, or long before their arrival.
    package var misdated = 0
    package var vehicles = 0
    /// The number of different beacons in the scans.
    package var heard = 0
    /// The number of beacons without an agreed position.
    package var disputed = 0
    /// The number of beacons with fewer vehicles or sightings than required.
    package var rare = 0
  }

  package init() {}

  private var known: [Beacon: [Int: LearnedBeacon]] = [:]
  private var vehicles: [VehicleKey: Int] = [:]
  package private(set) var counts = Counts()
  /// The beacons without an agreed position, as of the last call of `map(_:)`.
  private(set) var disputed: Set<Beacon> = []

  /// The plausible range of a scan's time in s relative to the arrival of its message: at most `ahead` later,
  /// at most `behind` earlier.
  private static let (ahead, behind) = (86_400.0, 400 * 86_400.0)

  /// Adds the scans of a message.
  ///
  /// - Parameter received: the message's arrival by the recorder's clock.
  package mutating func add(_ message: ScanMessage, from vehicle: VehicleKey, received: UTCTime) {
    let number = vehicles[vehicle] ?? vehicles.count
    vehicles[vehicle] = number
    counts.vehicles = vehicles.count
    for scan in message.scans {
      counts.scans += 1
      guard Self.isDated(scan, received: received) else {
        counts.misdated += 1
        continue
      }
      let beacons = scan.sightings.map(\.beacon)
      let before = Dictionary(
        beacons.compactMap { beacon in known[beacon]?[number].map { (beacon, $0) } }
      ) { first, _ in first }
      let changes = BeaconLearner.learn(
        RadioScan(timestamp: Timestamp(nanoseconds: 0), sightings: scan.sightings), at: scan.coordinate,
        accuracy: scan.accuracy, day: Int(scan.time.nanoseconds / 86_400_000_000_000), known: before)
      for (beacon, change) in changes { known[beacon, default: [:]][number] = change }
    }
  }

  /// Returns whether a scan has a plausible time.
  static func isDated(_ scan: ScanMessage.Scan, received: UTCTime) -> Bool {
    (-behind...ahead).contains(scan.time.seconds(since: received))
  }

  /// Returns the map, sorted by the beacons' identity.
  package mutating func map(_ requirements: Requirements) -> [FleetBeacon] {
    (counts.heard, counts.disputed, counts.rare) = (0, 0, 0)
    disputed = []
    var map: [FleetBeacon] = []
    for (beacon, words) in known.sorted(by: { $0.key < $1.key }) where !words.isEmpty {
      counts.heard += 1
      guard let agreed = Self.agreement(on: beacon, Array(words.values)) else {
        counts.disputed += 1
        disputed.insert(beacon)
        continue
      }
      guard agreed.vehicles >= requirements.vehicles, agreed.place.sightings >= requirements.sightings else {
        counts.rare += 1
        continue
      }
      map.append(agreed)
    }
    return map
  }

  /// Returns the position on which more than half of the vehicles agree; nil without such a majority, or if
  /// the beacon moves.
  private static func agreement(on beacon: Beacon, _ words: [LearnedBeacon]) -> FleetBeacon? {
    let votes = words.compactMap(\.mapped)
    var best: [MappedBeacon] = []
    // Of hundreds of vehicles, the first 64 suffice to find the position of the majority.
    for vote in votes.prefix(64) {
      let same = votes.filter {
        $0.coordinate.distance(to: vote.coordinate) <= farthest(beacon.technology)
      }
      if same.count > best.count { best = same }
    }
    guard !best.isEmpty, 2 * best.count > words.count else { return nil }
    // Longitudes are relative to the first position, because differences are continuous at the antimeridian.
    let origin = best[0].coordinate.longitude
    let longitude = origin + median(best.map { signedDegrees(from: origin, to: $0.coordinate.longitude) })
    let place = MappedBeacon(
      beacon: beacon,
      coordinate: Coordinate(
        latitude: median(best.map(\.coordinate.latitude)), longitude: signedDegrees(from: 0, to: longitude)),
      reach: median(best.map(\.reach)), sightings: min(65_535, best.reduce(0) { $0 + $1.sightings }),
      lastSeen: best.map(\.lastSeen).max() ?? 0)
    return place.isSound ? FleetBeacon(place: place, vehicles: best.count) : nil
  }

  /// Returns the maximum distance in m between two vehicles' positions of a beacon that count as agreement.
  private static func farthest(_ technology: Beacon.Technology) -> Double {
    technology.isCell ? 10_000 : 300
  }

  private static func median(_ numbers: [Double]) -> Double {
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}
