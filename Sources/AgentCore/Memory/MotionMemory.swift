internal import Glibc
internal import LiveSensors
package import Logging
internal import Motion
package import Pipeline
internal import Platform
package import Sensors
package import Spatial
package import StoreAndForward
package import Telemetry

/// State on disk that the motion sensors produce: calibration, navigation, odometer, trips and recordings.
/// Messages are stored elsewhere. Used by the pipeline's thread alone.
package struct MotionMemory: ~Copyable {
  /// The stores of a run, before any file is opened.
  package struct Plan: Sendable {
    var calibration: CalibrationStore?
    var navigation: NavigationStore?
    package var odometer: OdometerStore?
    package var trips: TripStore?
    var recorder: AgentConfiguration.Recorder?
    /// Settings of a recorder that records on command only; nil if `recorder` always records, or if commands
    /// may not record.
    var commandedRecorder: AgentConfiguration.Recorder?
    /// True for recorded and simulated input, whose timestamps are not those of the machine's clock.
    var isVirtual = false

    package init() {}

    init(
      _ configuration: AgentConfiguration, calibration: CalibrationStore?,
      navigation: NavigationStore? = nil, odometer: OdometerStore? = nil, trips: TripStore? = nil
    ) {
      self.calibration = calibration
      self.navigation = navigation
      self.odometer = odometer
      self.trips = trips
      recorder = configuration.recorder
      commandedRecorder = configuration.commandedRecorder
      isVirtual = configuration.input != .hardware
    }
  }

  private var calibration: CalibrationStore?
  private var navigation: NavigationStore?
  private var odometer: OdometerStore?
  private var trips: TripStore?
  private var history: AccelerometerHistory?
  private let recorder, commandedRecorder: AgentConfiguration.Recorder?
  /// The reason why a recorder that always records does not record; nil while it does.
  private(set) var recorderProblem: String?
  /// Time of the next attempt to open the recorder's file.
  private var recorderDue = Timestamp(nanoseconds: 0)
  private let isVirtual: Bool
  private let log: Logger

  /// Interval in s between attempts to open the recorder's file.
  private static let recorderInterval = 60.0

  /// A recorder whose file cannot be opened, as on a read-only disk, is logged and retried.
  ///
  /// - Throws: `ConfigurationError` if another process writes the recorder's file.
  package init(_ plan: Plan, log: Logger) throws(ConfigurationError) {
    if let recorder = plan.recorder {
      do throws(ConfigurationError) {
        history = try AccelerometerHistory(recorder, isVirtual: plan.isVirtual, log: log)
      } catch {
        if error.kind == .conflict { throw error }
        history = nil
        recorderProblem = error.problem
        log.error(
          .recorderFailed, "accelerometer not recorded; retried every minute",
          metadata: ["reason": "\(error.problem)"])
      }
    } else if let recorder = plan.commandedRecorder, access(recorder.path, F_OK) == 0 {
      // The file is opened so that an earlier recording can be read. If it cannot be opened, the next command
      // to record reports the error.
      history = try? AccelerometerHistory(
        recorder, isVirtual: plan.isVirtual, isCommanded: true, log: log)
    } else {
      history = nil
    }
    (recorder, commandedRecorder) = (plan.recorder, plan.commandedRecorder)
    isVirtual = plan.isVirtual
    self.log = log
    calibration = plan.calibration
    navigation = plan.navigation
    odometer = plan.odometer
    trips = plan.trips
  }

  /// Stores the state that an event has changed, as far as it is due. Call it after the pipeline has
  /// processed the event.
  package mutating func process(_ event: SensorEvent, _ pipeline: borrowing AgentPipeline) {
    guard let timestamp = event.timestamp else { return }
    if recorderProblem != nil { retryRecorder(at: timestamp) }
    history?.record(event, utcOffset: pipeline.utcOffset(at: timestamp))
    calibration?.keep(pipeline, at: timestamp)
    navigation?.keep(pipeline, at: timestamp)
  }

  private mutating func retryRecorder(at timestamp: Timestamp) {
    guard let recorder, timestamp >= recorderDue else { return }
    recorderDue = timestamp.advanced(bySeconds: Self.recorderInterval)
    do throws(ConfigurationError) {
      history = try AccelerometerHistory(recorder, isVirtual: isVirtual, log: log)
      recorderProblem = nil
      log.notice(.recorderStarted, "accelerometer recorded", metadata: ["path": "\(recorder.path)"])
    } catch { recorderProblem = error.problem }
  }

  /// Stores the odometer if it is due. Call it before messages with the odometer are delivered.
  /// - Parameter isSet: true to store it immediately, because a command has set it.
  package mutating func keepOdometer(
    _ pipeline: inout AgentPipeline, at timestamp: Timestamp, isSet: Bool = false
  ) {
    guard let outcome = odometer?.keep(pipeline, at: timestamp, isSet: isSet) else { return }
    pipeline.observe(odometerKept: outcome.state)
  }

  /// Stores trips if they are due, after the odometer to which they refer. Call it before trip messages are
  /// delivered.
  /// - Parameter messages: the messages that are delivered next.
  /// - Returns: the document for the commit with these messages; nil if there is none.
  package mutating func keepTrips(
    _ pipeline: inout AgentPipeline, with messages: [VehicleMessage] = [], at timestamp: Timestamp
  ) -> PreservedDocument? {
    if trips?.isUrgent(pipeline) == true { keepOdometer(&pipeline, at: timestamp, isSet: true) }
    if trips?.isInStore == true { pipeline.confirm(messages) }
    return trips?.keep(pipeline, at: timestamp)
  }

  /// Records the accelerometer from its next sample, if it does not always record.
  /// - Throws: `ConfigurationError` if the file cannot be opened.
  package mutating func record(seconds: Double) throws(ConfigurationError) {
    if history == nil, let settings = recorder ?? commandedRecorder {
      history = try AccelerometerHistory(
        settings, isVirtual: isVirtual, isCommanded: recorder == nil, log: log)
      recorderProblem = nil
    }
    history?.record(seconds: seconds)
  }

  /// Returns the first recorded accelerometer samples of a time span, at most `pieceCount`; nil if nothing is
  /// recorded.
  /// - Throws: `SystemError` for a failing disk.
  func recorded(from start: UTCTime, to end: UTCTime) throws(SystemError) -> RecordedPiece? {
    try history?.piece(from: start, to: end)
  }

  /// Stores all pending state at a clean stop.
  /// - Returns: the document of trips for the commit with the last messages; nil if there is none.
  mutating func close(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) -> PreservedDocument? {
    history?.close()
    calibration?.save(pipeline, at: timestamp)
    navigation?.save(pipeline, at: timestamp)
    odometer?.save(pipeline, at: timestamp)
    return trips?.save(pipeline, at: timestamp)
  }
}

extension AgentPipeline {
  /// Confirms that messages about trips and driving events are in the outbox.
  mutating func confirm(_ messages: [VehicleMessage]) {
    for message in messages {
      if case .trip(let trip) = message { confirm(trip) }
      if case .drivingEvent(let event) = message { confirm(event) }
    }
  }
}

/// A part of the accelerometer's history.
struct RecordedPiece {
  var piece: SamplePiece
  /// Time from which the caller can request the next piece; nil after the last piece.
  var next: UTCTime?
  /// First and last recorded time; nil if nothing is recorded.
  var span: (start: UTCTime, end: UTCTime)?
}

/// Writes the accelerometer's samples to a ring file on disk, block by block, on the pipeline's thread.
///
/// A failing disk loses history but does not stop the agent: the failure is logged once, and the write is
/// retried with each block.
struct AccelerometerHistory: ~Copyable {
  private var recorder: SensorRecorder
  private let log: Logger
  private var hasLoggedFailure = false
  private var mode: Mode

  private enum Mode {
    /// Everything is recorded.
    case always
    /// Waiting for a command.
    case idle
    /// A command has requested `seconds` of recording from the next sample. If a recording is in progress, it
    /// continues at least until its own end, `until`.
    case requested(seconds: Double, until: Timestamp?)
    case recording(until: Timestamp)
  }

  /// - Parameters:
  ///   - isVirtual: true if timestamps are those of recorded or simulated input, which are valid only within
  ///     this run.
  ///   - isCommanded: true if nothing is recorded without a command.
  /// - Throws: `ConfigurationError` if the file cannot be opened.
  init(
    _ settings: AgentConfiguration.Recorder, isVirtual: Bool, isCommanded: Bool = false, log: Logger
  ) throws(ConfigurationError) {
    mode = isCommanded ? .idle : .always
    var limits = SensorRecorder.Settings()
    limits.sizeLimit = settings.megabytes * 1_000_000
    do throws(SystemError) {
      let boot = try isVirtual ? Self.ownIdentity() : Self.kernelIdentity()
      recorder = try SensorRecorder(path: settings.path, boot: boot, settings: limits)
    } catch {
      throw ConfigurationError(
        error.code == EWOULDBLOCK ? .conflict : .unreadable, place: "recorder.path",
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

  /// - Parameter utcOffset: nanoseconds to add to a timestamp for UTC; nil if unknown.
  mutating func record(_ event: SensorEvent, utcOffset: Int64?) {
    guard case .inertial(let block) = event else { return }
    let samples = block.compactMap { AccelerometerData($0) }
    guard let first = samples.first?.timestamp, isRecording(first) else { return }
    do throws(SystemError) {
      try recorder.record(samples, utcOffset: utcOffset)
      hasLoggedFailure = false
    } catch {
      report(error)
    }
  }

  /// Records for a time in s from the next sample; a recording in progress is extended, never shortened.
  mutating func record(seconds: Double) {
    switch mode {
    case .always: break
    case .idle: mode = .requested(seconds: seconds, until: nil)
    case .requested(let others, let end): mode = .requested(seconds: max(seconds, others), until: end)
    case .recording(let end): mode = .requested(seconds: seconds, until: end)
    }
  }

  /// Returns whether a sample with this timestamp is recorded. At the end of a commanded recording it
  /// synchronizes the file.
  private mutating func isRecording(_ timestamp: Timestamp) -> Bool {
    switch mode {
    case .always: return true
    case .idle: return false
    case .requested(let seconds, let former):
      recorder.recordAccelerometer(forDuration: seconds, from: timestamp)
      let end = timestamp.advanced(bySeconds: seconds)
      mode = .recording(until: former.map { max($0, end) } ?? end)
      return true
    case .recording(let end):
      if timestamp <= end { return true }
      mode = .idle
      close()
      return false
    }
  }

  /// Maximum number of samples in a `RecordedPiece` (80 s, 50 kB).
  static let pieceCount = 4000

  func piece(from start: UTCTime, to end: UTCTime) throws(SystemError) -> RecordedPiece {
    let (samples, next) = try recorder.accelerometerData(from: start, to: end, limit: Self.pieceCount)
    var piece = SamplePiece(startingAt: samples.first?.time ?? start)
    for sample in samples {
      // The published samples have the sign convention of IIO, not of Core Motion.
      let force = sample.acceleration * -standardGravity
      piece.append(.accelerometer, [force.x, force.y, force.z], at: sample.time)
    }
    return RecordedPiece(piece: piece, next: next, span: recorder.recordedSpan)
  }

  /// Synchronizes all recorded samples before the agent stops.
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
