internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// A GeoJSON writer: a FeatureCollection with one Point feature per line of the file. The position's values
/// are properties of the feature.
struct GeoJSONWriter: PositionWriter {
  var bytes: [UInt8] = []
  private var isFirst = true

  mutating func begin() { write("{\"type\":\"FeatureCollection\",\"features\":[") }

  mutating func append(_ position: RecordedPosition) {
    write(isFirst ? "\n" : ",\n")
    isFirst = false
    bytes.append(
      contentsOf: JSONWriter.object { json in
        json.field("type", "Feature")
        json.field("geometry") { json in
          json.field("type", "Point")
          json.key("coordinates")
          json.openArray()
          json.value(position.coordinate.longitude, decimals: ExportPrecision.degrees)
          json.value(position.coordinate.latitude, decimals: ExportPrecision.degrees)
          if let altitude = position.altitude, altitude.isFinite {
            json.value(altitude, decimals: ExportPrecision.metres)
          }
          json.closeArray()
        }
        json.field("properties") { json in json.write(position, withPlace: false) }
      })
  }

  mutating func end() { write("\n]}\n") }
}

/// A JSON lines writer: an object for each position, with the member names of the native `location` message.
struct JSONLinesWriter: PositionWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}

  mutating func append(_ position: RecordedPosition) {
    bytes.append(contentsOf: JSONWriter.object { json in json.write(position, withPlace: true) })
    bytes.append(0x0A)
  }

  mutating func end() {}
}

extension JSONWriter {
  fileprivate mutating func write(_ position: RecordedPosition, withPlace: Bool) {
    field("fleet", position.vehicle.fleet)
    field("vehicle", position.vehicle.vehicle)
    field("time", position.time.rfc3339)
    if withPlace {
      field("latitude", position.coordinate.latitude, decimals: ExportPrecision.degrees)
      field("longitude", position.coordinate.longitude, decimals: ExportPrecision.degrees)
      field("altitude", position.altitude, decimals: ExportPrecision.metres)
    }
    field("horizontalAccuracy", position.accuracy, decimals: ExportPrecision.metres)
    field("speed", position.speed, decimals: ExportPrecision.metres)
    field("course", position.course, decimals: ExportPrecision.course)
    field("source", position.source.rawValue)
  }
}

/// A CSV writer: a header, and a line for each position. Fields of unknown values are empty.
struct CSVWriter: PositionWriter {
  var bytes: [UInt8] = []

  mutating func begin() {
    write("fleet,vehicle,time,latitude,longitude,altitude,accuracy,speed,course,source\n")
  }

  mutating func append(_ position: RecordedPosition) {
    let fields = [
      Self.quoted(position.vehicle.fleet), Self.quoted(position.vehicle.vehicle), position.time.rfc3339,
      ExportText.degrees(position.coordinate.latitude), ExportText.degrees(position.coordinate.longitude),
      ExportText.metres(position.altitude), ExportText.metres(position.accuracy),
      ExportText.metres(position.speed), ExportText.decimal(position.course, ExportPrecision.course),
      position.source.rawValue,
    ]
    write(fields.joined(separator: ",") + "\n")
  }

  mutating func end() {}

  /// Returns a text as one CSV field, in quotes if necessary. U+FFFD replaces control characters, so that a
  /// name is one cell on one line, also on a terminal. Spreadsheets evaluate a field that starts with `=`,
  /// `+`, `-` or `@`. Such a field, and one that starts with an apostrophe, gets an apostrophe in front
  /// (OWASP, "CSV Injection"). A program restores the original text by removing one leading apostrophe.
  static func quoted(_ text: String) -> String {
    var result = text.unicodeScalars.first.map { "=+-@'\t\r".unicodeScalars.contains($0) } == true ? "'" : ""
    var needsQuotes = false
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"":
        needsQuotes = true
        result += "\"\""
      case ",":
        needsQuotes = true
        result += ","
      default:
        result.unicodeScalars.append(scalar.isUnseen ? "\u{FFFD}" : scalar)
      }
    }
    return needsQuotes ? "\"\(result)\"" : result
  }
}
