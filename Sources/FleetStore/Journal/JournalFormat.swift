package import Fleet

/// The format of trips and driving events.
package enum JournalFormat: String, Hashable, Sendable, CaseIterable {
  /// A line of text for each entry.
  case text
  /// Comma-separated values (RFC 4180) with a header.
  case csv
  /// JSON lines: the original message with fleet and vehicle.
  case jsonl
  /// A FeatureCollection (RFC 7946): the tracks of trips, the positions of events.
  case geojson
  /// GPS Exchange Format 1.1: a track for each trip, a waypoint for each event.
  case gpx

  /// Returns the format for a file name's extension; nil if the name has no extension.
  /// - Throws: `FleetError` for an unsupported extension.
  package static func named(by path: String) throws(FleetError) -> JournalFormat? {
    let name = path.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let end = name[name.index(after: dot)...].lowercased()
    switch end {
    case "txt": return .text
    case "json": return .geojson
    case "ndjson": return .jsonl
    default: break
    }
    if let format = JournalFormat(rawValue: end) { return format }
    throw .usage(
      "write", path,
      ".\(end.prefix(20)) is none of the forms; name a file that ends with .txt, .csv, .jsonl, .geojson or .gpx"
    )
  }

  /// True for formats whose files programs read only when complete. In these formats, a live trip is written
  /// once, when it has ended.
  package var isDocument: Bool { [.csv, .geojson, .gpx].contains(self) }
}
