internal import Motion
internal import Positioning
internal import Spatial
internal import Telemetry

// Traces: recordings of all sensors around impacts and around requested times.

extension AgentPipeline {
  /// Removes and returns the actions on traces since the last call, in the order of their execution.
  package mutating func drainTraceSteps() -> [TraceStep] { traces?.drain() ?? [] }

  /// Ends traces in progress, before the pipeline stops.
  package mutating func finishTraces() {
    processWaitingScans()
    let context = traceContext
    traces?.finish(context)
  }

  /// Requests that all traces are stored immediately, because power may fail.
  package mutating func saveTraces() {
    processWaitingScans()
    let context = traceContext
    traces?.save(context)
  }

  /// Adds scans to the traces without waiting any longer for older scans of other sensors.
  mutating func processWaitingScans() {
    guard let context = traceContext else { return }
    traces?.processEarly(motion.manager.waitingScans, mounting: navigation?.mounting, context)
  }

  /// The positions that traces may contain.
  package var exactPlaces: ExactPositions { ExactPositions(configuration) }

  /// Starts a trace on request.
  package mutating func requestTrace(_ request: TraceRequest) -> TraceRequest.Answer {
    guard let context = traceContext else { return .refused("traces are disabled (trace.enabled)") }
    var moment: Timestamp?
    if let time = request.time {
      guard let offset = timeBase.knownOffset(at: now) else {
        return .refused("this vehicle has no civil time yet; ask for now, without a time")
      }
      let (sum, overflow) = time.nanoseconds.subtractingReportingOverflow(offset)
      moment = Timestamp(nanoseconds: overflow ? .max / 2 : sum)
    }
    let now = now
    return traces?.begin(request, at: moment, now: now, context) ?? .refused("traces have ended")
  }

  /// Data of the pipeline that traces need; nil if traces are disabled.
  var traceContext: TraceReports.Context? {
    guard traces != nil else { return nil }
    var context = TraceReports.Context(timeBase: timeBase, places: exactPlaces)
    if motion.activity == .stationary { context.restSince = motion.activitySince }
    if let lastPlace, context.places.contains(lastPlace.coordinate),
      configuration.privacy.shown(lastPlace)?.coordinate == lastPlace.coordinate
    {
      context.place = lastPlace
    }
    return context
  }
}
