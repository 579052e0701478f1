internal import Glibc
internal import Logging
internal import Motion
internal import Platform
internal import Sensors
internal import Spatial

/// Writes the accelerometer's samples to the ring on disk as they come, block by block, on the pipeline's thread.
///
/// A disk that fails costs history, never the agent: the failure is told once, and each block tries again.
struct AccelerometerHistory: ~Copyable {
  private var recorder: SensorRecorder
  private let log: Logger
  private var hasToldFailure = false

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
  mutating func take(_ event: SensorEvent, utcOffset: Int64?) {
    guard case .accelerometer(let block) = event else { return }
    do throws(SystemError) {
      try recorder.record(block, utcOffset: utcOffset)
      hasToldFailure = false
    } catch {
      tell(error)
    }
  }

  /// Makes everything safe before the end.
  mutating func close() {
    do throws(SystemError) {
      try recorder.synchronize()
    } catch {
      tell(error)
    }
  }

  private mutating func tell(_ error: SystemError) {
    if !hasToldFailure {
      log.error(.recorderFailed, "accelerometer history lost", metadata: ["reason": "\(error)"])
    }
    hasToldFailure = true
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
