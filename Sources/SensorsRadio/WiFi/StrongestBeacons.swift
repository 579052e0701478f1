internal import Sensors

/// What a scan has heard, each beacon once, and of a crowd the strongest: what there is to hear bounds nothing.
struct StrongestBeacons: Sendable {
  /// Beacons that a scan tells at the most.
  static let limit = 128
  private var heard: [Beacon: BeaconSighting] = [:]
  /// Those that are not to be on maps, of a crowd some.
  private(set) var optedOut: Set<Beacon> = []

  mutating func insert(optedOut beacon: Beacon) {
    if optedOut.count < Self.limit { optedOut.insert(beacon) }
  }

  /// Takes a sighting; of two of one beacon the later counts.
  mutating func insert(_ sighting: BeaconSighting) {
    if let known = heard[sighting.beacon], known.age <= sighting.age { return }
    heard[sighting.beacon] = sighting
    if heard.count >= 4 * Self.limit {
      heard = Dictionary(uniqueKeysWithValues: strongest.map { ($0.beacon, $0) })
    }
  }

  /// Those that count, strongest first.
  var strongest: [BeaconSighting] {
    let ordered = heard.values.sorted {
      ($0.signal ?? -.infinity, $1.beacon) > ($1.signal ?? -.infinity, $0.beacon)
    }
    return Array(ordered.prefix(Self.limit))
  }
}
