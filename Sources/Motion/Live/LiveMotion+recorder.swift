internal import Glibc
internal import Platform
internal import Spatial

extension LiveMotion {
  /// Records the accelerometer into a history file. Returns when the records are stored: after the duration, at the end of the
  /// source, or when the task is cancelled. Read the file with `SensorRecorder(reading:)`, also while it is written. The
  /// corresponding call of Core Motion is `CMSensorRecorder.recordAccelerometer(forDuration:)`.
  ///
  /// - Parameters:
  ///   - seconds: duration from the first sample, on the device's time line.
  ///   - path: the history file; created if missing, extended otherwise. One writer at a time.
  /// - Throws: `SystemError` if the file cannot be opened or written.
  public func recordAccelerometer(
    forDuration seconds: Double, path: String, settings: SensorRecorder.Settings = SensorRecorder.Settings()
  ) async throws {
    let samples = accelerometerStream(interval: settings.interval, latency: 1)
    let (utcOffset, isVirtual) = (utcOffset, isVirtual)
    // Writing blocks, so it has a thread of its own.
    let result: Result<Void, SystemError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        do throws(SystemError) {
          try DedicatedThread.start(name: "recorder") {
            do throws(SystemError) {
              let boot = try isVirtual ? BootIdentity.random : BootIdentity.ofKernel()
              var recorder = try SensorRecorder(path: path, boot: boot, settings: settings)
              try Self.record(samples, into: &recorder, for: seconds, utcOffset)
              continuation.resume(returning: .success(()))
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
    try result.get()
  }

  private static func record(
    _ samples: SampleStream<AccelerometerData>, into recorder: inout SensorRecorder, for seconds: Double,
    _ utcOffset: () -> Int64?
  ) throws(SystemError) {
    var end: Timestamp?
    while let sample = samples.next() {
      let limit = end ?? sample.timestamp.advanced(bySeconds: seconds)
      end = limit
      guard sample.timestamp <= limit else { break }
      try recorder.record([sample], utcOffset: utcOffset())
    }
    samples.stop()
    try recorder.synchronize()
  }
}

extension BootIdentity {
  /// A random identity for a time line that is meaningful only within this run.
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
