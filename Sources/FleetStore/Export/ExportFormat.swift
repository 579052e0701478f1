package import Fleet

/// How an export is written.
package enum ExportFormat: String, Hashable, Sendable, CaseIterable {
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

  /// By the end of a file's name; nil when it says nothing.
  /// - Throws: `FleetError` when it says what cannot be written.
  package static func named(by path: String) throws(FleetError) -> ExportFormat? {
    let name = path.split(separator: "/").last ?? ""
    // A name that begins with a point has no end.
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let end = name[name.index(after: dot)...]
    if let format = ExportFormat(end: end.lowercased()) { return format }
    throw FleetError(
      operation: "write", object: path,
      cause: ".\(end.prefix(20)) is none of the forms; name a file that ends with \(forms), or use --format",
      exit: .usage)
  }

  private static var forms: String { allCases.map { ".\($0.rawValue)" }.joined(separator: ", ") }

  private init?(end: String) {
    switch end {
    case "gpx": self = .gpx
    case "geojson", "json": self = .geojson
    case "kml": self = .kml
    case "csv": self = .csv
    case "jsonl", "ndjson": self = .jsonl
    default: return nil
    }
  }

  /// - Parameter gap: seconds without a position after which a track begins anew.
  func writer(gap: Double) -> any PositionWriter {
    switch self {
    case .gpx: GPXWriter(gap: gap)
    case .geojson: GeoJSONWriter()
    case .kml: KMLWriter(gap: gap)
    case .csv: CSVWriter()
    case .jsonl: JSONLinesWriter()
    }
  }
}
