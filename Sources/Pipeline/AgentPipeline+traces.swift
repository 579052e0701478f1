internal import Motion
internal import Positioning
internal import Spatial
internal import Telemetry

// The last half minute of every sensor, kept around impacts and moments that somebody asks for.

extension AgentPipeline {
  /// What is to be done about traces since the last call, in order.
  package mutating func drainTraceSteps() -> [TraceStep] { traces?.drain() ?? [] }

  /// Ends traces that are under way, before a stop.
  package mutating func finishTraces() {
    processWaitingScans()
    let context = traceContext
    traces?.finish(context)
  }

  /// Has what there is of traces kept at once, as power fails.
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

  /// Which places may be in traces.
  package var exactPlaces: ExactPlaces { ExactPlaces(configuration) }

  /// Begins a trace that somebody asks for.
  package mutating func requestTrace(_ request: TraceRequest) -> TraceRequest.Answer {
    guard let context = traceContext else { return .refused("this vehicle keeps no traces (trace.enabled)") }
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

  /// What those who keep traces have to know; nil where nobody does.
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
