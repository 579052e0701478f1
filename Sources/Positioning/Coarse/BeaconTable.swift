public import Sensors

/// A map of beacons in memory.
public struct BeaconTable: BeaconMap {
  private let places: [Beacon: MappedBeacon]

  /// - Parameter beacons: entries in any order. If a beacon has several entries, the last one is used.
  public init(_ beacons: some Sequence<MappedBeacon>) {
    places = Dictionary(beacons.lazy.map { ($0.beacon, $0) }, uniquingKeysWith: { $1 })
  }

  public func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { beacons.compactMap { places[$0] } }
}
