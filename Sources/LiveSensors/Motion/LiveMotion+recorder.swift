internal import Glibc
internal import Motion
internal import Platform
internal import Sensors
internal import Spatial

extension LiveMotion {
  /// Records the accelerometer into a history file. Returns when the records are stored: after the duration,
  /// at the end of the source, or when the task is cancelled. If the sensor stops delivering samples, the
  /// return is delayed by at most two seconds.
  ///
  /// Read the file with `SensorRecorder(reading:)`, also while it is written. In a replay or simulation, samples
  /// have the civil times of the recording: of its track, otherwise the machine's time at the start. The
  /// corresponding call of Core Motion is `CMSensorRecorder.recordAccelerometer(forDuration:)`.
  /// - Parameters:
  ///   - seconds: duration on the clock of the samples: from the first sample, or from the call if no sample
  ///     arrives.
  ///   - path: the history file; created if missing, extended otherwise. One writer at a time.
  /// - Returns: the number of samples lost because the storage was slower than the sensor. None are lost if
  ///   a `LiveDevice` replays a recording at the consumers' speed (`speed: nil`).
  /// - Throws: `MotionFailure` if no sample arrived, unless the task was cancelled; `SystemError` if the file
  ///   cannot be opened or written.
  @discardableResult
  public func recordAccelerometer(
    forDuration seconds: Double, path: String, settings: SensorRecorder.Settings = SensorRecorder.Settings()
  ) async throws -> Int {
    let samples = stream(
      .accelerometer, settings.interval, 1, Self.defaultCapacity, \.accelerometer, backlog)
    let (utcOffset, isVirtual, clock) = (utcOffset, isVirtual, clock)
    // File writes block the thread, so they run on a dedicated thread and not on the cooperative pool.
    let result: Result<(recorded: Int, lost: Int), SystemError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        do throws(SystemError) {
          try DedicatedThread.start(name: "recorder") {
            do throws(SystemError) {
              let boot = try isVirtual ? BootIdentity.random : BootIdentity.ofKernel()
              var recorder = try SensorRecorder(path: path, boot: boot, settings: settings)
              var period = RecordingPeriod(seconds: seconds, start: clock?(), isVirtual: isVirtual)
              let recorded = try Self.record(samples, into: &recorder, &period, clock, utcOffset)
              continuation.resume(returning: .success((recorded, samples.overflowCount)))
            } catch {
              continuation.resume(returning: .failure(error))
            }
          }.detach()
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    } onCancel: {
      samples.stop()
    }
    let (recorded, lost) = try result.get()
    if recorded == 0, !Task.isCancelled {
      throw MotionFailure(
        kinds: [.accelerometer],
        reason: reason(against: .accelerometer)
          ?? "no sample arrived; check that the input has an accelerometer")
    }
    return lost
  }

  /// Returns the number of recorded samples.
  private static func record(
    _ samples: SampleStream<AccelerometerData>, into recorder: inout SensorRecorder,
    _ period: inout RecordingPeriod, _ clock: (@Sendable () -> Timestamp)?, _ utcOffset: () -> Int64?
  ) throws(SystemError) -> Int {
    var count = 0
    recording: while true {
      switch samples.outcome(within: period.timeout(at: clock?())) {
      case .element(let sample):
        guard period.contains(sample.timestamp) else { break recording }
        try recorder.record([sample], utcOffset: utcOffset())
        count += 1
      case .timedOut:
        if period.isOver(at: clock?()) { break recording }
      case .closed: break recording
      }
    }
    samples.stop()
    try recorder.synchronize()
    return count
  }
}

/// The time range of a recording: from the first sample, or from the call until a first sample arrives.
struct RecordingPeriod: Sendable {
  /// Duration in s.
  private let duration: Double
  /// True if timestamps are independent of the machine's clock, so that they do not advance while the
  /// recorder waits.
  private let isVirtual: Bool
  /// End of the recording; nil until a sample arrives if the time of the call is unknown.
  private var end: Timestamp?
  private var hasStarted = false

  /// Seconds after the end for which samples from before the end may still arrive, because samples come in
  /// blocks.
  private static let delay = 2.0
  /// Seconds between two checks of a virtual clock.
  private static let pause = 0.2

  init(seconds: Double, start: Timestamp?, isVirtual: Bool) {
    (duration, self.isVirtual) = (seconds, isVirtual)
    end = start?.advanced(bySeconds: seconds)
  }

  /// Returns whether a sample is to be recorded. The first sample starts the duration.
  mutating func contains(_ timestamp: Timestamp) -> Bool {
    if !hasStarted { (hasStarted, end) = (true, timestamp.advanced(bySeconds: duration)) }
    return end.map { timestamp <= $0 } ?? true
  }

  /// Returns whether samples from before the end can no longer arrive.
  func isOver(at now: Timestamp?) -> Bool { secondsLeft(at: now).map { $0 <= 0 } ?? false }

  /// Returns the seconds to wait for the next sample; nil to wait without limit.
  func timeout(at now: Timestamp?) -> Double? {
    secondsLeft(at: now).map { isVirtual ? Self.pause : max(0, $0) }
  }

  private func secondsLeft(at now: Timestamp?) -> Double? {
    guard let now, let end else { return nil }
    return end.advanced(bySeconds: Self.delay).seconds(since: now)
  }
}

extension BootIdentity {
  /// A random identity, for timestamps that are meaningful only within this run.
  static var random: BootIdentity {
    BootIdentity(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
  }

  /// - Throws: `SystemError` if the kernel does not provide it.
  static func ofKernel() throws(SystemError) -> BootIdentity {
    let path = "/proc/sys/kernel/random/boot_id"
    let bytes = try AtomicFile.read(path, limit: 256) ?? []
    guard let boot = BootIdentity(String(decoding: bytes, as: UTF8.self)) else {
      throw SystemError(operation: "read", object: path, code: EINVAL)
    }
    return boot
  }
}
