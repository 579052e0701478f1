/// A point on the device's own time line: nanoseconds since boot (`CLOCK_BOOTTIME`), or since the start of a
/// recording. It never steps, so algorithms measure intervals with it; `UTCTime` says when that was.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Seconds since boot, rounded to the nearest nanosecond; values outside the representable range (or
  /// NaN) are clamped to its ends (to zero).
  public init(seconds: Double) {
    nanoseconds = Int64(clamping: seconds * 1e9)
  }

  @inlinable public var seconds: Double { Double(nanoseconds) * 1e-9 }

  /// Seconds from `earlier` to this; negative when `earlier` is the later one.
  @inlinable
  public func seconds(since earlier: Timestamp) -> Double {
    Double(nanoseconds &- earlier.nanoseconds) * 1e-9
  }

  /// The point `seconds` later (earlier for a negative number).
  public func advanced(bySeconds seconds: Double) -> Timestamp {
    Timestamp(nanoseconds: nanoseconds.addingClamped(Int64(clamping: seconds * 1e9)))
  }

  @inlinable
  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Int64 {
  /// The nearest integer; the ends of the range for values beyond it, zero for NaN.
  init(clamping value: Double) {
    if value.isNaN {
      self = 0
    } else if value >= 9.2e18 {
      self = .max
    } else if value <= -9.2e18 {
      self = .min
    } else {
      self = Int64(value.rounded())
    }
  }

  func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}
