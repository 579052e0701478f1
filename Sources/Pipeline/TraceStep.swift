package import Positioning
package import Spatial
package import Telemetry
package import Traces

/// An action on traces; actions must be executed in order.
///
/// The messages lack number, revision, size, pieces and checksum, which the trace store assigns. Before that,
/// the run identifies a trace: a number that counts the traces of this process.
package enum TraceStep: Hashable, Sendable {
  /// A trace has started. Its content so far must be stored before anything else.
  case begin(run: Int, TraceMessage, TraceFile.Head, blocks: [[UInt8]])
  case append(run: Int, [[UInt8]])
  /// The message about a trace has changed, because more is known about its cause.
  case tell(run: Int, TraceMessage)
  /// The trace has ended.
  /// - Parameter isWhole: false if it ended before its planned end.
  case end(run: Int, TraceMessage, isWhole: Bool)
  /// From now on, only these positions may be published. Other positions must be removed from stored traces.
  case withhold(ExactPositions)
}

/// The positions that privacy permits to publish exactly.
package struct ExactPositions: Hashable, Sendable {
  /// Privacy policy; nil if no position may be published exactly.
  private let privacy: PrivacyPolicy?

  package init(_ configuration: PipelineConfiguration) {
    let location = configuration.location
    privacy = location.isEnabled && location.desiredAccuracy != .reduced ? configuration.privacy : nil
  }

  /// True if every position may be published exactly.
  package var areAll: Bool { privacy == PrivacyPolicy() }

  package func contains(_ coordinate: Coordinate) -> Bool { shown(coordinate) != nil }

  /// Returns a position if it may be published exactly, otherwise nil.
  package func shown(_ coordinate: Coordinate?) -> ShownCoordinate? {
    coordinate.flatMap { privacy?.exact($0) }
  }
}

extension TraceMessage {
  /// Returns the message without data that privacy does not permit to publish.
  package func shown(_ places: ExactPositions) -> TraceMessage {
    var shown = self
    shown.withholdPositions { !places.contains($0) }
    return shown
  }
}

/// A request for a trace of all sensors around a time.
package struct TraceRequest: Hashable, Sendable {
  /// Requested time; nil for now.
  package var time: UTCTime?
  /// Length of the trace in s before and after `time`; nil uses the configured length.
  package var before, after: Double?

  package init(time: UTCTime? = nil, before: Double? = nil, after: Double? = nil) {
    (self.time, self.before, self.after) = (time, before, after)
  }

  package enum Answer: Hashable, Sendable {
    /// The trace has started; with its run, and the message about it.
    case begun(run: Int, TraceMessage)
    /// The request was refused; with the reason and the remedy.
    case refused(String)
  }
}

extension PipelineConfiguration {
  /// Settings of traces.
  package struct Traces: Sendable, Hashable {
    /// Minimum severity of an impact that causes a trace.
    package var severity: CrashPulse.Severity
    /// Length of a trace in s before and after the impact.
    package var before, after: Double

    package init(severity: CrashPulse.Severity = .light, before: Double = 15, after: Double = 15) {
      (self.severity, self.before, self.after) = (severity, before, after)
    }

    /// Minimum change of velocity in m/s within 150 ms of an impact that causes a trace.
    var changeOfVelocity: Double {
      switch severity {
      case .light: 8 / 3.6
      case .moderate: 16 / 3.6
      case .severe: 40 / 3.6
      }
    }
  }
}
