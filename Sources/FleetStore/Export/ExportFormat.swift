internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// The format of an export of positions, sorted by vehicle and time.
package enum ExportFormat: String, Hashable, Sendable, FileFormat {
  /// GPS Exchange Format 1.1, a track for each vehicle.
  case gpx
  /// A FeatureCollection (RFC 7946) with a point for each position.
  case geojson
  /// Keyhole Markup Language 2.2 with gx:Track, which can be played back on a map.
  case kml
  /// Comma-separated values (RFC 4180) with a header.
  case csv
  /// A JSON object in each line.
  case jsonl
  /// Apache Parquet with a folder for each day.
  case parquet

  package static var synonyms: [String: ExportFormat] { ["json": .geojson, "ndjson": .jsonl] }

  /// Returns a writer; nil for Parquet, which consists of a folder of `PositionTable` files.
  /// - Parameter gap: the time in s without positions after which a new track starts.
  package func writer(gap: Double) -> (any DocumentWriter<RecordedPosition>)? {
    switch self {
    case .gpx: GPXWriter(gap: gap)
    case .geojson: GeoJSONWriter<RecordedPosition>()
    case .kml: KMLWriter(gap: gap)
    case .csv: CSVWriter<RecordedPosition>()
    case .jsonl: JSONLinesWriter<RecordedPosition>()
    case .parquet: nil
    }
  }
}

/// Formatting of numbers in exports, never with an exponent.
package enum ExportText {
  /// Formats a number; empty for nil and for non-finite numbers.
  package static func decimal(_ number: Double?, _ decimals: Int) -> String {
    guard let number, number.isFinite else { return "" }
    var writer = JSONWriter(capacity: 24)
    writer.value(number, decimals: decimals)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  static func degrees(_ number: Double) -> String { decimal(number, ExportPrecision.degrees) }

  static func metres(_ number: Double?) -> String { decimal(number, ExportPrecision.metres) }
}

/// The number of decimals in exports. A degree with nine decimals is precise to a tenth of a millimetre,
/// finer than any recording.
enum ExportPrecision {
  static let degrees = 9
  static let metres = 3
  static let course = 3
}

/// Decides where tracks start: at a new vehicle, after a gap, at the antimeridian, and before and after a
/// suspect position or one from radio beacons. No line is drawn through these positions.
struct TrackBreaks {
  enum Continuity {
    case newVehicle
    case newSegment
    case within
  }

  /// The time in s without positions after which a new track starts.
  let gap: Double
  private var last: RecordedPosition?

  init(gap: Double) { self.gap = gap }

  mutating func place(of position: RecordedPosition) -> Continuity {
    defer { last = position }
    guard let last, last.vehicle == position.vehicle else { return .newVehicle }
    guard position.source.isOnPath, last.source.isOnPath else { return .newSegment }
    if Antimeridian.isBetween(last.coordinate.longitude, position.coordinate.longitude) { return .newSegment }
    return position.time.seconds(since: last.time) > gap ? .newSegment : .within
  }
}

/// Text in XML.
enum XMLText {
  /// Returns an XML element with a number; empty if the number is unknown.
  static func element(_ name: String, _ value: Double?, _ decimals: Int) -> String {
    let number = ExportText.decimal(value, decimals)
    return number.isEmpty ? "" : "<\(name)>\(number)</\(name)>"
  }

  /// Escapes XML's special characters. Characters that XML 1.0 cannot represent, and invisible control
  /// characters, are replaced by U+FFFD.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      default:
        let isForbidden = scalar.isUnseen || scalar.value == 0xFFFE || scalar.value == 0xFFFF
        result.unicodeScalars.append(isForbidden ? "\u{FFFD}" : scalar)
      }
    }
    return result
  }
}
