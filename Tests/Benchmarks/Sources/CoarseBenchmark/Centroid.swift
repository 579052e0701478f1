import Foundation
import Positioning
import Sensors
import Spatial

/// The weighted centroid as calculated by location services (ichnaea, `api/locate/mac.py`): of the largest group of at least two networks
/// within 500 m of each other, the least squares of distances over the squared signal, which is the mean weighted by the inverse fourth
/// power of the signal in dBm. Its accuracy is the 95th percentile of the networks' distances from the centroid.
enum Centroid {
  /// Metres: diameter of a group, and best accuracy.
  private static let (diameter, leastAccuracy) = (500.0, 10.0)

  static func position(
    of scan: RadioScan, by map: BeaconTable
  ) -> (place: Coordinate, radius: Double)? {
    let places = Dictionary(
      map.lookUp(scan.sightings.map(\.beacon)).map { ($0.beacon, $0.coordinate) },
      uniquingKeysWith: { $1 })
    let known = scan.sightings.compactMap { sighting in
      places[sighting.beacon].map { (place: $0, signal: sighting.signal ?? -100) }
    }
    guard let first = known.first else { return nil }
    let frame = LocalFrame(origin: first.place)
    let points = known.map { (place: frame.offset(of: $0.place), weight: pow($0.signal, -4)) }
    guard let group = largestGroup(points), group.count > 1 else { return nil }
    let total = group.reduce(0) { $0 + $1.weight }
    let centre = group.reduce(SIMD2<Double>()) { $0 + $1.weight * $1.place } / total
    let distances = group.map { (($0.place - centre) * ($0.place - centre)).sum().squareRoot() }.sorted()
    let radius = distances[Int((Double(distances.count - 1) * 0.95).rounded())]
    return (frame.coordinate(at: centre), max(leastAccuracy, radius))
  }

  /// The largest set of points within half of the diameter of one of them.
  private static func largestGroup(
    _ points: [(place: SIMD2<Double>, weight: Double)]
  ) -> [(place: SIMD2<Double>, weight: Double)]? {
    points.map { middle in
      points.filter {
        (($0.place - middle.place) * ($0.place - middle.place)).sum().squareRoot() <= diameter / 2
      }
    }.max { $0.count < $1.count }
  }
}

/// A beacon map in memory.
struct BeaconTable: BeaconMap {
  var learned: [Beacon: LearnedBeacon] = [:]

  func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { beacons.compactMap { learned[$0]?.mapped } }

  mutating func learn(_ scan: RadioScan, at place: Coordinate, accuracy: Double, day: Int) {
    let known = Dictionary(
      scan.sightings.compactMap { sighting in learned[sighting.beacon].map { (sighting.beacon, $0) } },
      uniquingKeysWith: { $1 })
    for (beacon, change) in BeaconLearner.learn(scan, at: place, accuracy: accuracy, day: day, known: known) {
      learned[beacon] = change
    }
  }
}
