internal import Spatial
internal import Telemetry

/// The outline of a region, as far as it is drawn and compared.
struct RegionShape: Hashable, Sendable {
  enum Outline: Hashable, Sendable {
    /// The radius in metres.
    case circle(Coordinate, radius: Double)
    /// Rings of coordinates, of all its parts, holes included; each closed.
    case rings([[Coordinate]])
  }

  var identifier: String
  var outline: Outline

  /// Regions and corners that are read at most.
  static let largestCount = 256
  static let mostCorners = 20_000

  /// The regions of a GeoJSON FeatureCollection. What cannot be drawn is left out: this is for showing, not for judging.
  static func regions(inGeoJSON json: JSONValue) -> [RegionShape] {
    var corners = 0
    var shapes: [RegionShape] = []
    for feature in json["features"]?.array ?? [] where shapes.count < largestCount {
      guard let geometry = feature["geometry"] else { continue }
      let properties = feature["properties"]
      let named = feature["id"]?.string ?? properties?["identifier"]?.string ?? properties?["name"]?.string
      let identifier = named ?? "\(shapes.count + 1)"
      switch geometry["type"]?.string {
      case "Point":
        guard let center = geometry["coordinates"].flatMap(coordinate),
          let radius = properties?["radius"]?.double ?? feature["radius"]?.double, radius > 0, radius < 1e7
        else { continue }
        shapes.append(RegionShape(identifier: identifier, outline: .circle(center, radius: radius)))
      case "Polygon", "MultiPolygon":
        let coordinates = geometry["coordinates"]?.array ?? []
        let isMulti = geometry["type"]?.string == "MultiPolygon"
        let rings = (isMulti ? coordinates.flatMap { $0.array ?? [] } : coordinates).map { ring in
          (ring.array ?? []).compactMap(coordinate)
        }.filter { $0.count > 2 }
        corners += rings.reduce(0) { $0 + $1.count }
        guard corners <= mostCorners, !rings.isEmpty else { continue }
        shapes.append(RegionShape(identifier: identifier, outline: .rings(rings)))
      default: continue
      }
    }
    return shapes
  }

  private static func coordinate(_ json: JSONValue) -> Coordinate? {
    guard let numbers = json.array, numbers.count >= 2, let longitude = numbers[0].double,
      let latitude = numbers[1].double
    else { return nil }
    let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    return coordinate.isValid ? coordinate : nil
  }

  /// The outline as closed lines; a circle as 36 corners.
  var lines: [[Coordinate]] {
    switch outline {
    case .rings(let rings): return rings.map { $0 + $0.prefix(1) }
    case .circle(let center, let radius):
      return [(0...36).map { center.destination(distance: radius, bearing: Double($0) * 10) }]
    }
  }
}
