internal import Fleet
internal import FleetCommand
internal import FleetManagement
internal import FleetProgram
internal import FleetStore
internal import Glibc
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry
internal import Traces

/// The `odograph trace` commands: list, fetch, wait for, verify and convert traces.
enum TraceCommand {
  /// The maximum size of a trace file in bytes: four times the maximum size of a trace.
  static let mostBytes = 64 << 20

  /// Shows traces from a recording, or live.
  /// - Throws: `FleetError` for invalid options, a recording or broker that is unavailable, and a failed
  ///   output.
  static func list(_ options: Trace.List) throws(FleetError) -> ExitStatus {
    let selection = try options.selection()
    let format = try options.journal.format()
    signal(SIGPIPE, SIG_IGN)
    if let place = options.journal.recording {
      let reading = try JournalReading(place, options.journal, format.traceWriter)
      return try reading.run("trace", isAll: selection.isAll) { () throws(FleetError) in
        let traces = try reading.recording.traces(selection)
        let arrived = try reading.recording.arrivedPieces(selection) { reading.shouldContinue }
        for var told in traces where reading.shouldContinue {
          told.arrived = told.trace.pieces.map { arrived[told.key]?[$0]?.count ?? 0 }
          _ = try reading.append(told)
        }
        return ""
      }
    }
    let follower = JournalFollower<ReportedTrace>(
      options: options.journal, broker: options.broker, kind: .trace, vehicles: selection.part.vehicles,
      read: { vehicle, payload in
        guard let told = ReportedTrace(vehicle: vehicle, payload: payload), selection.contains(told) else {
          return nil
        }
        return format.isDocument && told.trace.state == .recording ? nil : told
      }, isNew: { $0.isNew($1) })
    return try follower.run(format.traceWriter)
  }

  /// Prints the content of a trace, and whether it is intact. Returns `.differs` if a part is damaged or
  /// missing.
  /// - Throws: `FleetError` for a file that is unreadable or not a trace.
  static func verify(_ options: Trace.Verify) throws(FleetError) -> ExitStatus {
    let bytes = try file(options.file)
    let trace = try TraceReading(bytes, of: options.file)
    try CommandOutput.print(
      options.json ? TraceSummary.json(trace, bytes.count) : Array(TraceSummary.text(trace, bytes.count).utf8)
    )
    return trace.isWhole ? .done : .differs
  }

  /// Converts a trace to another format.
  /// - Throws: `FleetError` for a file that is unreadable or not a trace, and for a failed output.
  static func export(_ options: Trace.Export) throws(FleetError) -> ExitStatus {
    let form = try options.output.form(usual: .csv)
    let bytes = try file(options.file)
    let trace = try TraceReading(bytes, of: options.file)
    let document = try TraceOutputArguments.document(
      bytes, as: form, title: "odograph trace \(trace.time(of: trace.head.moment)?.rfc3339 ?? "")",
      of: options.file)
    signal(SIGPIPE, SIG_IGN)
    var output = try options.output.open(inputs: [options.file])
    guard try output.write(document) else { return .done }
    try output.finish()
    if !options.output.isQuiet {
      StandardError.report("\(trace.samples.count) samples, \(document.count) bytes of \(form.rawValue)")
    }
    return .done
  }

  private static func file(_ path: String) throws(FleetError) -> [UInt8] {
    try InputFile.read(path, limit: mostBytes)
  }
}
