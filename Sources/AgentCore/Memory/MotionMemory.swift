internal import Logging
internal import Sensors
internal import Spatial

/// What the agent remembers of its motion sensors on disk beside its messages. Used by the pipeline's thread alone.
struct MotionMemory: ~Copyable {
  /// What is to be remembered, before any file is held.
  struct Plan: Sendable {
    var calibration: CalibrationStore?
    var recorder: AgentConfiguration.Recorder?
    /// Whether the time line is a recording's.
    var isVirtual = false

    init() {}

    init(_ configuration: AgentConfiguration, calibration: CalibrationStore?) {
      self.calibration = calibration
      recorder = configuration.recorder
      isVirtual = configuration.input != .hardware
    }
  }

  private var calibration: CalibrationStore?
  private var history: AccelerometerHistory?

  /// - Throws: `ConfigurationError` when the recorder's file cannot be had.
  init(_ plan: Plan, log: Logger) throws(ConfigurationError) {
    if let recorder = plan.recorder {
      history = try AccelerometerHistory(recorder, isVirtual: plan.isVirtual, log: log)
    } else {
      history = nil
    }
    calibration = plan.calibration
  }

  /// Call it after the pipeline has processed the event.
  mutating func take(_ event: SensorEvent, _ pipeline: borrowing AgentPipeline) {
    guard let timestamp = event.timestamp else { return }
    history?.take(event, utcOffset: pipeline.utcOffset(at: timestamp))
    calibration?.keep(pipeline, at: timestamp)
  }

  /// The last moment of a clean stop.
  mutating func close(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    history?.close()
    calibration?.save(pipeline, at: timestamp)
  }
}
