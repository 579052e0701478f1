internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// A part of the pipeline: a value that processes inputs, and shares messages and results through the context.
///
/// A part does not access other parts. `AgentPipeline` owns the parts, and lists them for each input in the order of
/// processing. Every member has a default that does nothing, so that a part implements only what it needs.
protocol PipelinePart: Sendable {
  /// Processes a report of the receiver, and may change the step's results for the next parts.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext)

  /// Processes an inertial scan, in order of time, and may change the step's results for the next parts.
  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext)

  /// Processes a position from any source, and may improve it for the next parts.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext)

  /// Processes readings of the CAN bus, and may change the step's results for the next parts.
  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext)

  /// Processes air pressures, in order of time.
  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext)

  /// Processes a change of a source's state.
  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext)

  /// Processes a change between rest and motion.
  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext)

  /// Advances the time. `timestamp` can be earlier than `context.now`, because sensors deliver with different delays.
  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext)

  /// Returns the next time at which `advance` must be called if no input arrives earlier; nil for none.
  func nextDeadline(_ context: PipelineContext) -> Timestamp?

  /// Publishes waiting messages, before a stop or a change of the settings.
  mutating func publishPending(_ context: inout PipelineContext)

  /// Adopts the settings of the context. State that does not depend on changed settings is retained.
  /// - Parameter old: the previous settings.
  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext)

  /// Adds the part's requirements for sensors.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext)

  /// Adds the part's fields to a `status` message.
  func describe(in status: inout StatusMessage, _ context: PipelineContext)
}

extension PipelinePart {
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {}
  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {}
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {}
  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {}
  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext) {}
  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {}
  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {}
  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {}
  func nextDeadline(_ context: PipelineContext) -> Timestamp? { nil }
  mutating func publishPending(_ context: inout PipelineContext) {}
  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {}
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {}
  func describe(in status: inout StatusMessage, _ context: PipelineContext) {}
}

/// A part that exists only while the settings enable it.
protocol OptionalPart: PipelinePart {
  /// Returns nil if the settings disable the part.
  init?(_ configuration: PipelineConfiguration)

  /// Adopts the settings of the context.
  /// - Returns: false if they disable the part, and it can be removed.
  mutating func isRetained(from old: PipelineConfiguration, _ context: inout PipelineContext) -> Bool
}

extension Optional: PipelinePart where Wrapped: OptionalPart {
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    self?.process(&step, &context)
  }

  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    self?.process(&step, &context)
  }

  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    self?.process(&location, &context)
  }

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    self?.process(&step, &context)
  }

  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext) {
    self?.process(pressures, &context)
  }

  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {
    self?.observe(change, &context)
  }

  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    self?.observe(change, &context)
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    self?.advance(to: timestamp, &context)
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? { self?.nextDeadline(context) }

  mutating func publishPending(_ context: inout PipelineContext) { self?.publishPending(&context) }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    guard self != nil else {
      self = Wrapped(context.configuration)
      return
    }
    if self?.isRetained(from: old, &context) == false { self = nil }
  }

  func add(to needs: inout PowerNeeds, _ context: PipelineContext) { self?.add(to: &needs, context) }

  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    self?.describe(in: &status, context)
  }
}
