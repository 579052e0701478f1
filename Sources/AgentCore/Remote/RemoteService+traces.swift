internal import JSON
internal import Pipeline
internal import Spatial
internal import Telemetry

// A moment that somebody asks for as a trace.

extension RemoteService {
  /// Begins a trace, and answers which one it is: its pieces follow when its time is over.
  func beginTrace(
    _ request: TraceRequest, _ sender: PendingCommands.Sender, _ pipeline: inout AgentPipeline,
    _ traces: inout TraceStore?
  ) {
    // A broker delivers a command again whose receipt was lost: one moment is one trace.
    if let id = sender.id, let last = lastTrace, last.id == id {
      return answer(sender, .done, result: last.result)
    }
    switch pipeline.requestTrace(request) {
    case .refused(let reason): answer(sender, .failed, reason)
    case .begun(let run, let message):
      messages += traces?.process(pipeline.drainTraceSteps()) ?? []
      guard let trace = traces?.number(ofRun: run) else {
        return answer(sender, .failed, "this vehicle keeps no traces")
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
