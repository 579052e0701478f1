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

extension TraceCommand {
  /// Assembles a trace from a recording and writes it.
  /// - Throws: `FleetError` for invalid options, a recording that is missing or incomplete, and a failed
  ///   output.
  static func fetch(_ options: Trace.Fetch) throws(FleetError) -> ExitStatus {
    guard options.number >= 1 else {
      throw .usage("look for", "trace \(options.number)", "traces are numbered from 1")
    }
    let form = try options.output.form()
    signal(SIGPIPE, SIG_IGN)
    let monitor = WorkMonitor(try CommandWaiter(), isQuiet: options.output.isQuiet)
    let recording = try RecordingAddress.open(options.place) { monitor.shouldContinue() }
    var output = try options.output.open(inputs: RecordingAddress.files(of: options.place)) {
      monitor.shouldContinue()
    }
    var selection = TraceSelection()
    (selection.number, selection.series) = (options.number, options.series)
    (selection.part.vehicles, selection.part.fleets) = ([options.vehicle], options.fleet.map { [$0] } ?? [])
    let document: [UInt8]
    do throws(FleetError) {
      document = try fetched(selection, options, from: recording, as: form)
    } catch {
      // A signal makes the current operation fail; the failure itself is not an error.
      monitor.clear()
      if let ending = monitor.ending { return try ending.status() }
      throw error
    }
    monitor.clear()
    guard try output.write(document, shouldContinue: { monitor.shouldContinue() }) else {
      return try monitor.ending?.status() ?? .done
    }
    try output.finish()
    if !options.output.isQuiet {
      StandardError.report(
        "trace \(options.number) of \(options.vehicle), \(document.count) bytes of \(form.rawValue)")
    }
    return .done
  }

  private static func fetched(
    _ selection: TraceSelection, _ options: Trace.Fetch, from recording: any Recording,
    as form: TraceFormat
  ) throws(FleetError) -> [UInt8] {
    let name = "trace \(options.number) of \(options.vehicle)"
    let traces = try recording.traces(selection)
    guard let told = traces.first else {
      throw .usage(
        "find", name,
        "\(recording.name) has none; odograph trace list \(options.vehicle) --recording \(recording.name) lists what it has"
      )
    }
    guard traces.count == 1 else {
      let isOneFleet = Set(traces.map(\.vehicle)).count == 1
      let names = traces.prefix(8).map { isOneFleet ? $0.trace.trace.series : $0.vehicle.fleet }
      throw .usage(
        "choose", name,
        "\(recording.name) has \(traces.count); choose one with \(isOneFleet ? "--series" : "--fleet"): \(names.joined(separator: ", "))"
      )
    }
    let state = try recording.assembly(of: told)
    guard case .whole(let bytes) = state else {
      throw .usage("fetch", name, "\(state.reason(told.trace)) in \(recording.name)")
    }
    return try TraceOutputArguments.document(
      bytes, as: form, title: "odograph trace \(told.vehicle) \(options.number)", of: name)
  }
}
