package import JSON
package import Spatial
internal import Telemetry

/// The outline of a region, as far as it is drawn and compared.
package struct RegionShape: Hashable, Sendable {
  package enum Outline: Hashable, Sendable {
    /// The radius in metres.
    case circle(Coordinate, radius: Double)
    /// Rings of coordinates, of all its parts, holes included; each closed.
    case rings([[Coordinate]])
  }

  package var identifier: String
  package var outline: Outline

  /// Regions and corners that are read at most.
  package static let largestCount = 256
  static let mostCorners = 20_000

  /// The regions of a GeoJSON FeatureCollection. What cannot be drawn is left out: this is for showing, not for judging.
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

  /// The outline as closed lines; a circle as 36 corners.
  package var lines: [[Coordinate]] {
    switch outline {
    case .rings(let rings): return rings.map { $0 + $0.prefix(1) }
    case .circle(let center, let radius):
      return [(0...36).map { center.destination(distance: radius, bearing: Double($0) * 10) }]
    }
  }
}
