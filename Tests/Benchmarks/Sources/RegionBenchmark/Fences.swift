import Foundation
import Spatial

/// Polygons and positions, identical for all engines.
struct Fences {
  static let vertexCount = 32
  /// Degrees: an area of 220 km by 220 km.
  static let latitudes = 47.0...49.0
  static let longitudes = 10.0...13.0

  var polygons: [[Coordinate]] = []
  var positions: [Coordinate] = []

  /// - Parameters:
  ///   - count: number of polygons, spread evenly. Their radius is such that a position is inside 0.7 of them on average, independent of
  /// the count.
  ///   - positions: number of positions.
  init(count: Int, positions: Int) {
    var random = SplitMix(state: 42)
    let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11.5))
    let corner = frame.offset(
      of: Coordinate(latitude: Self.latitudes.upperBound, longitude: Self.longitudes.upperBound))
    let radius = (4 * corner.x * corner.y / Double(count) * 0.7 / Double.pi / 0.82).squareRoot()
    polygons = (0..<count).map { _ in
      let center = LocalFrame(origin: random.coordinate())
      return (0..<Self.vertexCount).map { vertex in
        let angle = 2 * Double.pi * Double(vertex) / Double(Self.vertexCount)
        return center.coordinate(
          at: SIMD2(cos(angle), sin(angle)) * radius * Double.random(in: 0.8...1, using: &random))
      }
    }
    self.positions = (0..<positions).map { _ in random.coordinate() }
  }
}

/// Reproducible random numbers.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  fileprivate mutating func coordinate() -> Coordinate {
    Coordinate(
      latitude: Double.random(in: Fences.latitudes, using: &self),
      longitude: Double.random(in: Fences.longitudes, using: &self))
  }
}
