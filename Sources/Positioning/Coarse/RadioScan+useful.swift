internal import Sensors

extension RadioScan {
  /// Sightings of a scan that are used at most: more say nothing new.
  static let mostUseful = 128
  /// Sightings that are looked at at all.
  private static let mostSeen = 4096
  /// Seconds after which a sighting is of another place.
  private static let longestAge = 60.0

  /// The sightings that can be true, each beacon once, the strongest first.
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
  /// dBm; nil where the radio does not tell, or nothing that can be true.
  var soundSignal: Double? { signal.flatMap { PathLoss.signals.contains($0) ? $0 : nil } }

  /// dBm; what is not known, or impossible, is weaker than all else.
  fileprivate var comparableSignal: Double {
    signal.map { $0.isFinite ? $0 : -.infinity } ?? -.infinity
  }
}
