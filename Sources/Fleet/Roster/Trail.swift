package import Spatial

/// Where a vehicle has been of late, for a map: thinned to some metres, bounded, a kilobyte at most.
package struct Trail: Hashable, Sendable {
  static let capacity = 96
  /// Steps of 1e-7 degrees (a centimetre) by which the vehicle has to have moved to be noted: 5 m.
  private static let step: Int32 = 450

  /// Latitude and longitude in 1e-7 degrees, in a ring.
  private var points: [SIMD2<Int32>] = []
  private var next = 0

  mutating func append(_ coordinate: Coordinate) {
    guard coordinate.isValid else { return }
    let point = SIMD2(Int32(coordinate.latitude * 1e7), Int32(coordinate.longitude * 1e7))
    if let last {
      let north = abs(Int64(point.x) - Int64(last.x))
      let east = abs(Int64(point.y) - Int64(last.y))
      guard max(north, east) >= Int64(Self.step) else { return }
    }
    if points.count < Self.capacity {
      points.append(point)
    } else {
      points[next] = point
      next = (next + 1) % Self.capacity
    }
  }

  private var last: SIMD2<Int32>? {
    points.isEmpty ? nil : points[(next + points.count - 1) % points.count]
  }

  /// Oldest first.
  package var coordinates: [Coordinate] {
    points.indices.map { index in
      let point = points[(next + index) % points.count]
      return Coordinate(latitude: Double(point.x) * 1e-7, longitude: Double(point.y) * 1e-7)
    }
  }
}
