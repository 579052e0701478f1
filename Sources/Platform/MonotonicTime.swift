/// A time on the kernel's monotonic clock (`CLOCK_MONOTONIC`): nanoseconds since boot, excluding sleep. This clock
/// never steps. It is the clock of all deadlines of threads. `Timestamp` includes sleep, and `UTCTime` is civil time.
@frozen
public struct MonotonicTime: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// The time at which the clock started.
  @inlinable public static var start: MonotonicTime { MonotonicTime(nanoseconds: 0) }

  /// A deadline that never passes.
  @inlinable public static var distantFuture: MonotonicTime { MonotonicTime(nanoseconds: .max) }

  /// Returns the time `seconds` from now.
  public static func after(_ seconds: Double) -> MonotonicTime { now.advanced(bySeconds: seconds) }

  @inlinable public var seconds: Double { Double(nanoseconds) * 1e-9 }

  /// Seconds from `earlier` to this time; negative if `earlier` is later.
  @inlinable
  public func seconds(since earlier: MonotonicTime) -> Double {
    Double(nanoseconds &- earlier.nanoseconds) * 1e-9
  }

  /// Returns the time `seconds` later (earlier for a negative number). The result is at least the start of the clock,
  /// and at most `distantFuture`.
  public func advanced(bySeconds seconds: Double) -> MonotonicTime {
    let sum = Double(nanoseconds) + seconds * 1e9
    guard sum < 9.2e18 else { return .distantFuture }
    guard sum > 0 else { return .start }
    let (result, overflow) = nanoseconds.addingReportingOverflow(Int64((seconds * 1e9).rounded()))
    return overflow ? .distantFuture : MonotonicTime(nanoseconds: result)
  }

  /// Seconds since this time; negative if it is in the future.
  public var secondsElapsed: Double { Self.now.seconds(since: self) }

  /// Seconds until this time; negative if it has passed.
  public var secondsRemaining: Double { seconds(since: .now) }

  public var hasPassed: Bool { Self.now >= self }

  @inlinable
  public static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }
}
