internal import Glibc
internal import Logging
internal import Motion
internal import Pipeline
internal import Platform
internal import Sensors
internal import Spatial
internal import Telemetry

/// What the agent remembers of its motion sensors on disk beside its messages. Used by the pipeline's thread alone.
struct MotionMemory: ~Copyable {
  /// What is to be remembered, before any file is held.
  struct Plan: Sendable {
    var calibration: CalibrationStore?
    var navigation: NavigationStore?
    var odometer: OdometerStore?
    var trips: TripStore?
    var recorder: AgentConfiguration.Recorder?
    /// Whether the time line is a recording's.
    var isVirtual = false

    init() {}

    init(
      _ configuration: AgentConfiguration, calibration: CalibrationStore?,
      navigation: NavigationStore? = nil, odometer: OdometerStore? = nil, trips: TripStore? = nil
    ) {
      self.calibration = calibration
      self.navigation = navigation
      self.odometer = odometer
      self.trips = trips
      recorder = configuration.recorder
      isVirtual = configuration.input != .hardware
    }
  }

  private var calibration: CalibrationStore?
  private var navigation: NavigationStore?
  private var odometer: OdometerStore?
  private var trips: TripStore?
  private var history: AccelerometerHistory?

  /// - Throws: `ConfigurationError` when the recorder's file cannot be had.
  init(_ plan: Plan, log: Logger) throws(ConfigurationError) {
    if let recorder = plan.recorder {
      history = try AccelerometerHistory(recorder, isVirtual: plan.isVirtual, log: log)
    } else {
      history = nil
    }
    calibration = plan.calibration
    navigation = plan.navigation
    odometer = plan.odometer
    trips = plan.trips
  }

  /// Call it after the pipeline has processed the event.
  mutating func process(_ event: SensorEvent, _ pipeline: borrowing AgentPipeline) {
    guard let timestamp = event.timestamp else { return }
    history?.record(event, utcOffset: pipeline.utcOffset(at: timestamp))
    calibration?.keep(pipeline, at: timestamp)
    navigation?.keep(pipeline, at: timestamp)
  }

  /// Keeps what is due of the odometer, before anything that was told of it leaves.
  /// - Parameter isSet: whether somebody has just set it.
  mutating func keepOdometer(_ pipeline: inout AgentPipeline, at timestamp: Timestamp, isSet: Bool = false) {
    guard let outcome = odometer?.keep(pipeline, at: timestamp, isSet: isSet) else { return }
    pipeline.observe(odometerKept: outcome.state)
  }

  /// Keeps what is due of trips, after the odometer that they tell, and before anything that was told of them leaves.
  mutating func keepTrips(_ pipeline: inout AgentPipeline, at timestamp: Timestamp) {
    if trips?.isUrgent(pipeline) == true { keepOdometer(&pipeline, at: timestamp, isSet: true) }
    trips?.keep(pipeline, at: timestamp)
  }

  /// A piece of what the accelerometer's recorder has of a time; nil where nothing is recorded.
  /// - Throws: `SystemError` for a disk that fails.
  func recorded(from start: UTCTime, to end: UTCTime) throws(SystemError) -> RecordedPiece? {
    try history?.piece(from: start, to: end)
  }

  /// The last moment of a clean stop.
  mutating func close(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    history?.close()
    calibration?.save(pipeline, at: timestamp)
    navigation?.save(pipeline, at: timestamp)
    odometer?.save(pipeline, at: timestamp)
    trips?.save(pipeline, at: timestamp)
  }
}

/// A part of the accelerometer's history.
struct RecordedPiece {
  var piece: SamplePiece
  /// From where to ask on; nil when this was all.
  var next: UTCTime?
  /// From when to when there is something; nil when there is nothing.
  var span: (start: UTCTime, end: UTCTime)?
}

/// Writes the accelerometer's samples to the ring on disk as they come, block by block, on the pipeline's thread.
///
/// A disk that fails costs history, never the agent: the failure is told once, and each block tries again.
struct AccelerometerHistory: ~Copyable {
  private var recorder: SensorRecorder
  private let log: Logger
  private var hasLoggedFailure = false

  /// - Parameter isVirtual: whether the time line is a recording's, which says nothing beyond this run.
  /// - Throws: `ConfigurationError` when the file cannot be had.
  init(_ settings: AgentConfiguration.Recorder, isVirtual: Bool, log: Logger) throws(ConfigurationError) {
    var limits = SensorRecorder.Settings()
    limits.sizeLimit = settings.megabytes * 1_000_000
    do throws(SystemError) {
      let boot = try isVirtual ? Self.ownIdentity() : Self.kernelIdentity()
      recorder = try SensorRecorder(path: settings.path, boot: boot, settings: limits)
    } catch {
      throw ConfigurationError(
        .unreadable, place: "recorder.path",
        problem: error.code == EWOULDBLOCK
          ? "another process writes \(settings.path); give each agent a file of its own"
          : "\(error); make its folder writable, or set recorder.enabled to false")
    }
    self.log = log
    if recorder.damagedSegments > 0 {
      log.notice(
        .recorderRecovered, "recorder found damaged segments",
        metadata: ["path": "\(settings.path)", "segments": "\(recorder.damagedSegments)"])
    }
  }

  /// - Parameter utcOffset: nanoseconds to add to a timestamp for UTC; nil when it is not known.
  mutating func record(_ event: SensorEvent, utcOffset: Int64?) {
    guard case .inertial(let block) = event else { return }
    let samples = block.compactMap { AccelerometerData($0) }
    guard !samples.isEmpty else { return }
    do throws(SystemError) {
      try recorder.record(samples, utcOffset: utcOffset)
      hasLoggedFailure = false
    } catch {
      report(error)
    }
  }

  /// More samples than this (80 s) are not in one piece: 50 kB.
  static let pieceCount = 4000

  func piece(from start: UTCTime, to end: UTCTime) throws(SystemError) -> RecordedPiece {
    let (samples, next) = try recorder.accelerometerData(from: start, to: end, limit: Self.pieceCount)
    var piece = SamplePiece(startingAt: samples.first?.time ?? start)
    for sample in samples {
      // As a sensor measures it, not as Core Motion tells it.
      let force = sample.acceleration * -standardGravity
      piece.append(.accelerometer, [force.x, force.y, force.z], at: sample.time)
    }
    return RecordedPiece(piece: piece, next: next, span: recorder.recordedSpan)
  }

  /// Makes everything safe before the end.
  mutating func close() {
    do throws(SystemError) {
      try recorder.synchronize()
    } catch {
      report(error)
    }
  }

  private mutating func report(_ error: SystemError) {
    if !hasLoggedFailure {
      log.error(.recorderFailed, "accelerometer history lost", metadata: ["reason": "\(error)"])
    }
    hasLoggedFailure = true
  }

  private static func kernelIdentity() throws(SystemError) -> BootIdentity {
    let path = "/proc/sys/kernel/random/boot_id"
    let bytes = try AtomicFile.read(path, limit: 256) ?? []
    guard let boot = BootIdentity(String(decoding: bytes, as: UTF8.self)) else {
      throw SystemError(operation: "read", object: path, code: EINVAL)
    }
    return boot
  }

  private static func ownIdentity() throws(SystemError) -> BootIdentity {
    BootIdentity(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
  }
}
