internal import Fleet
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// Makes the fleet's map of what vehicles have shared. A value without I/O.
///
/// What each vehicle says is learned for itself, as the vehicle would. Then vehicles vote: a transmitter stands where more than half of those
/// that have heard it say so, at the median of what these say. So one that lies, or whose receiver does, is outvoted wherever two others were.
struct BeaconMapBuilder {
  struct Requirements: Hashable, Sendable {
    /// Vehicles that must agree.
    var vehicles = 1
    /// Sightings of these together.
    var sightings = 2
  }

  /// What became of what was heard.
  struct Counts: Hashable, Sendable {
    var scans = 0
    /// That tell of a time that was not yet, or long ago, when they came.
    var misdated = 0
    var vehicles = 0
    /// Transmitters heard.
    var heard = 0
    /// Of these, such as stand nowhere, and such as too little is known of.
    var disputed = 0
    var rare = 0
  }

  private var known: [Beacon: [Int: LearnedBeacon]] = [:]
  private var vehicles: [VehicleKey: Int] = [:]
  private(set) var counts = Counts()
  /// Transmitters of the last map that stand nowhere.
  private(set) var disputed: Set<Beacon> = []

  /// Seconds by which a scan may be ahead of its arrival, and behind.
  private static let (ahead, behind) = (86_400.0, 400 * 86_400.0)

  /// - Parameter received: by the recorder's clock.
  mutating func add(_ message: ScanMessage, from vehicle: VehicleKey, received: UTCTime) {
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

  /// Whether a scan tells of a time at which it can have been made.
  static func isDated(_ scan: ScanMessage.Scan, received: UTCTime) -> Bool {
    (-behind...ahead).contains(scan.time.seconds(since: received))
  }

  /// The map, in the order of identities.
  mutating func map(_ requirements: Requirements) -> [FleetBeacon] {
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

  /// Where more than half of the vehicles say that it is; nil where they do not, or it travels.
  private static func agreement(on beacon: Beacon, _ words: [LearnedBeacon]) -> FleetBeacon? {
    let votes = words.compactMap(\.mapped)
    var best: [MappedBeacon] = []
    // Of hundreds of vehicles the first are enough to find the place that most of them mean.
    for vote in votes.prefix(64) {
      let same = votes.filter {
        $0.coordinate.distance(to: vote.coordinate) <= farthest(beacon.technology)
      }
      if same.count > best.count { best = same }
    }
    guard !best.isEmpty, 2 * best.count > words.count else { return nil }
    // Near the date line longitudes have two ways to be told: as differences to one of them they have one.
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

  /// Metres between two places that may be meant as one.
  private static func farthest(_ technology: Beacon.Technology) -> Double {
    technology.isCell ? 10_000 : 300
  }

  private static func median(_ numbers: [Double]) -> Double {
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}
