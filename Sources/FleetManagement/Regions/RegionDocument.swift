package import Fleet
package import JSON
package import Spatial
internal import Telemetry
internal import VehicleData

/// A document of regions in the wire format: the features of a GeoJSON collection, each with a unique `id`.
package struct RegionDocument: Hashable, Sendable {
  package struct Feature: Hashable, Sendable {
    package var identifier: String
    /// The whole feature, including unknown members.
    package var json: JSONValue

    /// The outline for drawing; nil if it cannot be drawn.
    package var shape: RegionShape? {
      RegionShape.regions(inGeoJSON: .object(["features": .array([json])])).first
    }

    /// Returns the area that the region covers.
    /// - Throws: `JSONError` with the reason why the feature is not a region.
    package func area() throws(JSONError) -> Area {
      let region = try Region(feature: json)
      do throws(RegionError) { return try region.area() } catch { throw JSONError("\(error)") }
    }
  }

  /// The features in the order of the file.
  package var features: [Feature] = []

  /// The names that occurred more than once in the file; the last feature with such a name is used.
  package private(set) var replaced: [String] = []

  /// Features of a file that cannot be regions, with the reason.
  package var skipped: [String] = []

  /// The maximum number of regions in a document; documents with more regions are rejected before they are
  /// sent.
  package static let largestCount = 10_000

  /// The maximum size of the wire format in bytes; vehicles reject longer documents.
  package static let largestSize = 1_048_576

  package subscript(identifier: String) -> Feature? { features.first { $0.identifier == identifier } }

  /// Reads a retained document; features without a name are omitted.
  package init(kept json: JSONValue?) {
    for element in json?["features"]?.array ?? [] {
      guard let identifier = RegionGeometry.identifier(of: element, acceptsName: true) else { continue }
      features.append(Feature(identifier: identifier, json: element))
    }
  }

  package init() {}

  /// Appends a feature of a user's file, and replaces an earlier one with the same name.
  /// - Parameter hasRadiusOption: true if the error can recommend `--radius` for points.
  /// - Throws: `JSONError` with the reason.
  mutating func append(_ element: JSONValue, hasRadiusOption: Bool = false) throws(JSONError) {
    guard let identifier = RegionGeometry.identifier(of: element, acceptsName: true) else {
      throw JSONError("it has no name: give it an \"id\", or \"identifier\" or \"name\" among its properties")
    }
    try RegionGeometry.check(identifier: identifier)
    guard case .object(var members) = element, let geometry = element["geometry"] else {
      throw JSONError("\"\(identifier)\" has no geometry")
    }
    members["type"] = .string("Feature")
    members["id"] = .string(identifier)
    members["geometry"] = try Self.checked(
      geometry, of: identifier, radius: element["properties"]?["radius"]?.double, hasRadiusOption)
    var properties: [String: JSONValue] = [:]
    if case .object(let given)? = members["properties"] { properties = given }
    do throws(JSONError) {
      // A speed limit with a unit is converted to a number in m/s, which the wire format requires.
      if let limit = try Region.speedLimit(members["properties"]), properties["speedLimit"]?.string != nil {
        properties["speedLimit"] = .number((limit * 1e6).rounded() / 1e6)
      }
    } catch {
      throw JSONError("\"\(identifier)\": \(error)")
    }
    members["properties"] = .object(properties)
    if self[identifier] != nil {
      features.removeAll { $0.identifier == identifier }
      if !replaced.contains(identifier) { replaced.append(identifier) }
    }
    features.append(Feature(identifier: identifier, json: .object(members)))
  }

  /// Returns the wire format.
  /// - Parameter version: the sender's version name.
  package func json(version: String) -> JSONValue {
    .object([
      "type": .string("FeatureCollection"), "version": .string(version),
      "features": .array(features.map(\.json)),
    ])
  }

  /// Returns the regions of both documents. Regions of `other` replace regions of this document with the same
  /// names.
  package func adding(_ other: RegionDocument) -> RegionDocument {
    var result = self
    for feature in other.features {
      result.features.removeAll { $0.identifier == feature.identifier }
      result.features.append(feature)
    }
    return result
  }

  package func removing(_ names: [String]) -> RegionDocument {
    var result = self
    result.features.removeAll { names.contains($0.identifier) }
    return result
  }

  // MARK: Geometry

  /// Returns a valid geometry with closed rings, and with its other members unchanged.
  private static func checked(
    _ geometry: JSONValue, of name: String, radius: Double?, _ hasRadiusOption: Bool
  ) throws(JSONError) -> JSONValue {
    let shape: RegionGeometry
    do throws(JSONError) { shape = try RegionGeometry(geometry) } catch {
      throw JSONError("\"\(name)\": \(error)")
    }
    guard case .polygon(let parts) = shape, case .object(var members) = geometry else {
      guard let radius, radius > 0, radius <= 1e6 else {
        throw JSONError(
          "point \"\(name)\" has no radius: give it \"radius\" in metres among its properties"
            + (hasRadiusOption ? ", or --radius" : ""))
      }
      return geometry
    }
    guard !parts.isEmpty, !parts.contains(where: \.isEmpty) else {
      throw JSONError("\"\(name)\" has a polygon without a ring")
    }
    for ring in parts.joined() where ring.count < (ring.first == ring.last ? 4 : 3) {
      throw JSONError("a ring of \"\(name)\" has less than three corners")
    }
    let coordinates = geometry["coordinates"] ?? .array([])
    members["coordinates"] =
      geometry["type"]?.string == "Polygon"
      ? closed(coordinates) : .array((coordinates.array ?? []).map(closed))
    return .object(members)
  }

  private static func closed(_ rings: JSONValue) -> JSONValue {
    .array(
      (rings.array ?? []).map { ring in
        var positions = ring.array ?? []
        if let first = positions.first, positions.last != first { positions.append(first) }
        return .array(positions)
      })
  }
}
