internal import Platform
internal import Spatial

/// Measures how long the machine was suspended: the boot clock includes that time, the monotonic clock does not.
struct SleepMeter {
  private let monotonic: MonotonicTime
  private let boot: Timestamp

  /// Begins the measurement at a time of both clocks.
  init(at monotonic: MonotonicTime, _ boot: Timestamp) { (self.monotonic, self.boot) = (monotonic, boot) }

  /// Returns the time in s for which the machine was suspended since the start.
  func seconds(at monotonic: MonotonicTime, _ boot: Timestamp) -> Double {
    boot.seconds(since: self.boot) - monotonic.seconds(since: self.monotonic)
  }
}
