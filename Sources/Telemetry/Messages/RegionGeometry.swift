package import JSON
package import Spatial

/// Geometry of a region in GeoJSON (RFC 7946). All documents with regions use this parser.
package enum RegionGeometry: Hashable, Sendable {
  case point(Coordinate)
  /// Rings of each part, as in the document: the last corner may repeat the first.
  case polygon([[[Coordinate]]])

  package enum Strictness: Hashable, Sendable {
    /// Invalid geometry is an error.
    case strict
    /// For display only: invalid corners, and rings with fewer than three, are omitted.
    case lenient
  }

  /// - Throws: `JSONError` with the path inside the feature.
  package init(_ geometry: JSONValue?, _ strictness: Strictness = .strict) throws(JSONError) {
    guard let geometry, geometry != .null else {
      throw JSONError("key \"geometry\": missing; give a Polygon, a MultiPolygon, or a Point with a radius")
    }
    let path = "geometry.coordinates"
    let coordinates = geometry["coordinates"]
    switch geometry["type"]?.string {
    case "Point":
      guard let coordinates else { throw JSONError("key \"\(path)\": missing") }
      self = .point(try Self.coordinate(coordinates, path))
    case "Polygon": self = .polygon([try Self.rings(coordinates, path, strictness)])
    case "MultiPolygon":
      var parts: [[[Coordinate]]] = []
      for (index, part) in try Self.elements(coordinates, path).enumerated() {
        parts.append(try Self.rings(part, "\(path)[\(index)]", strictness))
      }
      self = .polygon(parts)
    case let other:
      throw JSONError(
        "key \"geometry.type\": \"\(other?.prefix(40) ?? "")\" is not Point (with a radius), Polygon or MultiPolygon"
      )
    }
  }

  /// Checks the length of an identifier, which is used in messages, in topics of other formats and in stored
  /// regions.
  /// - Throws: `JSONError` for more than 64 bytes of UTF-8.
  package static func check(identifier: String) throws(JSONError) {
    guard identifier.utf8.count <= 64 else {
      throw JSONError("its identifier is longer than 64 bytes; shorten it")
    }
  }

  /// Returns whether a feature can be a region, which is the case unless its geometry is a line.
  package static func isRegion(_ feature: JSONValue) -> Bool {
    guard let geometry = feature["geometry"], geometry != .null else { return false }
    return !["LineString", "MultiLineString", "MultiPoint", "GeometryCollection"].contains(
      geometry["type"]?.string)
  }

  /// Checks that a document is in WGS 84, longitude first, the only reference system of GeoJSON. Files of the
  /// 2008 version can name another reference system, in which the coordinates have another meaning.
  /// - Throws: `JSONError` that names the reference system.
  package static func checkReferenceSystem(of document: JSONValue) throws(JSONError) {
    guard let system = document["crs"], system != .null else { return }
    let name = system["properties"]?["name"]?.string
    let code = name?.uppercased().split(separator: ":").last
    guard let code, ["4326", "4979", "CRS84", "CRS84H", "WGS84"].contains(code) else {
      throw JSONError(
        "key \"crs\": \"\(name?.prefix(80) ?? "")\" is not WGS 84; convert the file, as with ogr2ogr -t_srs EPSG:4326"
      )
    }
  }

  /// Returns the display name of a feature; nil if it has none.
  package static func name(of feature: JSONValue) -> String? {
    // ogr2ogr writes `Name` for KML.
    ["name", "Name", "NAME"].lazy.compactMap { feature["properties"]?[$0]?.string }.first { !$0.isEmpty }
  }

  /// Returns the identifier of a feature: its `id`, or `id` or `identifier` of its properties. An identifier
  /// can also be a number.
  /// - Parameter acceptsName: true to accept the display name as identifier, because external files often
  ///   have no other.
  package static func identifier(of feature: JSONValue, acceptsName: Bool = false) -> String? {
    let properties = feature["properties"]
    let name = acceptsName ? Self.name(of: feature).map { JSONValue.string($0) } : nil
    for value in [feature["id"], properties?["id"], properties?["identifier"], name] {
      switch value {
      case .string(let text) where !text.isEmpty: return text
      case .integer(let number): return String(number)
      default: continue
      }
    }
    return nil
  }

  private static func rings(
    _ value: JSONValue?, _ path: String, _ strictness: Strictness
  ) throws(JSONError) -> [[Coordinate]] {
    var rings: [[Coordinate]] = []
    for (index, ring) in try elements(value, path).enumerated() {
      var corners: [Coordinate] = []
      for (corner, position) in try elements(ring, "\(path)[\(index)]").enumerated() {
        do throws(JSONError) {
          corners.append(try coordinate(position, "\(path)[\(index)][\(corner)]"))
        } catch {
          if strictness == .strict { throw error }
        }
      }
      if strictness == .strict || corners.count > 2 { rings.append(corners) }
    }
    return rings
  }

  private static func elements(_ value: JSONValue?, _ path: String) throws(JSONError) -> [JSONValue] {
    guard let array = value?.array else { throw JSONError("key \"\(path)\": missing or not an array") }
    return array
  }

  private static func coordinate(_ value: JSONValue, _ path: String) throws(JSONError) -> Coordinate {
    guard let numbers = value.array, numbers.count >= 2, let longitude = numbers[0].double,
      let latitude = numbers[1].double
    else { throw JSONError("key \"\(path)\": not a position; write [longitude, latitude]") }
    let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    guard coordinate.isValid else {
      throw JSONError(
        "key \"\(path)\": [\(longitude), \(latitude)] has invalid coordinates; write [longitude, latitude]")
    }
    return coordinate
  }
}
