package import Fleet
package import JSON
package import Spatial

/// An entry of `odograph trips`, `events` and `trace list`, for all formats.
package protocol JournalEntry: DocumentEntry {
  /// The original message.
  var payload: [UInt8] { get }
  /// Lines, which end at the antimeridian; a single coordinate for a point, and empty if the position is
  /// unknown.
  var lines: [[Coordinate]] { get }
  /// The message's members that are written as GeoJSON geometry, and therefore not as properties.
  static var geometryMembers: Set<String> { get }
  /// The GPX elements; nil without a position.
  var gpx: String? { get }

  /// Adds GeoJSON properties that the message does not contain.
  func writeProperties(to json: inout JSONWriter)
}

extension JournalEntry {
  package func writeProperties(to json: inout JSONWriter) {}

  /// Appends the original message, extended by fleet and vehicle.
  package func appendLine(to bytes: inout [UInt8]) { bytes.append(json: payload, of: vehicle) }

  /// Writes the message's members as properties. An entry without a position has no geometry.
  package func writeFeature(to json: inout JSONWriter) {
    let lines = lines
    if let line = lines.first, let first = line.first {
      json.field("geometry") { json in
        json.field("type", lines.count > 1 ? "MultiLineString" : line.count > 1 ? "LineString" : "Point")
        json.key("coordinates")
        guard lines.count > 1 || line.count > 1 else { return json.write(first) }
        if lines.count > 1 { json.openArray() }
        for line in lines {
          json.openArray()
          for place in line { json.write(place) }
          json.closeArray()
        }
        if lines.count > 1 { json.closeArray() }
      }
    } else {
      json.key("geometry")
      json.value(JSONValue.null)
    }
    json.field("properties") { json in
      json.write(payload, of: vehicle, without: Self.geometryMembers.union(["epoch", "seq"]))
      writeProperties(to: &json)
    }
  }
}

extension JournalFormat {
  /// Returns the writer of the format; nil for text.
  package func writer<Entry: JournalEntry>() -> (any DocumentWriter<Entry>)? {
    switch self {
    case .text: nil
    case .csv: CSVWriter<Entry>()
    case .jsonl: JSONLinesWriter<Entry>()
    case .geojson: GeoJSONWriter<Entry>()
    case .gpx: JournalGPXWriter<Entry>()
    }
  }
}

/// A GPX 1.1 writer (Topografix, gpx.xsd).
struct JournalGPXWriter<Entry: JournalEntry>: DocumentWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write(GPXText.head) }
  mutating func append(_ told: Entry) { if let gpx = told.gpx { write(gpx) } }
  mutating func end() { write("</gpx>\n") }
}

/// The common parts of tracks and waypoints.
enum GPXText {
  static let head = """
    <?xml version="1.0" encoding="UTF-8"?>
    <gpx version="1.1" creator="odograph" xmlns="http://www.topografix.com/GPX/1/1">

    """

  static func point(_ element: String, _ place: Coordinate, _ content: String) -> String {
    let (latitude, longitude) = (ExportText.degrees(place.latitude), ExportText.degrees(place.longitude))
    return "<\(element) lat=\"\(latitude)\" lon=\"\(longitude)\">\(content)</\(element)>\n"
  }

  /// Returns a waypoint with a time.
  static func waypoint(
    _ place: Coordinate, at time: UTCTime, _ name: String, of vehicle: VehicleKey, type: String
  ) -> String {
    let (name, vehicle) = (XMLText.escaped(name), XMLText.escaped("\(vehicle)"))
    return point(
      "wpt", place,
      "<time>\(time.rfc3339)</time><name>\(name)</name><desc>\(vehicle)</desc>"
        + "<type>\(XMLText.escaped(type))</type>")
  }
}

extension [UInt8] {
  /// Appends a JSON object as a line, with fleet and vehicle added at its end. JSON parsers use the last of
  /// duplicate names, so members of these names in the object cannot misstate the vehicle.
  package mutating func append(json object: [UInt8], of vehicle: VehicleKey) {
    var line: [UInt8] = []
    switch JSONScan(object.span) {
    case .valid: line = object
    case .validAfterEscaping: line.appendJSON(line: object.span)
    case .invalid, .stopped: return
    }
    guard let end = line.lastIndex(of: UInt8(ascii: "}")) else { return }
    append(contentsOf: line[..<end])
    append(contentsOf: ",\"fleet\":".utf8)
    appendJSON(quoting: vehicle.fleet)
    append(contentsOf: ",\"vehicle\":".utf8)
    appendJSON(quoting: vehicle.vehicle)
    append(contentsOf: "}\n".utf8)
  }
}

extension JSONWriter {
  /// Writes a coordinate as an array of longitude, latitude and altitude, in this order.
  /// - Parameter altitude: nil and non-finite values are omitted.
  mutating func write(_ coordinate: Coordinate, altitude: Double? = nil) {
    openArray()
    value(coordinate.longitude, decimals: ExportPrecision.degrees)
    value(coordinate.latitude, decimals: ExportPrecision.degrees)
    if let altitude, altitude.isFinite { value(altitude, decimals: ExportPrecision.metres) }
    closeArray()
  }

  /// Writes fleet, vehicle, and the members of a message except those in `names`.
  mutating func write(_ payload: [UInt8], of vehicle: VehicleKey, without names: Set<String>) {
    field("fleet", vehicle.fleet)
    field("vehicle", vehicle.vehicle)
    guard let json = try? JSONValue(parsing: payload), case .object(let members) = json else { return }
    for (name, member) in members.sorted(by: { $0.key < $1.key })
    where !names.contains(name) && !["fleet", "vehicle"].contains(name) {
      key(name)
      value(member)
    }
  }
}
