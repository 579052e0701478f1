/// A time on the device's own clock: nanoseconds since boot (`CLOCK_BOOTTIME`), or since the start of a
/// recording. This clock never steps, so algorithms use it to measure intervals. `UTCTime` is the
/// corresponding civil time.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a timestamp from seconds since boot, rounded to the nearest nanosecond. Values outside the
  /// representable range are clamped, and NaN becomes zero.
  public init(seconds: Double) {
    nanoseconds = Int64(clamping: seconds * 1e9)
  }

  @inlinable public var seconds: Double { Double(nanoseconds) * 1e-9 }

  /// Seconds from `earlier` to this timestamp; negative if `earlier` is later.
  @inlinable
  public func seconds(since earlier: Timestamp) -> Double {
    let (difference, isOverflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return isOverflow ? seconds - earlier.seconds : Double(difference) * 1e-9
  }

  /// Returns the timestamp `seconds` later (earlier for a negative number).
  public func advanced(bySeconds seconds: Double) -> Timestamp {
    Timestamp(nanoseconds: nanoseconds.addingClamped(Int64(clamping: seconds * 1e9)))
  }

  @inlinable
  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Int64 {
  /// Creates the nearest integer; clamps values outside the range and converts NaN to zero.
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

/// Civil time: nanoseconds since 1970-01-01T00:00:00Z without leap seconds, from the receiver or the system
/// clock. It can step; use `Timestamp` to measure intervals.
@frozen
public struct UTCTime: Hashable, Comparable, Sendable {
  public var nanoseconds: Int64

  @inlinable
  public init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  /// Creates a time from seconds since 1970-01-01T00:00:00Z. Values outside the representable range are
  /// clamped, and NaN becomes zero.
  public init(secondsSince1970: Double) {
    nanoseconds = Int64(clamping: secondsSince1970 * 1e9)
  }

  @inlinable public var secondsSince1970: Double { Double(nanoseconds) * 1e-9 }

  /// Seconds from `earlier` to this time.
  @inlinable
  public func seconds(since earlier: UTCTime) -> Double {
    let (difference, isOverflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
    return isOverflow ? secondsSince1970 - earlier.secondsSince1970 : Double(difference) * 1e-9
  }

  public func advanced(bySeconds seconds: Double) -> UTCTime {
    UTCTime(nanoseconds: nanoseconds.addingClamped(Int64(clamping: seconds * 1e9)))
  }

  @inlinable
  public static func < (a: UTCTime, b: UTCTime) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Creates a time from a calendar date and time of day in UTC; nil if a field is out of range.
  public init?(
    year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0,
    nanosecond: Int = 0
  ) {
    guard (1678...2261).contains(year), (1...12).contains(month), day >= 1,
      day <= Self.days(inMonth: month, ofYear: year), (0...23).contains(hour), (0...59).contains(minute),
      (0...60).contains(second), (0...999_999_999).contains(nanosecond)
    else { return nil }
    let days = Self.daysSinceEpoch(year: year, month: month, day: day)
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second
    nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(nanosecond)
  }

  /// Parses RFC 3339, such as `2026-11-21T08:15:30.125Z` or with an offset like `+02:00`. Nil for any other
  /// text.
  public init?(rfc3339 text: String) { self.init(rfc3339UTF8: text.utf8.span) }

  /// Parses RFC 3339 from a substring.
  public init?(rfc3339 text: Substring) { self.init(rfc3339UTF8: text.utf8.span) }

  /// Parses RFC 3339 from UTF-8 bytes, without a copy.
  public init?(rfc3339UTF8 bytes: Span<UInt8>) {
    var reader = DigitReader()
    guard let year = reader.number(digits: 4, bytes), reader.skip("-", bytes),
      let month = reader.number(digits: 2, bytes), reader.skip("-", bytes),
      let day = reader.number(digits: 2, bytes),
      reader.skip("T", bytes) || reader.skip("t", bytes) || reader.skip(" ", bytes),
      let hour = reader.number(digits: 2, bytes), reader.skip(":", bytes),
      let minute = reader.number(digits: 2, bytes), reader.skip(":", bytes),
      let second = reader.number(digits: 2, bytes)
    else { return nil }
    let nanosecond = reader.skip(".", bytes) ? reader.fraction(digits: 9, bytes) : 0
    guard let nanosecond,
      let time = UTCTime(
        year: year, month: month, day: day, hour: hour, minute: minute, second: second,
        nanosecond: nanosecond)
    else { return nil }
    var offset = 0
    if !(reader.skip("Z", bytes) || reader.skip("z", bytes)) {
      let sign = reader.skip("+", bytes) ? -1 : (reader.skip("-", bytes) ? 1 : 0)
      guard sign != 0, let hours = reader.number(digits: 2, bytes), reader.skip(":", bytes),
        let minutes = reader.number(digits: 2, bytes), hours < 24, minutes < 60
      else { return nil }
      offset = sign * (hours * 3600 + minutes * 60)
    }
    guard reader.position == bytes.count else { return nil }
    nanoseconds = time.nanoseconds + Int64(offset) * 1_000_000_000
  }

  /// RFC 3339 in UTC with milliseconds, rounded down, as the wire contract requires.
  public var rfc3339: String {
    String(decoding: rfc3339Bytes, as: UTF8.self)
  }

  /// The 24 ASCII bytes of `rfc3339`.
  public var rfc3339Bytes: [UInt8] {
    let milliseconds = nanoseconds.flooredQuotient(1_000_000)
    let days = milliseconds.flooredQuotient(86_400_000)
    var rest = Int(milliseconds - days * 86_400_000)
    let date = Self.civilDate(daysSinceEpoch: Int(days))
    var bytes = [UInt8](repeating: 0, count: 24)
    func put(_ value: Int, at index: Int, digits: Int) {
      var value = value
      for place in stride(from: index + digits - 1, through: index, by: -1) {
        bytes[place] = UInt8(48 + value % 10)
        value /= 10
      }
    }
    put(date.year, at: 0, digits: 4)
    put(date.month, at: 5, digits: 2)
    put(date.day, at: 8, digits: 2)
    put(rest / 3_600_000, at: 11, digits: 2)
    rest %= 3_600_000
    put(rest / 60_000, at: 14, digits: 2)
    rest %= 60_000
    put(rest / 1000, at: 17, digits: 2)
    put(rest % 1000, at: 20, digits: 3)
    (bytes[4], bytes[7], bytes[10]) = (UInt8(ascii: "-"), UInt8(ascii: "-"), UInt8(ascii: "T"))
    (bytes[13], bytes[16], bytes[19]) = (UInt8(ascii: ":"), UInt8(ascii: ":"), UInt8(ascii: "."))
    bytes[23] = UInt8(ascii: "Z")
    return bytes
  }

  /// The calendar date in UTC.
  public var date: (year: Int, month: Int, day: Int) {
    Self.civilDate(daysSinceEpoch: Int(nanoseconds.flooredQuotient(86_400_000_000_000)))
  }

  // Conversions between days and dates, after H. Hinnant's `days_from_civil` and `civil_from_days`. Those of
  // the C library need a `struct tm`, a locale and, for the inverse, the GNU-only `timegm`.
  private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func civilDate(daysSinceEpoch: Int) -> (year: Int, month: Int, day: Int) {
    let z = daysSinceEpoch + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func days(inMonth month: Int, ofYear year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Int64 {
  fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}

private struct DigitReader {
  private(set) var position = 0

  mutating func skip(_ character: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  mutating func number(digits: Int, _ bytes: Span<UInt8>) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let digit = nextDigit(bytes) else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Parses the digits after the decimal point and scales them to `digits` places. Further digits are
  /// truncated.
  mutating func fraction(digits: Int, _ bytes: Span<UInt8>) -> Int? {
    guard var value = nextDigit(bytes) else { return nil }
    var count = 1
    while let digit = nextDigit(bytes) {
      if count < digits {
        value = value * 10 + digit
        count += 1
      }
    }
    while count < digits {
      value *= 10
      count += 1
    }
    return value
  }

  private mutating func nextDigit(_ bytes: Span<UInt8>) -> Int? {
    guard position < bytes.count, (48...57).contains(bytes[position]) else { return nil }
    position += 1
    return Int(bytes[position - 1]) - 48
  }
}

extension UTCTime {
  /// The year with the elapsed part as a fraction, such as 2027.5; the form in which geophysical models state
  /// dates.
  public var decimalYear: Double {
    let year = date.year
    guard let start = UTCTime(year: year, month: 1, day: 1),
      let end = UTCTime(year: year + 1, month: 1, day: 1)
    else { return Double(year) }
    return Double(year) + seconds(since: start) / end.seconds(since: start)
  }
}
