internal import Spatial

/// Puts times of day on dates: NMEA says the date rarely, in some sentences only, or never.
struct NMEACalendar: Sendable {
  private static let day: Int64 = 86_400_000_000_000
  /// Midnight of the day that the last moment fell on; 1970-01-01 while the date is unknown.
  private var midnight: UTCTime
  private var isDated: Bool
  private var lastTimeOfDay: Int64?

  /// - Parameter startDate: any time on the first day; nil when it is not known.
  init(startDate: UTCTime?) {
    isDated = startDate != nil
    let start = startDate?.nanoseconds ?? 0
    let rest = start % Self.day
    midnight = UTCTime(nanoseconds: start - (rest < 0 ? rest + Self.day : rest))
  }

  /// The moment of a time of day; nil when the receiver had no time. `clock` is moved along when the first date
  /// ever takes the place of the assumed one, so that this does not look like a gap of decades.
  mutating func moment(
    timeOfDay: Int64?, date: UTCTime?, shifting clock: inout RecordingClock
  ) -> (time: UTCTime, isDated: Bool)? {
    guard let timeOfDay else { return nil }
    if let last = lastTimeOfDay, timeOfDay < last - Self.day / 2 {
      midnight.nanoseconds += Self.day
    }
    lastTimeOfDay = timeOfDay
    if let date {
      if !isDated { clock.shift(byNanoseconds: date.nanoseconds &- midnight.nanoseconds) }
      midnight = date
      isDated = true
    }
    return (UTCTime(nanoseconds: midnight.nanoseconds + timeOfDay), isDated)
  }
}
