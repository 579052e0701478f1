/// The format of trips and driving events.
package enum JournalFormat: String, Hashable, Sendable, FileFormat {
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

  package var fileExtension: String { self == .text ? "txt" : rawValue }
  package static var synonyms: [String: JournalFormat] {
    ["text": .text, "json": .geojson, "ndjson": .jsonl]
  }

  /// True for formats whose files programs read only when complete. In these formats, a live trip is written
  /// once, when it has ended.
  package var isDocument: Bool { [.csv, .geojson, .gpx].contains(self) }
}
