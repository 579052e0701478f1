internal import Positioning
package import Spatial
package import Telemetry
package import Traces

/// An action on traces, to be executed in order. Its messages contain neither number nor revision, size,
/// pieces and checksum, which the trace store assigns. Until then a trace is identified by its run.
package enum TraceStep: Hashable, Sendable {
  /// The trace up to now must be stored before anything else.
  case begin(run: Int, TraceMessage, TraceFile.Head, blocks: [[UInt8]])
  case append(run: Int, [[UInt8]])
  /// There is new information about the cause of the trace.
  case tell(run: Int, TraceMessage)
  /// - Parameter isWhole: false if the time after the event was cut short.
  case end(run: Int, TraceMessage, isWhole: Bool)
  /// Only these positions may be published from now on: remove others from stored traces.
  case withhold(ExactPositions)
}

/// Positions that may be published exactly.
package struct ExactPositions: Hashable, Sendable {
  /// Privacy policy; nil if no position may be published exactly.
  private let privacy: PrivacyPolicy?

  package init(_ configuration: PipelineConfiguration) {
    let location = configuration.location
    privacy = location.isEnabled && location.desiredAccuracy != .reduced ? configuration.privacy : nil
  }

  /// True if all positions may be published.
  package var areAll: Bool { privacy == PrivacyPolicy() }

  package func contains(_ coordinate: Coordinate) -> Bool { privacy?.isExact(coordinate) ?? false }

  /// Returns a position if it may be published exactly, otherwise nil.
  package func shown(_ coordinate: Coordinate?) -> Coordinate? {
    coordinate.flatMap { contains($0) ? $0 : nil }
  }
}

extension TraceMessage {
  /// Returns the message without private data.
  package func shown(_ places: ExactPositions) -> TraceMessage {
    var shown = self
    if let coordinate, !places.contains(coordinate) {
      (shown.coordinate, shown.horizontalAccuracy) = (nil, nil)
      shown.impact?.speedBefore = nil
    }
    if let rest = impact?.rest, !places.contains(rest) { shown.impact?.rest = nil }
    return shown
  }
}

/// A request for a trace of all sensors around a time.
package struct TraceRequest: Hashable, Sendable {
  /// Requested time; nil for now.
  package var time: UTCTime?
  /// Length of the trace in s before and after `time`; nil uses the configuration.
  package var before, after: Double?

  package init(time: UTCTime? = nil, before: Double? = nil, after: Double? = nil) {
    (self.time, self.before, self.after) = (time, before, after)
  }

  package enum Answer: Hashable, Sendable {
    /// The run of its steps, and the message to be published.
    case begun(run: Int, TraceMessage)
    /// Reason and remedy.
    case refused(String)
  }
}

extension PipelineConfiguration {
  /// Settings of traces.
  package struct Traces: Sendable, Hashable {
    /// Minimum severity of an impact with a trace.
    package var severity: CrashPulse.Severity
    /// Time in s before and after the impact.
    package var before, after: Double

    package init(severity: CrashPulse.Severity = .light, before: Double = 15, after: Double = 15) {
      (self.severity, self.before, self.after) = (severity, before, after)
    }

    /// Change of velocity in m/s within 150 ms.
    var changeOfVelocity: Double {
      switch severity {
      case .light: 8 / 3.6
      case .moderate: 16 / 3.6
      case .severe: 40 / 3.6
      }
    }
  }
}
