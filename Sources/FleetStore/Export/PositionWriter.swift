internal import Fleet
internal import JSON
internal import Spatial
internal import Telemetry

/// How an export is written.
enum ExportFormat: String, Hashable, Sendable, CaseIterable {
  /// GPS Exchange Format 1.1, a track for each vehicle.
  case gpx
  /// A FeatureCollection (RFC 7946), a point for each position.
  case geojson
  /// Keyhole Markup Language 2.2 with gx:Track, which a map plays along time.
  case kml
  /// Comma-separated values (RFC 4180) with a head.
  case csv
  /// A JSON object in each line.
  case jsonl
  /// Apache Parquet in a folder for each day.
  case parquet

  /// By the end of a file's name; nil when it says nothing.
  /// - Throws: `FleetError` when it says what cannot be written.
  static func named(by path: String) throws(FleetError) -> ExportFormat? {
    let name = path.split(separator: "/").last ?? ""
    // A name that begins with a point has no end.
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let end = name[name.index(after: dot)...]
    if let format = ExportFormat(end: end.lowercased()) { return format }
    throw .usage(
      "write", path,
      ".\(end.prefix(20)) is none of the forms; name a file that ends with \(forms), or use --format")
  }

  private static var forms: String { allCases.map { ".\($0.rawValue)" }.joined(separator: ", ") }

  private init?(end: String) {
    switch end {
    case "gpx": self = .gpx
    case "geojson", "json": self = .geojson
    case "kml": self = .kml
    case "csv": self = .csv
    case "jsonl", "ndjson": self = .jsonl
    case "parquet": self = .parquet
    default: return nil
    }
  }

  /// What writes a document of this form; nil for Parquet, which is a folder of them (`PositionPartitions`).
  /// - Parameter gap: seconds without a position after which a track begins anew.
  func writer(gap: Double) -> (any PositionWriter)? {
    switch self {
    case .gpx: GPXWriter(gap: gap)
    case .geojson: GeoJSONWriter()
    case .kml: KMLWriter(gap: gap)
    case .csv: CSVWriter()
    case .jsonl: JSONLinesWriter()
    case .parquet: nil
    }
  }
}

/// Turns positions, which come by vehicle and in order of time, into a document, piece by piece.
protocol PositionWriter {
  /// What was written and not yet taken away.
  var bytes: [UInt8] { get set }
  mutating func begin()
  mutating func append(_ position: RecordedPosition)
  mutating func end()
}

extension PositionWriter {
  mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }
}

/// Numbers as exports write them, never with an exponent.
enum ExportText {
  /// Empty for what is not known.
  static func decimal(_ number: Double?, _ decimals: Int) -> String {
    guard let number, number.isFinite else { return "" }
    var writer = JSONWriter(capacity: 24)
    writer.value(number, decimals: decimals)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  static func degrees(_ number: Double) -> String { decimal(number, ExportPrecision.degrees) }

  static func metres(_ number: Double?) -> String { decimal(number, ExportPrecision.metres) }
}

/// Decimals of what is written: nine of a degree are a tenth of a millimetre, more than anything was recorded with.
enum ExportPrecision {
  static let degrees = 9
  static let metres = 3
  static let course = 3
}

/// Where tracks begin: at a new vehicle, where none was heard for a while, and before and after a position by radios, through which
/// no line is to be drawn.
struct TrackBreaks {
  enum Place {
    case newVehicle
    case newSegment
    case within
  }

  /// Seconds.
  let gap: Double
  private var last: (vehicle: VehicleKey, time: UTCTime, isCoarse: Bool)?

  init(gap: Double) { self.gap = gap }

  mutating func place(of position: RecordedPosition) -> Place {
    let isCoarse = position.source == .coarse
    defer { last = (position.vehicle, position.time, isCoarse) }
    guard let last, last.vehicle == position.vehicle else { return .newVehicle }
    if isCoarse || last.isCoarse { return .newSegment }
    return position.time.seconds(since: last.time) > gap ? .newSegment : .within
  }
}

/// Text inside of XML.
enum XMLText {
  /// An element with a number; nothing for what is not known.
  static func element(_ name: String, _ value: Double?, _ decimals: Int) -> String {
    let number = ExportText.decimal(value, decimals)
    return number.isEmpty ? "" : "<\(name)>\(number)</\(name)>"
  }

  /// Escapes what XML gives a meaning to. Characters that XML 1.0 cannot hold become U+FFFD, and so do others that are not
  /// shown but acted upon, which nobody who reads such a file expects in a name.
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
