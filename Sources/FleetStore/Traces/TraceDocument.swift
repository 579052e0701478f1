package import Fleet

/// The format of a trace file.
package enum TraceFormat: String, Hashable, Sendable, FileFormat {
  /// The original file of the vehicle, unchanged.
  case odotrace
  /// A sensor recording in CSV, with inertial and barometer samples only.
  case csv
  case mcap
}

/// A trace in an output format.
package struct TraceDocument: Sendable {
  package var bytes: [UInt8]
  /// A description of the damage of the trace, whose intact part is converted; nil if there is none.
  package var damage: String?

  /// Converts a trace.
  ///
  /// - Parameters:
  ///   - bytes: the trace as sent by the vehicle.
  ///   - form: the output format.
  ///   - title: a description of the trace for the first line of CSV.
  ///   - name: the name of the trace in errors.
  ///   - remedy: text for users about a format for everything that CSV cannot contain.
  /// - Throws: `FleetError` for bytes that are not a trace, and for a trace without samples that the format
  ///   supports.
  package init(
    _ bytes: [UInt8], as form: TraceFormat, title: String, of name: String,
    remedy: String = "the format mcap contains the rest"
  ) throws(FleetError) {
    guard form != .odotrace else {
      self.bytes = bytes
      return
    }
    let trace = try TraceReading(bytes, of: name)
    damage = trace.damage
    if form == .mcap {
      self.bytes = TraceMCAP.bytes(trace.head, trace.samples)
      return
    }
    guard let text = TraceCSV.text(trace, title: title) else {
      throw .usage(
        "write", "\(name) as CSV",
        "it has no samples of inertial sensors or a barometer; \(remedy)"
          + (damage.map { " (\($0))" } ?? ""))
    }
    self.bytes = Array(text.utf8)
  }
}
