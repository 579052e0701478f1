internal import Fleet
internal import FleetConsole
internal import JSON
internal import Spatial

/// What the forms of `odograph trips`, `events` and `trace list` want of what a vehicle has told.
protocol JournalEntry: Sendable {
  var vehicle: VehicleKey { get }
  /// The message as it came.
  var payload: [UInt8] { get }

  /// The names of the columns of a CSV, as they are written.
  static var columns: String { get }
  /// One for each column; what is not known is empty.
  var fields: [String] { get }
  /// A point, or a line of several; none where nobody knows a place.
  var places: [Coordinate] { get }
  /// What is no property in GeoJSON, as the geometry says it.
  static var geometryMembers: Set<String> { get }
  /// Elements of GPX; nil for one without a place.
  var gpx: String? { get }

  /// Adds to the properties what the message does not have.
  func writeProperties(to json: inout JSONWriter)
}

extension JournalEntry {
  func writeProperties(to json: inout JSONWriter) {}
}

extension JournalFormat {
  /// - Parameter text: how a person reads them.
  func writer<Told: JournalEntry>(text: any JournalWriter<Told>) -> any JournalWriter<Told> {
    switch self {
    case .text: text
    case .csv: JournalCSVWriter<Told>()
    case .jsonl: JournalJSONLinesWriter<Told>()
    case .geojson: JournalGeoJSONWriter<Told>()
    case .gpx: JournalGPXWriter<Told>()
    }
  }
}

/// CSV: a head, and a line for each.
struct JournalCSVWriter<Told: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write("fleet,vehicle," + Told.columns + "\n") }

  mutating func append(_ told: Told) {
    let vehicle = [CSVWriter.quoted(told.vehicle.fleet), CSVWriter.quoted(told.vehicle.vehicle)]
    write((vehicle + told.fields).joined(separator: ",") + "\n")
  }

  mutating func end() {}
}

/// JSON lines: the message as it came, with fleet and vehicle.
struct JournalJSONLinesWriter<Told: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}
  mutating func append(_ told: Told) { bytes.append(json: told.payload, of: told.vehicle) }
  mutating func end() {}
}

/// GeoJSON: a FeatureCollection, one in a line, with what its message says in the properties. One without a place has no geometry.
struct JournalGeoJSONWriter<Told: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []
  private var isFirst = true

  mutating func begin() { write("{\"type\":\"FeatureCollection\",\"features\":[") }

  mutating func append(_ told: Told) {
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
          json.write(told.payload, of: told.vehicle, without: Told.geometryMembers.union(["epoch", "seq"]))
          told.writeProperties(to: &json)
        }
      })
  }

  mutating func end() { write("\n]}\n") }
}

/// GPX 1.1 (Topografix, gpx.xsd).
struct JournalGPXWriter<Told: JournalEntry>: JournalWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write(GPXText.head) }
  mutating func append(_ told: Told) { if let gpx = told.gpx { write(gpx) } }
  mutating func end() { write("</gpx>\n") }
}

/// What tracks and waypoints have in common.
enum GPXText {
  static let head = """
    <?xml version="1.0" encoding="UTF-8"?>
    <gpx version="1.1" creator="odograph" xmlns="http://www.topografix.com/GPX/1/1">

    """

  static func point(_ element: String, _ place: Coordinate, _ content: String) -> String {
    let (latitude, longitude) = (ExportText.degrees(place.latitude), ExportText.degrees(place.longitude))
    return "<\(element) lat=\"\(latitude)\" lon=\"\(longitude)\">\(content)</\(element)>\n"
  }

  /// A waypoint of a moment.
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
  /// Writes an object as a line, with whose it is behind its own members: what comes last of a name counts, so that no vehicle
  /// passes for another.
  mutating func append(json object: [UInt8], of vehicle: VehicleKey) {
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
  /// Longitude and latitude, in this order.
  mutating func write(_ coordinate: Coordinate) {
    openArray()
    value(coordinate.longitude, decimals: ExportPrecision.degrees)
    value(coordinate.latitude, decimals: ExportPrecision.degrees)
    closeArray()
  }

  /// The members of a message that were not left out, and whose it is.
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
