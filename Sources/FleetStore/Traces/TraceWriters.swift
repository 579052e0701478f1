internal import Fleet
internal import FleetCommand
internal import JSON
internal import Spatial
internal import Telemetry

extension JournalFormat {
  var traceWriter: any JournalWriter<ReportedTrace> { writer(text: TraceLinesWriter()) }
}

/// A text writer with a line for each trace.
struct TraceLinesWriter: JournalWriter {
  var bytes: [UInt8] = []
  private var columns = LineColumns([
    ("TIME", 20, .left), ("VEHICLE", 16, .left), ("NUMBER", 6, .right), ("CAUSE", 7, .left),
    ("STATE", 9, .left),
  ])

  mutating func begin() { write(columns.head(rest: "WHAT IS KNOWN") + "\n") }

  mutating func append(_ told: ReportedTrace) { write(line(told)) }

  /// Returns the line of a trace.
  mutating func line(_ told: ReportedTrace) -> String {
    let trace = told.trace
    return columns.line(
      [
        JournalText.moment(trace.time), "\(told.vehicle)", "\(trace.trace.number)", trace.cause.name,
        trace.state.rawValue,
      ], rest: TraceText.details(told).joined(separator: "  ")) + "\n"
  }

  mutating func end() {}
}

/// Texts about traces.
enum TraceText {
  static func details(_ told: ReportedTrace) -> [String] {
    let trace = told.trace
    var parts: [String?] = [size(trace)]
    if let pieces = trace.pieces, let arrived = told.arrived {
      parts.append(arrived >= pieces ? "\(pieces) pieces" : "\(arrived) of \(pieces) pieces")
    }
    parts.append(
      "\(ExportText.decimal(trace.before, 1)) s before, \(ExportText.decimal(trace.after, 1)) s after")
    if let impact = trace.impact {
      let change = impact.changeOfVelocity
      let plane = Vector3(change.x, change.y, 0).length
      parts += [
        impact.severity.rawValue, impact.speedBefore.map { "at \(QuantityText.speed($0))" },
        "\(impact.isClipped ? "over " : "")\(QuantityText.speed(plane)) from \(Int(impact.direction.rounded()) % 360)°",
        impact.hasRolledOver ? "rolled over" : nil,
      ]
    }
    parts.append(trace.coordinate.map(QuantityText.position))
    return parts.compactMap(\.self)
  }

  /// Formats a checksum with eight hexadecimal digits, as in messages about traces.
  static func checksum(_ checksum: UInt32) -> String {
    let digits = String(checksum, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }

  private static func size(_ trace: TraceMessage) -> String? {
    trace.size.map { $0 < 10_000 ? "\($0) B" : "\(($0 + 500) / 1000) kB" }
  }

  /// Formats the numbers of pieces, such as `2, 4-5`.
  static func ranges(_ pieces: [ClosedRange<Int>]) -> String {
    let shown = pieces.prefix(8).map {
      $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
    }
    return shown.joined(separator: ", ") + (pieces.count > shown.count ? " and more" : "")
  }
}

extension ReportedTrace: JournalEntry {
  static var columns: String {
    "series,number,revision,time,cause,state,before,after,size,pieces,arrived,checksum,latitude,longitude,"
      + "accuracy,severity,speed_before,change_right,change_forward,change_up,frame,direction,peak,clipped,duration,"
      + "largest_tilt,rolled_over"
  }

  var fields: [String] {
    let impact = trace.impact
    var fields = [
      trace.trace.series, "\(trace.trace.number)", "\(trace.revision)", trace.time.rfc3339,
      CSVWriter.quoted(trace.cause.name), trace.state.rawValue, ExportText.decimal(trace.before, 2),
      ExportText.decimal(trace.after, 2),
    ]
    fields += [trace.size, trace.pieces, arrived].map { $0.map(String.init) ?? "" }
    fields += [
      trace.checksum.map(TraceText.checksum) ?? "",
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

  var places: [Coordinate] { trace.coordinate.map { [$0] } ?? [] }
  static var geometryMembers: Set<String> { ["latitude", "longitude"] }

  var gpx: String? {
    trace.coordinate.map {
      GPXText.waypoint(
        $0, at: trace.time, "trace \(trace.trace.number)", of: vehicle, type: trace.cause.name)
    }
  }
}
