internal import Positioning

// The last half minute of every sensor, kept around impacts.

extension AgentPipeline {
  /// What is to be done about traces since the last call, in order.
  package mutating func drainTraceSteps() -> [TraceStep] { traces?.drain() ?? [] }

  /// Ends a trace that is under way, before a stop.
  package mutating func finishTraces() { traces?.finish() }

  /// What those who keep traces have to know; nil where nobody does.
  var traceContext: TraceReports.Context? {
    guard traces != nil else { return nil }
    let location = configuration.location
    let isOpen = location.isEnabled && location.desiredAccuracy != .reduced
    var context = TraceReports.Context(timeBase: timeBase, privacy: isOpen ? configuration.privacy : nil)
    if let lastPlace, context.shown(lastPlace.coordinate) != nil { context.place = lastPlace }
    return context
  }
}
