internal import Pipeline
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// Collects scans into messages: nobody waits for one, and eight in a message spare the radio seven.
struct ScanBatch: Sendable {
  private var scans: [ScanMessage.Scan] = []
  private var since: Timestamp?

  /// Scans of a message, and seconds that the first waits at most.
  static let capacity = 8
  static let patience = 1800.0

  mutating func append(_ learnable: LearnableScan, at now: Timestamp) {
    // A fix that is better than a metre is told as one of a metre.
    guard
      let scan = ScanMessage.Scan(
        time: learnable.time, coordinate: learnable.coordinate, accuracy: learnable.accuracy,
        sightings: learnable.scan.sightings.filter { $0.age <= BeaconLearner.longestAge })
    else { return }
    scans.append(scan)
    since = since ?? now
  }

  /// Leaves out what is not to be on maps any more.
  mutating func drop(_ beacons: [Beacon]) {
    scans = scans.compactMap { scan in
      let others = scan.sightings.filter { !beacons.contains($0.beacon) }
      guard others.count < scan.sightings.count else { return scan }
      return ScanMessage.Scan(
        time: scan.time, coordinate: scan.coordinate, accuracy: scan.accuracy, sightings: others)
    }
    if scans.isEmpty { since = nil }
  }

  /// The message that is due.
  mutating func due(at now: Timestamp) -> ScanMessage? {
    guard let since, scans.count >= Self.capacity || now.seconds(since: since) >= Self.patience else {
      return nil
    }
    return drain()
  }

  /// What is there, before a stop.
  mutating func drain() -> ScanMessage? {
    defer { (scans, since) = ([], nil) }
    return scans.isEmpty ? nil : ScanMessage(scans: scans)
  }
}
