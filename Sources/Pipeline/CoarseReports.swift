package import Sensors
package import Spatial

/// A scan beside a good fix, from which the map of beacons is learned: not in a privacy zone, and not of a position that is contradicted.
package struct LearnableScan: Hashable, Sendable {
  package var scan: RadioScan
  package var coordinate: Coordinate
  /// Metres at 68 %, at most 30.
  package var accuracy: Double
  package var time: UTCTime

  package init(scan: RadioScan, coordinate: Coordinate, accuracy: Double, time: UTCTime) {
    self.scan = scan
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.time = time
  }
}

extension AgentPipeline {
  package mutating func drainLearnable() -> [LearnableScan] { [] }
}
