internal import Positioning
package import Spatial
package import Telemetry
package import Traces

/// What is to be done about traces, in order. Their messages have neither number nor revision, size, pieces and checksum yet: those are
/// whoever's who keeps the traces. Until then a run names a trace.
package enum TraceStep: Hashable, Sendable {
  /// What there is up to now is to be safe before anything else.
  case begin(run: Int, TraceMessage, TraceFile.Head, blocks: [[UInt8]])
  case append(run: Int, [[UInt8]])
  /// More is known of what the trace was kept for.
  case tell(run: Int, TraceMessage)
  /// - Parameter isWhole: no where the time after the moment was cut short.
  case end(run: Int, TraceMessage, isWhole: Bool)
  /// From now on only these places may be told: of what is kept the others are to be taken out.
  case withhold(ExactPlaces)
}

/// Which places may be told as they are.
package struct ExactPlaces: Hashable, Sendable {
  /// Nil where positions are nobody's business.
  private let privacy: PrivacyPolicy?

  package init(_ configuration: PipelineConfiguration) {
    let location = configuration.location
    privacy = location.isEnabled && location.desiredAccuracy != .reduced ? configuration.privacy : nil
  }

  /// Whether all may be.
  package var areAll: Bool { privacy == PrivacyPolicy() }

  package func contains(_ coordinate: Coordinate) -> Bool { privacy?.isExact(coordinate) ?? false }

  /// A place as it may be told: as it is, or not.
  package func shown(_ coordinate: Coordinate?) -> Coordinate? {
    coordinate.flatMap { contains($0) ? $0 : nil }
  }
}

extension TraceMessage {
  /// The message as it may be told.
  package func shown(_ places: ExactPlaces) -> TraceMessage {
    var shown = self
    if let coordinate, !places.contains(coordinate) {
      (shown.coordinate, shown.horizontalAccuracy) = (nil, nil)
      shown.impact?.speedBefore = nil
    }
    if let rest = impact?.rest, !places.contains(rest) { shown.impact?.rest = nil }
    return shown
  }
}

/// What somebody asks for: every sensor around a moment.
package struct TraceRequest: Hashable, Sendable {
  /// Nil is now.
  package var time: UTCTime?
  /// Seconds; nil is as configured.
  package var before, after: Double?

  package init(time: UTCTime? = nil, before: Double? = nil, after: Double? = nil) {
    (self.time, self.before, self.after) = (time, before, after)
  }

  package enum Answer: Hashable, Sendable {
    /// The run of its steps, and what will be told of it.
    case begun(run: Int, TraceMessage)
    /// Why it cannot be had, and what would help.
    case refused(String)
  }
}

extension PipelineConfiguration {
  /// Which traces are kept.
  package struct Traces: Sendable, Hashable {
    /// The least impact that has one.
    package var severity: CrashPulse.Severity
    /// Seconds before and after the blow.
    package var before, after: Double

    package init(severity: CrashPulse.Severity = .light, before: Double = 15, after: Double = 15) {
      (self.severity, self.before, self.after) = (severity, before, after)
    }

    /// m/s within 150 ms.
    var changeOfVelocity: Double {
      switch severity {
      case .light: 8 / 3.6
      case .moderate: 16 / 3.6
      case .severe: 40 / 3.6
      }
    }
  }
}
