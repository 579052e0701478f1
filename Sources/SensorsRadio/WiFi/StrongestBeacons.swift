internal import Sensors

/// The access points of a scan, each once. Their number is unbounded, so only the strongest are retained.
struct StrongestBeacons: Sendable {
  /// The maximum number of beacons in a scan.
  static let limit = 128
  private var heard: [Beacon: BeaconSighting] = [:]
  /// Access points that opted out of mapping, up to the limit.
  private(set) var optedOut: Set<Beacon> = []

  mutating func insert(optedOut beacon: Beacon) {
    if optedOut.count < Self.limit { optedOut.insert(beacon) }
  }

  /// Adds a sighting. If there are two sightings of one beacon, the later is used.
  mutating func insert(_ sighting: BeaconSighting) {
    if let known = heard[sighting.beacon], known.age <= sighting.age { return }
    heard[sighting.beacon] = sighting
    if heard.count >= 4 * Self.limit {
      heard = Dictionary(uniqueKeysWithValues: strongest.map { ($0.beacon, $0) })
    }
  }

  /// The beacons up to the limit, strongest first.
  var strongest: [BeaconSighting] {
    let ordered = heard.values.sorted {
      ($0.signal ?? -.infinity, $1.beacon) > ($1.signal ?? -.infinity, $0.beacon)
    }
    return Array(ordered.prefix(Self.limit))
  }
}
