package import Fleet
package import JSON
package import Spatial

/// A writer that converts trips or driving events to a document incrementally.
package protocol JournalWriter<Entry>: Sendable {
  associatedtype Entry
  /// The bytes of the document that have not been written to the output yet.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ told: Entry)
  mutating func end()
}

extension JournalWriter {
  package mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// An entry of `odograph trips`, `events` and `trace list`, for all formats.
package protocol JournalEntry: Sendable {
  var vehicle: VehicleKey { get }
  /// The original message.
  var payload: [UInt8] { get }

  /// The column names of the CSV format.
  static var columns: String { get }
  /// The CSV values of the columns; an unknown value is an empty text.
  var fields: [String] { get }
  /// One coordinate for a point, several for a line; empty if the position is unknown.
  var places: [Coordinate] { get }
  /// The message's members that are written as GeoJSON geometry, and therefore not as properties.
  static var geometryMembers: Set<String> { get }
  /// The GPX elements; nil without a position.
  var gpx: String? { get }

  /// Adds GeoJSON properties that the message does not contain.
  func writeProperties(to json: inout JSONWriter)
}

extension JournalEntry {
  package func writeProperties(to json: inout JSONWriter) {}
}

extension JournalFormat {
  /// Returns the writer of the format; nil for text.
  package func writer<Entry: JournalEntry>() -> (any JournalWriter<Entry>)? {
    switch self {
    case .text: nil
    case .csv: JournalCSVWriter<Entry>()
    case .jsonl: JournalJSONLinesWriter<Entry>()
    case .geojson: JournalGeoJSONWriter<Entry>()
    case .gpx: JournalGPXWriter<Entry>()
    }
  }
}

/// A CSV writer: a header, and a line for each entry.
struct JournalCSVWriter<Entry: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write("fleet,vehicle," + Entry.columns + "\n") }

  mutating func append(_ told: Entry) {
    let vehicle = [CSVWriter.quoted(told.vehicle.fleet), CSVWriter.quoted(told.vehicle.vehicle)]
    write((vehicle + told.fields).joined(separator: ",") + "\n")
  }

  mutating func end() {}
}

/// A JSON lines writer: a line for each entry with its original message, extended by fleet and vehicle.
struct JournalJSONLinesWriter<Entry: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}
  mutating func append(_ told: Entry) { bytes.append(json: told.payload, of: told.vehicle) }
  mutating func end() {}
}

/// A GeoJSON writer: a FeatureCollection with one feature per line and the message's members as properties. A
/// feature without a position has no geometry.
struct JournalGeoJSONWriter<Entry: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []
  private var isFirst = true

  mutating func begin() { write("{\"type\":\"FeatureCollection\",\"features\":[") }

  mutating func append(_ told: Entry) {
    write(isFirst ? "\n" : ",\n")
    isFirst = false
    let places = told.places
    bytes.append(
      contentsOf: JSONWriter.object { json in
        json.field("type", "Feature")
        if let first = places.first {
          json.field("geometry") { json in
            json.field("type", places.count > 1 ? "LineString" : "Point")
            json.key("coordinates")
            guard places.count > 1 else { return json.write(first) }
            json.openArray()
            for place in places { json.write(place) }
            json.closeArray()
          }
        } else {
          json.key("geometry")
          json.value(JSONValue.null)
        }
        json.field("properties") { json in
          json.write(told.payload, of: told.vehicle, without: Entry.geometryMembers.union(["epoch", "seq"]))
          told.writeProperties(to: &json)
        }
      })
  }

  mutating func end() { write("\n]}\n") }
}

/// A GPX 1.1 writer (Topografix, gpx.xsd).
struct JournalGPXWriter<Entry: JournalEntry>: JournalWriter {
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
  /// Writes a coordinate as an array of longitude and latitude, in this order.
  mutating func write(_ coordinate: Coordinate) {
    openArray()
    value(coordinate.longitude, decimals: ExportPrecision.degrees)
    value(coordinate.latitude, decimals: ExportPrecision.degrees)
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
