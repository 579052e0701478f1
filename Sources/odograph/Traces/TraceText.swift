internal import Fleet
internal import FleetCommand
internal import FleetProgram
internal import FleetStore
internal import Spatial
internal import Telemetry

extension JournalFormat {
  var traceWriter: any DocumentWriter<ReportedTrace> { writer() ?? TraceLinesWriter() }
}

/// A text writer with a line for each trace.
struct TraceLinesWriter: DocumentWriter {
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

  private static func size(_ trace: TraceMessage) -> String? {
    trace.size.map { $0 < 10_000 ? "\($0) B" : "\(($0 + 500) / 1000) kB" }
  }
}
