internal import Glibc
package import Spatial

/// What the clock on the wall shows, for the hours of people.
package enum LocalTime: Hashable, Sendable {
  /// Seconds east of UTC, all year.
  case offset(Int)
  /// The zone of this process (`TZ`), with its summer times, as the C library knows it.
  case process

  /// Seconds east of UTC at a time.
  package func offset(at time: UTCTime) -> Int {
    switch self {
    case .offset(let seconds): return seconds
    case .process:
      var seconds = time_t(time.nanoseconds / 1_000_000_000)
      var fields = unsafe tm()
      guard unsafe localtime_r(&seconds, &fields) != nil else { return 0 }
      return unsafe Int(fields.tm_gmtoff)
    }
  }

  /// Seconds since midnight.
  func secondOfDay(at time: UTCTime) -> Int {
    let seconds = Int(time.nanoseconds / 1_000_000_000) + offset(at: time)
    return ((seconds % 86_400) + 86_400) % 86_400
  }

  /// The clock of a zone. A zone with summer times is known by its name once `take` has made it that of the process.
  /// - Parameter name: as in `Europe/Berlin`, or `+05:30`.
  /// - Returns: nil for a zone that nobody knows here.
  package static func known(_ name: String) -> LocalTime? {
    if let seconds = seconds(of: name) { return .offset(seconds) }
    let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/_+-".contains($0)) }
    let folder = unsafe getenv("TZDIR").map { unsafe String(cString: $0) } ?? "/usr/share/zoneinfo"
    var information = stat()
    guard isPlain, !name.hasPrefix("/"), unsafe stat("\(folder)/\(name)", &information) == 0,
      information.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return .process
  }

  /// Makes a zone that is known by its name that of the process. For the start of a program: other threads may be reading what
  /// this changes.
  package static func take(_ name: String) {
    guard known(name) == .process else { return }
    unsafe setenv("TZ", ":\(name)", 1)
    tzset()
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
