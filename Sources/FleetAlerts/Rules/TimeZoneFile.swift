internal import Glibc
internal import Platform
internal import Spatial

/// The offsets of a time zone, read from a file of the system's database (RFC 8536, "TZif"). The C library
/// supports only one time zone per process, and changing it (`setenv`) is unsafe after threads have started.
package struct TimeZoneFile: Hashable, Sendable {
  /// The times at which the offset changes, in seconds since 1970, ascending. `offsets` has one element more,
  /// because its first element applies before the first change.
  private var starts: [Int64] = []
  /// Offsets from UTC in s, positive to the east.
  private var offsets: [Int] = []
  /// The rule for times after the last element of `starts`; nil if the last offset applies to them.
  private var rule: SummerTimeRule?

  /// Reads a time zone by its name, such as `Europe/Berlin`.
  /// - Parameters:
  ///   - name: the name.
  ///   - folder: the folder of the database; nil for `TZDIR` or `/usr/share/zoneinfo`.
  /// - Returns: nil if the database has no such zone, or if its file is damaged.
  package init?(named name: String, folder: String? = nil) {
    let isPlain = name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/_+-".contains($0)) }
    guard isPlain, !name.hasPrefix("/"), !name.isEmpty else { return nil }
    let variable = unsafe getenv("TZDIR").map { unsafe String(cString: $0) }
    let folder = folder ?? variable ?? "/usr/share/zoneinfo"
    guard let bytes = try? AtomicFile.contents(of: "\(folder)/\(name)", limit: 1 << 20) else { return nil }
    self.init(bytes: bytes)
  }

  /// Parses the content of a TZif file of version 2 or later; nil if it is damaged.
  package init?(bytes: [UInt8]) {
    guard let first = Header(bytes, at: 0), first.version >= UInt8(ascii: "2"),
      let header = Header(bytes, at: Header.size + first.dataSize(timeSize: 4))
    else { return nil }
    let times = header.end
    let indices = times + 8 * header.timeCount
    let types = indices + header.timeCount
    let footer = times + header.dataSize(timeSize: 8)
    guard header.typeCount > 0, footer <= bytes.count else { return nil }
    func offset(ofType type: Int) -> Int {
      Int(Int32(truncatingIfNeeded: bytes.bigEndian(4, at: types + 6 * type)))
    }
    offsets = [offset(ofType: 0)]
    for index in 0..<header.timeCount {
      let type = Int(bytes[indices + index])
      guard type < header.typeCount else { return nil }
      starts.append(bytes.bigEndian(8, at: times + 8 * index))
      offsets.append(offset(ofType: type))
    }
    guard zip(starts, starts.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
    let text = bytes[footer...].drop { $0 == 10 }.prefix { $0 != 10 }
    rule = SummerTimeRule(String(decoding: text, as: UTF8.self))
  }

  /// Returns the offset from UTC in s, positive to the east.
  /// - Parameter time: seconds since 1970.
  package func offset(at time: Int64) -> Int {
    if let last = starts.last, time >= last, let rule { return rule.offset(at: time) }
    if starts.isEmpty, let rule { return rule.offset(at: time) }
    var (low, high) = (0, starts.count)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return offsets[low]
  }

  private struct Header {
    static let size = 44
    let version: UInt8
    let end: Int
    let timeCount, typeCount: Int
    private let characters, leapSeconds, standardMarks, universalMarks: Int

    init?(_ bytes: [UInt8], at start: Int) {
      guard start >= 0, start + Self.size <= bytes.count, bytes[start..<start + 4].elementsEqual("TZif".utf8)
      else { return nil }
      version = bytes[start + 4]
      let counts = (0..<6).map { Int(bytes.bigEndian(4, at: start + 20 + 4 * $0) & 0xFFFF_FFFF) }
      // The limit prevents an overflow in the sums below. The counts in actual time zone files are less than
      // a thousandth of the limit.
      guard counts.allSatisfy({ $0 < 1 << 20 }) else { return nil }
      (universalMarks, standardMarks, leapSeconds) = (counts[0], counts[1], counts[2])
      (timeCount, typeCount, characters) = (counts[3], counts[4], counts[5])
      end = start + Self.size
    }

    func dataSize(timeSize: Int) -> Int {
      timeCount * (timeSize + 1) + 6 * typeCount + characters + leapSeconds * (timeSize + 4) + standardMarks
        + universalMarks
    }
  }
}

extension [UInt8] {
  /// Returns a signed big-endian number.
  /// - Parameters:
  ///   - count: the size in bytes. The caller must ensure that the bytes exist.
  ///   - start: the index of the first byte.
  fileprivate func bigEndian(_ count: Int, at start: Int) -> Int64 {
    var value: UInt64 = 0
    for index in start..<Swift.min(start + count, self.count) { value = value << 8 | UInt64(self[index]) }
    return Int64(truncatingIfNeeded: value)
  }
}

/// The rule for summer time in the footer of a TZif file, a POSIX `TZ` text such as
/// `CET-1CEST,M3.5.0,M10.5.0/3`.
package struct SummerTimeRule: Hashable, Sendable {
  /// The day of the year on which summer time starts or ends.
  private enum Day: Hashable {
    /// A weekday (0 is Sunday) in week 1 to 5 of a month; week 5 means the last one.
    case weekday(month: Int, week: Int, weekday: Int)
    /// The day of the year, 1 to 365; 29 February is not counted.
    case julian(Int)
    /// The day of the year, 0 to 365; 29 February is counted.
    case ordinal(Int)
  }

  private struct Change: Hashable {
    var day: Day
    /// Local time in seconds since midnight. Some time zones have negative values, or values above a day.
    var time = 7200
  }

  private let standard: Int
  private var summer: (offset: Int, start: Change, end: Change)?

  package static func == (a: Self, b: Self) -> Bool {
    a.standard == b.standard && a.summer?.offset == b.summer?.offset && a.summer?.start == b.summer?.start
      && a.summer?.end == b.summer?.end
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(standard) }

  /// Parses a POSIX `TZ` text.
  /// - Returns: nil for an empty or invalid text.
  package init?(_ text: String) {
    var rest = text[...]
    guard Self.name(&rest), let west = Self.time(&rest) else { return nil }
    standard = -west
    guard !rest.isEmpty else { return }
    guard Self.name(&rest) else { return nil }
    var offset = standard + 3600
    if rest.first != "," {
      guard let west = Self.time(&rest) else { return nil }
      offset = -west
    }
    guard let start = Self.change(&rest), let end = Self.change(&rest), rest.isEmpty else { return nil }
    summer = (offset, start, end)
  }

  package func offset(at time: Int64) -> Int {
    guard let summer else { return standard }
    let year = UTCTime(
      nanoseconds: (time + Int64(standard)).multipliedReportingOverflow(by: 1_000_000_000).partialValue
    )
    .date.year
    let start = Self.time(of: summer.start, in: year) - Int64(standard)
    let end = Self.time(of: summer.end, in: year) - Int64(summer.offset)
    let isSummer = start < end ? start <= time && time < end : !(end <= time && time < start)
    return isSummer ? summer.offset : standard
  }

  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  /// Returns the local time of a change in a year, in seconds since 1970.
  private static func time(of change: Change, in year: Int) -> Int64 {
    let before = year - 1
    let newYear = 365 * before + before / 4 - before / 100 + before / 400 - 719_162
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var day = newYear
    switch change.day {
    case .ordinal(let number): day += number
    case .julian(let number): day += number - 1 + (isLeap(year) && number >= 60 ? 1 : 0)
    case .weekday(let month, let week, let weekday):
      day += lengths.prefix(month - 1).reduce(0, +)
      // 1970-01-01 was a Thursday, which is weekday 4.
      let first = ((day + 4) % 7 + 7) % 7
      var number = (weekday - first + 7) % 7 + 7 * (week - 1)
      if number >= lengths[month - 1] { number -= 7 }
      day += number
    }
    return Int64(day) * 86_400 + Int64(change.time)
  }

  // MARK: Parsing

  private static func name(_ rest: inout Substring) -> Bool {
    if rest.first == "<" {
      guard let end = rest.firstIndex(of: ">") else { return false }
      rest = rest[rest.index(after: end)...]
      return true
    }
    let name = rest.prefix { $0.isLetter }
    rest = rest[name.endIndex...]
    return name.count >= 3
  }

  private static func number(_ rest: inout Substring) -> Int? {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    guard digits.count <= 3, let number = Int(digits) else { return nil }
    rest = rest[digits.endIndex...]
    return number
  }

  /// Parses a time such as `+hh:mm:ss`, of which minutes and seconds are optional, and returns it in seconds.
  private static func time(_ rest: inout Substring) -> Int? {
    let sign = rest.first == "-" ? -1 : 1
    if rest.first == "-" || rest.first == "+" { rest = rest.dropFirst() }
    guard var seconds = number(&rest).map({ $0 * 3600 }) else { return nil }
    for unit in [60, 1] where rest.first == ":" {
      rest = rest.dropFirst()
      guard let part = number(&rest) else { return nil }
      seconds += part * unit
    }
    return sign * seconds
  }

  private static func change(_ rest: inout Substring) -> Change? {
    guard rest.first == "," else { return nil }
    rest = rest.dropFirst()
    var change: Change
    switch rest.first {
    case "M":
      rest = rest.dropFirst()
      guard let month = number(&rest), (1...12).contains(month), rest.first == "." else { return nil }
      rest = rest.dropFirst()
      guard let week = number(&rest), (1...5).contains(week), rest.first == "." else { return nil }
      rest = rest.dropFirst()
      guard let weekday = number(&rest), (0...6).contains(weekday) else { return nil }
      change = Change(day: .weekday(month: month, week: week, weekday: weekday))
    case "J":
      rest = rest.dropFirst()
      guard let day = number(&rest), (1...365).contains(day) else { return nil }
      change = Change(day: .julian(day))
    default:
      guard let day = number(&rest), (0...365).contains(day) else { return nil }
      change = Change(day: .ordinal(day))
    }
    guard rest.first == "/" else { return change }
    rest = rest.dropFirst()
    guard let time = time(&rest) else { return nil }
    change.time = time
    return change
  }
}
