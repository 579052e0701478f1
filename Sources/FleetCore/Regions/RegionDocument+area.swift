internal import Spatial
internal import Telemetry

extension RegionDocument.Feature {
  /// What it encloses on the earth.
  /// - Throws: `JSONError` saying what is wrong with its geometry.
  func area() throws(JSONError) -> Area {
    let coordinates = json["geometry"]?["coordinates"] ?? .array([])
    switch json["geometry"]?["type"]?.string {
    case "Point":
      guard let radius = json["properties"]?["radius"]?.double,
        let circle = Circle(center: try Self.coordinate(coordinates), radius: radius)
      else { throw JSONError("its radius is not above 0 and below \(Int(Circle.largestRadius)) m") }
      return .circle(circle)
    case "Polygon": return .polygon(try Self.polygon([coordinates]))
    default: return .polygon(try Self.polygon(coordinates.array ?? []))
    }
  }

  private static func polygon(_ parts: [JSONValue]) throws(JSONError) -> Polygon {
    var rings: [[[Coordinate]]] = []
    for part in parts {
      var own: [[Coordinate]] = []
      for ring in part.array ?? [] {
        var corners: [Coordinate] = []
        for position in ring.array ?? [] { corners.append(try coordinate(position)) }
        own.append(corners)
      }
      rings.append(own)
    }
    do throws(PolygonError) { return try Polygon(parts: rings) } catch {
      throw JSONError(error.description)
    }
  }

  private static func coordinate(_ json: JSONValue) throws(JSONError) -> Coordinate {
    guard let numbers = json.array, numbers.count >= 2, let longitude = numbers[0].double,
      let latitude = numbers[1].double
    else { throw JSONError("it has a corner that is not [longitude, latitude]") }
    return Coordinate(latitude: latitude, longitude: longitude)
  }
}
