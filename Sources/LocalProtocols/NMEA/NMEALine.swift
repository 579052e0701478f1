internal import Bytes
internal import Spatial

/// A time in the resolution of NMEA 0183, rounded to hundredths of a second.
struct NMEATime: Hashable {
  let year: Int
  let month: Int
  let day: Int
  /// Hundredths of a second since midnight.
  let hundredths: Int64

  init(_ time: UTCTime) {
    let (unit, day): (Int64, Int64) = (10_000_000, 8_640_000)
    // The limits leave a margin for the sums below. Rounding comes first, so that its carry passes into minutes, hours
    // and days.
    let nanoseconds =
      max(-9_200_000_000_000_000_000, min(time.nanoseconds, 9_200_000_000_000_000_000)) + unit / 2
    let rest = nanoseconds % unit
    let total = (nanoseconds - (rest < 0 ? rest + unit : rest)) / unit
    hundredths = (total % day + day) % day
    (year, month, self.day) = UTCTime(nanoseconds: (total - hundredths) * unit).date
  }
}

/// A builder of one sentence of NMEA 0183.
struct NMEALine {
  private var bytes: [UInt8] = []

  init(talker: NMEAWriter.Talker, _ sentence: NMEAWriter.Sentence) {
    // A proprietary sentence has the letter P and its manufacturer's name instead of a talker.
    self.init(talker: sentence == .pashr ? "" : talker.rawValue, sentence)
  }

  /// - Parameter talker: two letters of a source.
  init(talker: String, _ sentence: NMEAWriter.Sentence) {
    bytes.reserveCapacity(82)
    bytes.append(UInt8(ascii: "$"))
    bytes.append(contentsOf: talker.utf8)
    bytes.append(contentsOf: sentence.rawValue.utf8)
  }

  /// Appends the sentence with its checksum and end.
  consuming func finish(into output: inout [UInt8]) {
    let sum = bytes.dropFirst().reduce(0, ^)
    output.append(contentsOf: bytes)
    output.append(UInt8(ascii: "*"))
    for digit in [sum >> 4, sum & 15] {
      output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
    }
    output.append(contentsOf: "\r\n".utf8)
  }

  mutating func empty(_ count: Int) {
    for _ in 0..<count { bytes.append(UInt8(ascii: ",")) }
  }

  mutating func text(_ text: String) {
    empty(1)
    bytes.append(contentsOf: text.utf8)
  }

  /// Writes a number; nothing if it is nil or out of range.
  /// - Parameters:
  ///   - isSigned: true to write a plus sign.
  ///   - isAngle: true to write 0 if rounding makes it 360.
  mutating func number(
    _ number: Double?, places: Int, in range: ClosedRange<Double>, isSigned: Bool = false,
    isAngle: Bool = false
  ) {
    empty(1)
    guard let number, range.contains(number) else { return }
    let start = bytes.count
    if isSigned, number >= 0 { bytes.append(UInt8(ascii: "+")) }
    bytes.append(decimal: number, places: places, isPadded: true)
    if isAngle, bytes[start...].starts(with: "360".utf8) {
      bytes.removeSubrange(start...)
      bytes.append(decimal: 0, places: places, isPadded: true)
    }
  }

  /// Writes an unsigned number with leading zeros; nothing if it is nil.
  mutating func digits(_ number: Int?, width: Int) {
    empty(1)
    if let number { padded(Int64(number), width: width) }
  }

  /// Writes hhmmss.ss.
  mutating func time(_ time: NMEATime?) {
    empty(1)
    guard let time else { return }
    let seconds = time.hundredths / 100
    padded(seconds / 3600, width: 2)
    padded(seconds / 60 % 60, width: 2)
    padded(seconds % 60, width: 2)
    bytes.append(UInt8(ascii: "."))
    padded(time.hundredths % 100, width: 2)
  }

  /// Writes ddmmyy.
  mutating func date(_ time: NMEATime?) {
    empty(1)
    guard let time else { return }
    for part in [time.day, time.month, time.year % 100] { padded(Int64(part), width: 2) }
  }

  /// Writes four fields: latitude, N or S, longitude, E or W.
  mutating func position(_ coordinate: Coordinate?) {
    guard let coordinate else { return empty(4) }
    angle(coordinate.latitude, width: 2)
    text(coordinate.latitude < 0 ? "S" : "N")
    angle(coordinate.longitude, width: 3)
    text(coordinate.longitude < 0 ? "W" : "E")
  }

  /// Writes degrees and minutes with five decimals, which is less than 2 cm. The angle is rounded before its
  /// division, so that the minutes are below 60.
  private mutating func angle(_ degrees: Double, width: Int) {
    empty(1)
    let units = Int64((abs(degrees) * 6_000_000).rounded())
    padded(units / 6_000_000, width: width)
    padded(units / 100_000 % 60, width: 2)
    bytes.append(UInt8(ascii: "."))
    padded(units % 100_000, width: 5)
  }

  private mutating func padded(_ number: Int64, width: Int) {
    let start = bytes.count
    var rest = number
    for _ in 0..<width {
      bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    }
    bytes[start...].reverse()
  }
}
