package import Fleet
package import JSON
internal import Telemetry

/// A reader of regions from GeoJSON, KML or WKT. The format is detected by content, not by name.
package enum RegionFile {
  /// The maximum size in bytes.
  private static let largest = 64 << 20

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - radius: the radius in metres for points without one.
  ///   - hasRadiusOption: true if the command has `--radius`.
  /// - Throws: `FleetError` with file and position for invalid input.
  package static func read(
    _ path: String, radius: Double?, hasRadiusOption: Bool = false
  ) throws(FleetError) -> RegionDocument {
    guard let bytes = InputFile.read(path, limit: largest) else {
      throw .usage("read", path, "there is no such file, it may not be read, or it is larger than 64 MB")
    }
    do throws(JSONError) {
      return try parse(bytes, radius: radius, hasRadiusOption: hasRadiusOption)
    } catch {
      throw .usage("read", path, error.description)
    }
  }

  static func parse(
    _ bytes: [UInt8], radius: Double?, hasRadiusOption: Bool = false
  ) throws(JSONError) -> RegionDocument {
    let start = bytes.first {
      !($0 == 0x20 || (0x09...0x0D).contains($0) || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF)
    }
    var features: [(place: String, json: JSONValue)]
    switch start {
    case UInt8(ascii: "{"): features = try geoJSON(JSONValue(parsing: bytes))
    case UInt8(ascii: "<"): features = try KMLRegions.read(bytes)
    case nil: throw JSONError("it is empty")
    default: features = try WKTRegions.read(bytes)
    }
    let document = try document(features, radius: radius, hasRadiusOption: hasRadiusOption)
    guard !document.features.isEmpty else { throw JSONError("there is no region in it") }
    return document
  }

  /// Returns the regions of a GeoJSON feature or collection, possibly empty.
  /// - Throws: `JSONError` with the invalid feature.
  package static func regions(_ json: JSONValue) throws(JSONError) -> RegionDocument {
    try document(geoJSON(json), radius: nil)
  }

  private static func document(
    _ features: [(place: String, json: JSONValue)], radius: Double?, hasRadiusOption: Bool = false
  ) throws(JSONError) -> RegionDocument {
    guard features.count <= RegionDocument.largestCount else {
      throw JSONError("\(features.count) regions; at most \(RegionDocument.largestCount) are sent")
    }
    var document = RegionDocument()
    for feature in features {
      do throws(JSONError) {
        try document.append(withRadius(feature.json, radius), hasRadiusOption: hasRadiusOption)
      } catch {
        throw JSONError("\(feature.place): \(error)")
      }
    }
    return document
  }

  private static func geoJSON(_ json: JSONValue) throws(JSONError) -> [(place: String, json: JSONValue)] {
    switch json["type"]?.string {
    case "FeatureCollection":
      guard let features = json["features"]?.array else { throw JSONError("it has no array \"features\"") }
      return features.enumerated().map { ("feature \($0.offset + 1)", $0.element) }
    case "Feature": return [("the feature", json)]
    default: throw JSONError("it is no GeoJSON of type Feature or FeatureCollection")
    }
  }

  /// Adds the default radius to a point without one.
  private static func withRadius(_ feature: JSONValue, _ radius: Double?) -> JSONValue {
    guard let radius, feature["geometry"]?["type"]?.string == "Point",
      feature["properties"]?["radius"] == nil,
      case .object(var members) = feature
    else { return feature }
    var properties: [String: JSONValue] = [:]
    if case .object(let own)? = feature["properties"] { properties = own }
    properties["radius"] = .number(radius)
    members["properties"] = .object(properties)
    return .object(members)
  }
}

extension JSONValue {
  /// Returns a GeoJSON feature with a name.
  package static func feature(named name: String, geometry: JSONValue, properties: [String: JSONValue] = [:])
    -> JSONValue
  {
    .object([
      "type": .string("Feature"), "id": .string(name), "geometry": geometry,
      "properties": .object(properties),
    ])
  }
}
