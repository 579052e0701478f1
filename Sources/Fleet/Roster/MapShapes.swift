package import JSON
package import Spatial
internal import Telemetry

/// The outline of a region, for drawing and for comparison with other regions.
package struct RegionShape: Hashable, Sendable {
  package enum Outline: Hashable, Sendable {
    /// A circle with its radius in metres.
    case circle(Coordinate, radius: Double)
    /// The closed rings of all polygons of the region, including holes.
    case rings([[Coordinate]])
  }

  package var identifier: String
  package var outline: Outline

  /// The maximum number of regions that are decoded.
  package static let largestCount = 256
  /// The maximum number of corners of all decoded regions together.
  static let mostCorners = 20_000

  /// Returns the regions of a GeoJSON FeatureCollection. A feature that cannot be drawn is omitted, because
  /// the result is only displayed.
  package static func regions(inGeoJSON json: JSONValue) -> [RegionShape] {
    var corners = 0
    var shapes: [RegionShape] = []
    for feature in json["features"]?.array ?? [] where shapes.count < largestCount {
      let identifier =
        RegionGeometry.identifier(of: feature, acceptsName: true) ?? "\(shapes.count + 1)"
      switch try? RegionGeometry(feature["geometry"], .lenient) {
      case .point(let center):
        guard let radius = feature["properties"]?["radius"]?.double ?? feature["radius"]?.double, radius > 0,
          radius < 1e7
        else { continue }
        shapes.append(RegionShape(identifier: identifier, outline: .circle(center, radius: radius)))
      case .polygon(let parts):
        let rings = Array(parts.joined())
        corners += rings.reduce(0) { $0 + $1.count }
        guard corners <= mostCorners, !rings.isEmpty else { continue }
        shapes.append(RegionShape(identifier: identifier, outline: .rings(rings)))
      case nil: continue
      }
    }
    return shapes
  }

  /// The outline as closed lines, for drawing; a circle is drawn with 36 corners.
  package var lines: [[Coordinate]] {
    switch outline {
    case .rings(let rings): return rings.map { $0 + $0.prefix(1) }
    case .circle(let center, let radius):
      return [(0...36).map { center.destination(distance: radius, bearing: Double($0) * 10) }]
    }
  }
}

/// The recent track of a vehicle for a map, simplified to points some metres apart. It needs at most a
/// kilobyte.
package struct Trail: Hashable, Sendable {
  package static let capacity = 96
  /// The minimum distance between two points in units of 1e-7 degrees (a centimetre); 450 units are 5 m.
  private static let step: Int32 = 450

  /// Latitudes and longitudes in units of 1e-7 degrees, in a ring buffer.
  private var points: [SIMD2<Int32>] = []
  private var next = 0

  package init() {}

  package mutating func append(_ coordinate: Coordinate) {
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

  /// The points of the track, oldest first.
  package var coordinates: [Coordinate] {
    points.indices.map { index in
      let point = points[(next + index) % points.count]
      return Coordinate(latitude: Double(point.x) * 1e-7, longitude: Double(point.y) * 1e-7)
    }
  }
}
