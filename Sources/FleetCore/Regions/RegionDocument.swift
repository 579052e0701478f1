internal import Spatial
internal import Telemetry

/// Regions as the wire has them: the features of a GeoJSON collection, each with an `id` of its own.
struct RegionDocument: Hashable, Sendable {
  struct Feature: Hashable, Sendable {
    var identifier: String
    /// The whole feature, what this version does not know included.
    var json: JSONValue

    /// What it looks like; nil for what cannot be drawn.
    var shape: RegionShape? {
      RegionShape.regions(inGeoJSON: .object(["features": .array([json])])).first
    }

    /// In a few words, as in `polygon, 12 corners`.
    var summary: String {
      switch shape?.outline {
      case .circle(let center, let radius):
        "circle of \(QuantityText.distance(radius)) around \(QuantityText.position(center))"
      case .rings(let rings):
        "polygon, \(rings.reduce(0) { $0 + Self.corners(of: $1) }) corners"
          + (rings.count > 1 ? " in \(rings.count) rings" : "")
      case nil: "unreadable"
      }
    }

    /// A ring that is closed ends where it began.
    private static func corners(of ring: [Coordinate]) -> Int {
      ring.count > 1 && ring.first == ring.last ? ring.count - 1 : ring.count
    }
  }

  /// In the order of the file.
  var features: [Feature] = []

  /// More than this is refused before it is sent.
  static let largestCount = 10_000

  subscript(identifier: String) -> Feature? { features.first { $0.identifier == identifier } }

  /// From what a broker keeps; features without a name are left out.
  init(kept json: JSONValue?) {
    for element in json?["features"]?.array ?? [] {
      guard let identifier = Self.identifier(of: element) else { continue }
      features.append(Feature(identifier: identifier, json: element))
    }
  }

  init() {}

  /// Takes a feature that somebody has written.
  /// - Throws: `JSONError` saying what is wrong with it.
  mutating func append(_ element: JSONValue) throws(JSONError) {
    guard let identifier = Self.identifier(of: element) else {
      throw JSONError("it has no name: give it an \"id\", or \"identifier\" or \"name\" among its properties")
    }
    guard identifier.utf8.count <= 128 else { throw JSONError("its name is longer than 128 bytes") }
    guard self[identifier] == nil else {
      throw JSONError("\"\(identifier)\" is there twice; names are unique")
    }
    guard case .object(var members) = element, let geometry = element["geometry"] else {
      throw JSONError("\"\(identifier)\" has no geometry")
    }
    members["type"] = .string("Feature")
    members["id"] = .string(identifier)
    members["geometry"] = try Self.checked(
      geometry, of: identifier, radius: element["properties"]?["radius"]?.double)
    if members["properties"] == nil { members["properties"] = .object([:]) }
    features.append(Feature(identifier: identifier, json: .object(members)))
  }

  /// The wire form.
  /// - Parameter version: the sender's name for it.
  func json(version: String) -> JSONValue {
    .object([
      "type": .string("FeatureCollection"), "version": .string(version),
      "features": .array(features.map(\.json)),
    ])
  }

  /// By the contract's rule; a GeoJSON from elsewhere often has a name only, which does as well.
  static func identifier(of feature: JSONValue) -> String? {
    let properties = feature["properties"]
    for value in [feature["id"], properties?["id"], properties?["identifier"], properties?["name"]] {
      switch value {
      case .string(let text) where !text.isEmpty: return text
      case .integer(let number): return String(number)
      default: continue
      }
    }
    return nil
  }

  // MARK: Geometry

  private static func checked(
    _ geometry: JSONValue, of name: String, radius: Double?
  ) throws(JSONError) -> JSONValue {
    let coordinates = geometry["coordinates"] ?? .array([])
    switch geometry["type"]?.string {
    case "Point":
      try check(position: coordinates, of: name)
      guard let radius, radius > 0, radius <= 1e6 else {
        throw JSONError(
          "point \"\(name)\" has no radius: give it \"radius\" in metres among its properties, or --radius")
      }
      return geometry
    case "Polygon":
      return .object(["type": .string("Polygon"), "coordinates": try rings(coordinates, of: name)])
    case "MultiPolygon":
      var parts: [JSONValue] = []
      for part in coordinates.array ?? [] { parts.append(try rings(part, of: name)) }
      guard !parts.isEmpty else { throw JSONError("\"\(name)\" has no polygon in it") }
      return .object(["type": .string("MultiPolygon"), "coordinates": .array(parts)])
    default:
      throw JSONError(
        "\"\(name)\" is a \(geometry["type"]?.string ?? "geometry without a type"); a region is a Polygon, a MultiPolygon, or a Point with a radius"
      )
    }
  }

  /// The rings of one polygon, closed where they were left open.
  private static func rings(_ json: JSONValue, of name: String) throws(JSONError) -> JSONValue {
    guard let rings = json.array, !rings.isEmpty else { throw JSONError("\"\(name)\" has no ring") }
    var closed: [JSONValue] = []
    for ring in rings {
      var positions = ring.array ?? []
      for position in positions { try check(position: position, of: name) }
      if let first = positions.first, positions.last != first { positions.append(first) }
      guard positions.count >= 4 else { throw JSONError("a ring of \"\(name)\" has less than three corners") }
      closed.append(.array(positions))
    }
    return .array(closed)
  }

  private static func check(position: JSONValue, of name: String) throws(JSONError) {
    guard let numbers = position.array, numbers.count >= 2, let longitude = numbers[0].double,
      let latitude = numbers[1].double, Coordinate(latitude: latitude, longitude: longitude).isValid
    else {
      throw JSONError(
        "\"\(name)\" has a corner that is not [longitude, latitude] in degrees: \(position.text.prefix(60))")
    }
  }
}
