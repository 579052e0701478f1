internal import Fleet
package import Spatial
internal import Telemetry

extension ReportedDrivingEvent: JournalEntry {
  /// The columns of the table `driving_events`.
  package static var columns: String {
    "series,number,time,event,ongoing,trip,latitude,longitude,accuracy,speed,peak,threshold,duration,"
      + "severity,confidence,region"
  }

  package var fields: [String] {
    var fields = [
      event.journal.series, "\(event.journal.number)", event.time.rfc3339,
      CSVText.quoted(event.event.name), "\(event.isOngoing)", event.trip.map { "\($0)" } ?? "",
      event.coordinate.map { ExportText.degrees($0.latitude) } ?? "",
      event.coordinate.map { ExportText.degrees($0.longitude) } ?? "",
    ]
    fields += [event.horizontalAccuracy, event.speed, event.peak, event.limit, event.duration].map {
      ExportText.decimal($0, ExportPrecision.metres)
    }
    return fields + [
      event.severity.rawValue, ExportText.decimal(event.confidence, 3), CSVText.quoted(event.region ?? ""),
    ]
  }

  package var lines: [[Coordinate]] { event.coordinate.map { [[$0]] } ?? [] }
  package static var geometryMembers: Set<String> { ["latitude", "longitude"] }

  package var gpx: String? {
    event.coordinate.map {
      GPXText.waypoint($0, at: event.time, event.event.name, of: vehicle, type: event.severity.rawValue)
    }
  }
}
