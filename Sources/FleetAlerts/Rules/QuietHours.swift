package import Spatial

/// The local time that quiet hours are given in.
package enum LocalTime: Hashable, Sendable {
  /// Seconds east of UTC, all year.
  case offset(Int)
  /// A zone of the system's database, with its summer times.
  case zone(TimeZoneFile)

  /// Seconds east of UTC at a time.
  package func offset(at time: UTCTime) -> Int {
    switch self {
    case .offset(let seconds): seconds
    case .zone(let zone): zone.offset(at: time.nanoseconds / 1_000_000_000)
    }
  }

  /// Seconds since midnight.
  func secondOfDay(at time: UTCTime) -> Int {
    let seconds = Int(time.nanoseconds / 1_000_000_000) + offset(at: time)
    return ((seconds % 86_400) + 86_400) % 86_400
  }

  /// Parses a zone as in `Europe/Berlin`, `UTC` or `+05:30`.
  /// - Returns: nil for a zone that is neither in the system's database nor an offset.
  package init?(parsing name: String) {
    if let seconds = Self.seconds(of: name) {
      self = .offset(seconds)
    } else if let zone = TimeZoneFile(named: name) {
      self = .zone(zone)
    } else {
      return nil
    }
  }

  /// Seconds of `UTC`, `+05:30` or `-03:00`; nil for another text.
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

/// Hours of each day in which nobody is told, as in 22:00-06:00: the first minute belongs to them, the last does not.
package struct QuietHours: Hashable, Sendable, CustomStringConvertible {
  /// Seconds since midnight.
  private let from, until: Int
  package let description: String

  /// - Returns: nil for a text that is no such hours, and for none at all.
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

  /// Seconds until they are over; nil outside of them. In the night in which the clock is set it may be an hour off, so
  /// it is asked again within a minute or so.
  package func remaining(at time: UTCTime, in zone: LocalTime) -> Double? {
    let now = zone.secondOfDay(at: time)
    let length = (until - from + 86_400) % 86_400
    let gone = (now - from + 86_400) % 86_400
    return gone < length ? Double(length - gone) : nil
  }
}
