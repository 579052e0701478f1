import Foundation
import Spatial
import TestSupport

/// A ring of vertices around a centre: distances in metres at evenly spaced bearings.
func ring(around center: Coordinate, _ distances: [Double]) -> [Coordinate] {
  distances.enumerated().map { index, distance in
    center.destination(distance: distance, bearing: 360 - 360 * Double(index) / Double(distances.count))
  }
}

/// Corners in degrees, as (longitude, latitude).
func ring(_ corners: (Double, Double)...) -> [Coordinate] {
  corners.map { Coordinate(latitude: $0.1, longitude: $0.0) }
}

extension SplitMix {
  /// A random coordinate: evenly distributed, near a pole, or near the antimeridian.
  mutating func coordinate() -> Coordinate {
    let latitude = asin(uniform(-1...1)).degrees
    switch Int(uniform(0...5.99)) {
    case 0: return Coordinate(latitude: 90 - abs(uniform(0...0.1)), longitude: uniform(-180...180))
    case 1: return Coordinate(latitude: -90 + abs(uniform(0...0.1)), longitude: uniform(-180...180))
    case 2:
      return Coordinate(latitude: latitude, longitude: signedDegrees(from: 0, to: 180 + uniform(-0.1...0.1)))
    default: return Coordinate(latitude: latitude, longitude: uniform(-180...180))
    }
  }
}
