internal import Fleet
internal import JSON
package import Spatial
internal import Telemetry

extension ReportedTrace: JournalEntry {
  package static var columns: String {
    "series,number,revision,time,cause,state,before,after,size,pieces,arrived,checksum,latitude,longitude,"
      + "accuracy,severity,speed_before,change_right,change_forward,change_up,frame,direction,peak,clipped,duration,"
      + "largest_tilt,rolled_over"
  }

  package var fields: [String] {
    let impact = trace.impact
    var fields = [
      trace.trace.series, "\(trace.trace.number)", "\(trace.revision)", trace.time.rfc3339,
      CSVText.quoted(trace.cause.name), trace.state.rawValue, ExportText.decimal(trace.before, 2),
      ExportText.decimal(trace.after, 2),
    ]
    fields += [trace.size, trace.pieces, arrived].map { $0.map(String.init) ?? "" }
    fields += [
      trace.checksum.map(Self.checksum) ?? "",
      trace.coordinate.map { ExportText.degrees($0.latitude) } ?? "",
      trace.coordinate.map { ExportText.degrees($0.longitude) } ?? "",
      ExportText.metres(trace.horizontalAccuracy),
      impact?.severity.rawValue ?? "",
    ]
    let change = impact?.changeOfVelocity
    fields += [impact?.speedBefore, change?.x, change?.y, change?.z].map { ExportText.decimal($0, 2) }
    return fields + [
      impact.map { $0.isInVehicleFrame ? "vehicle" : "device" } ?? "",
      ExportText.decimal(impact?.direction, 1),
      ExportText.decimal(impact?.peak, 1), impact.map { "\($0.isClipped)" } ?? "",
      ExportText.decimal(impact?.duration, 3), ExportText.decimal(impact?.largestTilt, 1),
      impact.map { "\($0.hasRolledOver)" } ?? "",
    ]
  }

  package var lines: [[Coordinate]] { trace.coordinate.map { [[$0]] } ?? [] }
  package static var geometryMembers: Set<String> { ["latitude", "longitude"] }

  package var gpx: String? {
    trace.coordinate.map {
      GPXText.waypoint(
        $0, at: trace.time, "trace \(trace.trace.number)", of: vehicle, type: trace.cause.name)
    }
  }

  /// Formats a checksum with eight hexadecimal digits, as in messages about traces.
  private static func checksum(_ checksum: UInt32) -> String {
    let digits = String(checksum, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}
