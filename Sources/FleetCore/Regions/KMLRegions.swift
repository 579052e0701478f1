internal import CExpat
internal import Telemetry

/// Reads the placemarks of a KML file that are polygons, or points, with Expat.
///
/// A point's radius is its extended data `radius`, in metres. Lines and all else are left out.
enum KMLRegions {
  static func read(_ bytes: [UInt8]) throws(JSONError) -> [(place: String, json: JSONValue)] {
    guard let parser = unsafe XML_ParserCreate(nil) else { throw JSONError("no memory for a parser") }
    defer { unsafe XML_ParserFree(parser) }
    let handler = KMLHandler()
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(handler).toOpaque())
    unsafe XML_SetElementHandler(
      parser,
      { context, name, attributes in
        guard let name = unsafe name else { return }
        unsafe KMLHandler.from(context)?.begin(KMLHandler.localName(name), attributes)
      },
      { context, name in
        guard let name = unsafe name else { return }
        unsafe KMLHandler.from(context)?.end(KMLHandler.localName(name))
      })
    unsafe XML_SetCharacterDataHandler(parser) { context, text, length in
      guard let text = unsafe text else { return }
      unsafe KMLHandler.from(context)?.append(UnsafeRawBufferPointer(start: text, count: Int(length)))
    }
    let status = unsafe bytes.withUnsafeBytes { buffer in
      unsafe XML_Parse(
        parser, buffer.bindMemory(to: CChar.self).baseAddress, Int32(clamping: buffer.count), 1)
    }
    return try withExtendedLifetime(handler) { () throws(JSONError) in
      guard status == XML_STATUS_OK else {
        let line = unsafe XML_GetCurrentLineNumber(parser)
        let cause =
          unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) } ?? "not XML"
        throw JSONError("line \(line): \(cause)")
      }
      if let problem = handler.problem { throw problem }
      return handler.features
    }
  }
}

/// Collects placemarks while the parser calls back.
private final class KMLHandler {
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
  /// Deeper than any KML is.
  private static let deepest = 100

  static func from(_ context: UnsafeMutableRawPointer?) -> KMLHandler? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<KMLHandler>.fromOpaque(context).takeUnretainedValue()
  }

  /// Without a namespace's prefix.
  static func localName(_ pointer: UnsafePointer<CChar>) -> String {
    let name = unsafe String(cString: pointer)
    return name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
  }

  func begin(_ element: String, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
    if path.count < Self.deepest { path.append(element) }
    text = []
    switch element {
    case "Placemark":
      number += 1
      (name, radius, point, polygons) = (nil, nil, nil, [])
      identifier = unsafe Self.attribute("id", attributes)
    case "Polygon": rings = []
    case "Data", "SimpleData": dataName = unsafe Self.attribute("name", attributes)
    default: break
    }
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    if text.count < 16 << 20 { unsafe text.append(contentsOf: bytes) }
  }

  func end(_ element: String) {
    let parent = path.dropLast().last
    switch element {
    case "name": if parent == "Placemark" { name = trimmedText }
    case "value", "SimpleData": if dataName == "radius" { radius = Double(trimmedText) }
    case "coordinates":
      let positions = coordinates()
      if parent == "Point" { point = positions.first }
      // The outer ring comes first in KML as in GeoJSON.
      if parent == "LinearRing" { rings.append(.array(positions)) }
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
      guard let point else { return }
      geometry = .object(["type": .string("Point"), "coordinates": point])
    case 1: geometry = .object(["type": .string("Polygon"), "coordinates": .array(polygons[0])])
    default:
      geometry = .object([
        "type": .string("MultiPolygon"), "coordinates": .array(polygons.map { .array($0) }),
      ])
    }
    let named = [identifier, name].compactMap { $0 }.first { !$0.isEmpty } ?? "region-\(number)"
    var properties: [String: JSONValue] = [:]
    if let name, !name.isEmpty { properties["name"] = .string(name) }
    if let radius { properties["radius"] = .number(radius) }
    features.append(
      ("placemark \(number)", .feature(named: named, geometry: geometry, properties: properties)))
  }

  private var trimmedText: String {
    let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    var bytes = text[...].drop(while: isSpace)
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Tuples of longitude, latitude and perhaps a height, with space between them.
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

  private static func attribute(
    _ wanted: String, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?
  ) -> String? {
    guard let attributes = unsafe attributes else { return nil }
    var index = 0
    while let name = unsafe attributes[index], let value = unsafe attributes[index + 1] {
      if unsafe String(cString: name) == wanted { return unsafe String(cString: value) }
      index += 2
    }
    return nil
  }
}
