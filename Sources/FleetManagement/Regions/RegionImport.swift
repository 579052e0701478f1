internal import Compression
package import Fleet
package import JSON
internal import Telemetry

/// Reads regions from GeoJSON, KML, KMZ or WKT. The format is detected from the start of the file, not from
/// its name.
///
/// Features that cannot be regions (without geometry, lines) are skipped and listed. An invalid region is an
/// error, and so is a file in another reference system than WGS 84.
package enum RegionImport {
  /// The maximum size of a file in bytes.
  package static let largest = 64 << 20

  /// Parses a file.
  ///
  /// - Parameters:
  ///   - path: the path for errors.
  ///   - radius: the radius in metres for points without one.
  ///   - hasRadiusOption: true if the command has `--radius`.
  /// - Throws: `FleetError` with file and position for invalid input.
  package static func read(
    _ bytes: [UInt8], of path: String, radius: Double?, hasRadiusOption: Bool = false
  ) throws(FleetError) -> RegionDocument {
    do throws(JSONError) {
      return try parse(bytes, radius: radius, hasRadiusOption: hasRadiusOption)
    } catch {
      throw .usage("read", path, error.description)
    }
  }

  package static func parse(
    _ file: [UInt8], radius: Double?, hasRadiusOption: Bool = false
  ) throws(JSONError) -> RegionDocument {
    var bytes = file.starts(with: Self.byteOrderMark) ? Array(file.dropFirst(Self.byteOrderMark.count)) : file
    if ZipArchive.isArchive(bytes) {
      do throws(CompressionError) {
        bytes = try ZipArchive.firstFile(of: bytes, suffix: ".kml", limit: largest)
      } catch {
        throw JSONError("KMZ: \(error)")
      }
    }
    var features: [(place: String, json: JSONValue)]
    switch bytes.first(where: { !($0 == 0x20 || (0x09...0x0D).contains($0)) }) {
    case UInt8(ascii: "{"): features = try geoJSON(JSONValue(parsing: bytes))
    case UInt8(ascii: "<"): features = try KMLRegions.read(bytes)
    case nil: throw JSONError("it is empty")
    default: features = try WKTRegions.read(bytes)
    }
    let skipped = features.filter { !RegionGeometry.isRegion($0.json) }.map { feature in
      let type = feature.json["geometry"]?["type"]?.string
      return "\(feature.place): "
        + (type.map { "\"\($0.prefix(40))\" is not an area" } ?? "it has no geometry")
    }
    features.removeAll { !RegionGeometry.isRegion($0.json) }
    var document = try document(distinct(features), radius: radius, hasRadiusOption: hasRadiusOption)
    document.skipped = skipped
    guard !document.features.isEmpty else { throw JSONError(skipped.first ?? "it contains no region") }
    return document
  }

  /// Returns the regions of a GeoJSON feature or collection, possibly empty.
  /// - Throws: `JSONError` with the invalid feature.
  package static func regions(_ json: JSONValue) throws(JSONError) -> RegionDocument {
    try document(geoJSON(json), radius: nil)
  }

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Adds a unique identifier to features that only have a display name: "Zone", "Zone 2", "Zone 3".
  private static func distinct(
    _ features: [(place: String, json: JSONValue)]
  ) -> [(place: String, json: JSONValue)] {
    var used = Set(features.compactMap { RegionGeometry.identifier(of: $0.json) })
    return features.map { feature in
      guard RegionGeometry.identifier(of: feature.json) == nil,
        let name = RegionGeometry.name(of: feature.json),
        case .object(var members) = feature.json
      else { return feature }
      var identifier = shortened(name, 64)
      var number = 1
      while !used.insert(identifier).inserted {
        number += 1
        identifier = shortened(name, 56) + " \(number)"
      }
      members["id"] = .string(identifier)
      return (feature.place, .object(members))
    }
  }

  /// Returns the text shortened to at most `limit` bytes of UTF-8.
  private static func shortened(_ text: String, _ limit: Int) -> String {
    var text = text
    while text.utf8.count > limit { text.removeLast() }
    return text
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
    try RegionGeometry.checkReferenceSystem(of: json)
    switch json["type"]?.string {
    case "FeatureCollection":
      guard let features = json["features"]?.array else { throw JSONError("it has no array \"features\"") }
      return features.enumerated().map { ("feature \($0.offset + 1)", $0.element) }
    case "Feature": return [("the feature", json)]
    default: throw JSONError("not GeoJSON of type Feature or FeatureCollection")
    }
  }

  /// Returns the feature, with `radius` in metres added if it is a point without a radius.
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
