internal import Sensors

extension RadioScan {
  /// Maximum number of sightings used; more add no information.
  static let mostUseful = 128
  /// Maximum number of sightings examined.
  private static let mostSeen = 4096
  /// Age in s after which a sighting belongs to another position.
  private static let longestAge = 60.0

  /// The valid sightings, the strongest first; of several sightings of a beacon only one.
  var useful: [BeaconSighting] {
    let sound = sightings.prefix(Self.mostSeen).filter {
      $0.age.isFinite && (0...Self.longestAge).contains($0.age)
    }
    var strongest: [Beacon: BeaconSighting] = [:]
    for sighting in sound
    where strongest[sighting.beacon].map({ $0.comparableSignal < sighting.comparableSignal }) ?? true {
      strongest[sighting.beacon] = sighting
    }
    let sorted = strongest.values.sorted {
      ($1.comparableSignal, $0.beacon) < ($0.comparableSignal, $1.beacon)
    }
    return Array(sorted.prefix(Self.mostUseful))
  }
}

extension BeaconSighting {
  /// Signal in dBm; nil if unknown or invalid.
  var soundSignal: Double? { signal.flatMap { MappedBeacon.signals.contains($0) ? $0 : nil } }

  /// Signal in dBm for sorting. Unknown and invalid signals count as the weakest.
  fileprivate var comparableSignal: Double {
    signal.map { $0.isFinite ? $0 : -.infinity } ?? -.infinity
  }
}
