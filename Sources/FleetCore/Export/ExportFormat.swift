/// How an export is written.
public enum ExportFormat: String, Hashable, Sendable, CaseIterable {
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
  public init?(path: String) {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: ".") else { return nil }
    switch name[name.index(after: dot)...].lowercased() {
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
