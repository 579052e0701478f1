package import Spatial

/// The time zone in which quiet hours are stated.
package enum LocalTime: Hashable, Sendable {
  /// A constant offset from UTC in s, positive to the east.
  case offset(Int)
  /// A time zone of the system's database, including summer time.
  case zone(TimeZoneFile)

  /// Returns the offset from UTC in s at a time, positive to the east.
  package func offset(at time: UTCTime) -> Int {
    switch self {
    case .offset(let seconds): seconds
    case .zone(let zone): zone.offset(at: time.nanoseconds / 1_000_000_000)
    }
  }

  /// Returns the local time at a time, in seconds since midnight.
  func secondOfDay(at time: UTCTime) -> Int {
    let seconds = Int(time.nanoseconds / 1_000_000_000) + offset(at: time)
    return ((seconds % 86_400) + 86_400) % 86_400
  }

  /// Parses the name of a time zone or an offset, such as `Europe/Berlin`, `UTC` or `+05:30`.
  /// - Returns: nil for a text that is neither a time zone of the system's database nor an offset.
  package init?(parsing name: String) {
    if let seconds = Self.seconds(of: name) {
      self = .offset(seconds)
    } else if let zone = TimeZoneFile(named: name) {
      self = .zone(zone)
    } else {
      return nil
    }
  }

  /// Returns the seconds of an offset such as `UTC`, `+05:30` or `-03:00`; nil for other texts.
  private static func seconds(of text: String) -> Int? {
    if text == "UTC" || text == "Z" { return 0 }
    let parts = text.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
    guard let sign = text.first, sign == "+" || sign == "-", parts.count == 2,
      parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { ("0"..."9").contains($0) } }),
      let hours = Int(parts[0]), let minutes = Int(parts[1]), hours <= 14, minutes < 60
    else { return nil }
    return (sign == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
  }
}

/// The daily hours without notifications, such as 22:00-06:00. The start is included, the end is not.
package struct QuietHours: Hashable, Sendable, CustomStringConvertible {
  /// The start and the end in seconds since local midnight.
  private let from, until: Int
  package let description: String

  /// Parses a range such as `22:00-06:00`.
  ///
  /// - Returns: nil for an invalid text, and if start and end are equal.
  package init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let from = Self.seconds(parts[0]), let until = Self.seconds(parts[1]),
      from != until
    else { return nil }
    (self.from, self.until, description) = (from, until, text)
  }

  private static func seconds(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2,
      parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { ("0"..."9").contains($0) } }),
      let hour = Int(parts[0]), let minute = Int(parts[1]), minute < 60,
      hour < 24 || hour == 24 && minute == 0
    else { return nil }
    return (hour * 3600 + minute * 60) % 86_400
  }

  /// Returns the seconds until the quiet hours end; nil outside of quiet hours. In a night in which summer
  /// time starts or ends, the value can be wrong by an hour. The caller therefore checks again within a
  /// minute.
  package func remaining(at time: UTCTime, in zone: LocalTime) -> Double? {
    let now = zone.secondOfDay(at: time)
    let length = (until - from + 86_400) % 86_400
    let gone = (now - from + 86_400) % 86_400
    return gone < length ? Double(length - gone) : nil
  }
}
