internal import JSON
internal import Telemetry
internal import XML

/// A reader of KML placemarks that are polygons or points.
///
/// The name of a region is the placemark's display name, or without one its `id`, which programs generate.
/// The radius of a point is its extended data `radius`, in metres. Lines and placemarks without geometry are
/// returned, too, so that the caller can list them.
enum KMLRegions {
  static func read(_ bytes: [UInt8]) throws(JSONError) -> [(place: String, json: JSONValue)] {
    let handler = KMLHandler()
    guard let parser = XMLParser(handler) else { throw JSONError("out of memory") }
    do throws(XMLError) { try parser.parse(bytes, isLast: true) } catch {
      throw JSONError("line \(error.line): \(error.reason)")
    }
    if let problem = handler.problem { throw problem }
    return handler.features
  }
}

/// A handler that collects placemarks.
private final class KMLHandler: XMLHandler {
  private(set) var features: [(place: String, json: JSONValue)] = []
  private(set) var problem: JSONError?
  private var path: [String] = []
  private var text: [UInt8] = []
  private var number = 0
  private var name: String?
  private var identifier: String?
  private var radius: Double?
  private var dataName: String?
  private var point: JSONValue?
  private var polygons: [[JSONValue]] = []
  private var rings: [JSONValue] = []
  private var hasLine = false
  /// The maximum nesting of elements that is recorded; no KML file is deeper.
  private static let deepest = 100

  var wantsMore: Bool { problem == nil }

  func begin(_ element: String, line: Int, attribute: (String) -> String?) {
    if path.count < Self.deepest { path.append(element) }
    text = []
    switch element {
    case "Placemark":
      number += 1
      (name, radius, point, polygons, hasLine) = (nil, nil, nil, [], false)
      identifier = attribute("id")
    case "Polygon": rings = []
    case "Data", "SimpleData": dataName = attribute("name")
    default: break
    }
  }

  func append(_ bytes: Span<UInt8>) {
    for index in bytes.indices where text.count < 16 << 20 { text.append(bytes[index]) }
  }

  func end(_ element: String, line: Int) {
    let parent = path.dropLast().last
    switch element {
    case "name": if parent == "Placemark" { name = trimmedText }
    case "value", "SimpleData": if dataName == "radius" { radius = Double(trimmedText) }
    case "coordinates":
      let positions = coordinates()
      if parent == "Point" { point = positions.first }
      // The outer ring comes first in KML as in GeoJSON.
      if parent == "LinearRing" { rings.append(.array(positions)) }
    case "LineString": hasLine = true
    case "Polygon": if !rings.isEmpty { polygons.append(rings) }
    case "Placemark": finish()
    default: break
    }
    if path.last == element { path.removeLast() }
    text = []
  }

  private func finish() {
    let geometry: JSONValue
    switch polygons.count {
    case 0:
      geometry =
        if let point {
          .object(["type": .string("Point"), "coordinates": point])
        } else {
          hasLine ? .object(["type": .string("LineString")]) : .null
        }
    case 1: geometry = .object(["type": .string("Polygon"), "coordinates": .array(polygons[0])])
    default:
      geometry = .object([
        "type": .string("MultiPolygon"), "coordinates": .array(polygons.map { .array($0) }),
      ])
    }
    var properties: [String: JSONValue] = [:]
    if let radius { properties["radius"] = .number(radius) }
    var members: [String: JSONValue] = ["type": .string("Feature"), "geometry": geometry]
    if let name, !name.isEmpty {
      properties["name"] = .string(name)
    } else {
      members["id"] = .string(identifier.flatMap { $0.isEmpty ? nil : $0 } ?? "region-\(number)")
    }
    members["properties"] = .object(properties)
    features.append(("placemark \(number)", .object(members)))
  }

  private var trimmedText: String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    var bytes = text[...].drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Parses tuples of longitude, latitude and an optional height, separated by white space.
  private func coordinates() -> [JSONValue] {
    trimmedText.split(whereSeparator: \.isWhitespace).compactMap { tuple in
      let numbers = tuple.split(separator: ",").map { Double($0) }
      guard numbers.count >= 2, let longitude = numbers[0], let latitude = numbers[1] else {
        problem =
          problem ?? JSONError("placemark \(number): \"\(tuple.prefix(40))\" is not longitude,latitude")
        return nil
      }
      return .array([.number(longitude), .number(latitude)])
    }
  }
}
