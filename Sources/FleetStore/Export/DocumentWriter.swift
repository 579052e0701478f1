package import Fleet
package import JSON

/// A writer that converts entries to a document incrementally.
package protocol DocumentWriter<Entry>: Sendable {
  associatedtype Entry
  /// The bytes of the document that the caller has not written to the output yet.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ told: Entry)
  mutating func end()
}

extension DocumentWriter {
  package mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// A position, trip, driving event or trace, for the formats CSV, JSON lines and GeoJSON.
package protocol DocumentEntry: Sendable {
  var vehicle: VehicleKey { get }
  /// The column names of the CSV format after those of fleet and vehicle.
  static var columns: String { get }
  /// The CSV values of the columns; an unknown value is an empty text.
  var fields: [String] { get }

  /// Appends the entry as a line of JSON.
  func appendLine(to bytes: inout [UInt8])
  /// Writes the members `geometry` and `properties` of a GeoJSON feature.
  func writeFeature(to json: inout JSONWriter)
}

/// A CSV writer: a header, and a line for each entry. Fields of unknown values are empty.
struct CSVWriter<Entry: DocumentEntry>: DocumentWriter {
  var bytes: [UInt8] = []

  mutating func begin() { write("fleet,vehicle," + Entry.columns + "\n") }

  mutating func append(_ told: Entry) {
    let vehicle = [CSVText.quoted(told.vehicle.fleet), CSVText.quoted(told.vehicle.vehicle)]
    write((vehicle + told.fields).joined(separator: ",") + "\n")
  }

  mutating func end() {}
}

/// A JSON lines writer: an object for each entry.
struct JSONLinesWriter<Entry: DocumentEntry>: DocumentWriter {
  var bytes: [UInt8] = []

  mutating func begin() {}
  mutating func append(_ told: Entry) { told.appendLine(to: &bytes) }
  mutating func end() {}
}

/// A GeoJSON writer: a FeatureCollection with one feature per line of the file.
struct GeoJSONWriter<Entry: DocumentEntry>: DocumentWriter {
  var bytes: [UInt8] = []
  private var isFirst = true

  mutating func begin() { write("{\"type\":\"FeatureCollection\",\"features\":[") }

  mutating func append(_ told: Entry) {
    write(isFirst ? "\n" : ",\n")
    isFirst = false
    bytes.append(
      contentsOf: JSONWriter.object { json in
        json.field("type", "Feature")
        told.writeFeature(to: &json)
      })
  }

  mutating func end() { write("\n]}\n") }
}

/// Text in CSV.
enum CSVText {
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
