package import Pipeline
internal import Positioning
internal import Sensors
package import Spatial
package import Telemetry

/// Combines scans into messages. They are not urgent, and one message for eight scans saves radio use.
package struct ScanBatch: Sendable {
  private var scans: [ScanMessage.Scan] = []
  private var since: Timestamp?

  /// Maximum number of scans in a message; `maxWait` is the maximum time in s that the first scan waits.
  package static let capacity = 8
  static let maxWait = 1800.0

  package init() {}

  package mutating func append(_ learnable: LearnableScan, at now: Timestamp) {
    // A fix with an accuracy below a metre is published with one metre.
    guard
      let scan = ScanMessage.Scan(
        time: learnable.time, coordinate: learnable.coordinate, accuracy: learnable.accuracy,
        sightings: learnable.scan.sightings.filter { $0.age <= BeaconLearner.longestAge })
    else { return }
    scans.append(scan)
    since = since ?? now
  }

  /// Removes beacons that must not be on maps.
  mutating func drop(_ beacons: [Beacon]) {
    scans = scans.compactMap { $0.without(beacons) }
    if scans.isEmpty { since = nil }
  }

  /// Returns the message if it is due.
  /// - Parameter isShown: returns whether a position may still be published. Other scans are dropped: a privacy zone may
  ///   have been added while they waited.
  package mutating func due(at now: Timestamp, isShown: (Coordinate) -> Bool) -> ScanMessage? {
    guard let since, scans.count >= Self.capacity || now.seconds(since: since) >= Self.maxWait else {
      return nil
    }
    return drain(isShown: isShown)
  }

  /// Returns the remaining scans before a stop.
  package mutating func drain(isShown: (Coordinate) -> Bool) -> ScanMessage? {
    defer { (scans, since) = ([], nil) }
    let shown = scans.filter { isShown($0.coordinate) }
    return shown.isEmpty ? nil : ScanMessage(scans: shown)
  }
}
