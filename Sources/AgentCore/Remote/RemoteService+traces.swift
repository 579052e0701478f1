internal import JSON
internal import Pipeline
internal import Spatial
internal import Telemetry

// Requested traces.

extension RemoteService {
  /// Starts a trace, and answers with its number. Its pieces follow after the recording.
  func beginTrace(
    _ request: TraceRequest, _ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline,
    _ traces: inout TraceStore?
  ) {
    // A broker delivers a command again if its acknowledgement was lost. The second delivery must not start a
    // second trace.
    if let id = sender.id, let last = lastTrace, last.id == id {
      return answer(sender, .done, result: last.result)
    }
    switch pipeline.requestTrace(request) {
    case .refused(let reason): answer(sender, .failed, reason)
    case .begun(let run, let message):
      messages += traces?.process(pipeline.drainTraceSteps()) ?? []
      guard let trace = traces?.number(ofRun: run) else {
        return answer(sender, .failed, "traces are disabled")
      }
      let result = JSONValue.object([
        "series": .string(trace.series), "number": .integer(trace.number),
        "time": .string(message.time.rfc3339), "before": .number(Self.hundredths(message.before)),
        "after": .number(Self.hundredths(message.after)),
      ])
      lastTrace = sender.id.map { ($0, result) }
      answer(sender, .done, result: result)
    }
  }

  private static func hundredths(_ seconds: Double) -> Double { (100 * seconds).rounded() / 100 }
}
