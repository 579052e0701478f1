internal import Motion
internal import Positioning
internal import Spatial
internal import Telemetry

// Traces: all sensors during the half minute before impacts and requested times.

extension AgentPipeline {
  /// Removes and returns the trace steps since the last call, in order.
  package mutating func drainTraceSteps() -> [TraceStep] { traces?.drain() ?? [] }

  /// Ends traces in progress before a stop.
  package mutating func finishTraces() {
    processWaitingScans()
    let context = traceContext
    traces?.finish(context)
  }

  /// Requests immediate storage of all traces, because power fails.
  package mutating func saveTraces() {
    processWaitingScans()
    let context = traceContext
    traces?.save(context)
  }

  /// Adds the scans to traces that wait for those of other sensors.
  mutating func processWaitingScans() {
    guard let context = traceContext else { return }
    traces?.processEarly(motion.manager.waitingScans, mounting: navigation?.mounting, context)
  }

  /// The positions that traces may contain.
  package var exactPlaces: ExactPositions { ExactPositions(configuration) }

  /// Starts a requested trace.
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

  /// Context for traces; nil if they are disabled.
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
