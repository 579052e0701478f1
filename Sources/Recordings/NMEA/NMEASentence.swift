internal import Bytes
internal import Spatial

/// An NMEA 0183 sentence with a valid checksum.
struct NMEASentence {
  /// The reason why a line that starts like a sentence is invalid.
  enum Fault: Error, Equatable {
    /// The `*` and two hexadecimal digits at the end are missing: the line was truncated or overwritten.
    case checksumMissing
    /// The checksum is `stated`, but the characters before it give `computed`.
    case checksumWrong(stated: UInt8, computed: UInt8)
    /// The checksum is valid, but talker and type are missing.
    case nameMissing

    var description: String {
      switch self {
      case .checksumMissing: "the sentence does not end with a checksum"
      case .checksumWrong(let stated, let computed):
        "the sentence's checksum is \(Self.hex(stated)) but its characters give \(Self.hex(computed))"
      case .nameMissing: "the sentence has no talker and type"
      }
    }

    private static func hex(_ byte: UInt8) -> String {
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
  }

  /// Talker, as in `GP` or `GN`; `P` for a manufacturer's own sentence.
  let talker: String
  /// Sentence type, as in `RMC`; for a manufacturer's own sentence everything after the `P`.
  let type: String
  /// Fields after the name; an empty field means that the value is missing.
  private let fields: [ArraySlice<UInt8>]

  /// Parses a line; nil unless it starts like a sentence (`$` and a printable character), because logs also
  /// contain comments, other protocols and binary data.
  init?(line: ArraySlice<UInt8>) throws(Fault) {
    guard line.first == UInt8(ascii: "$"), let second = line.dropFirst().first,
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(second)
    else { return nil }
    var body = line.dropFirst()
    while let last = body.last, last == 32 || last == 13 { body.removeLast() }
    guard let star = body.lastIndex(of: UInt8(ascii: "*")), body.endIndex - star == 3,
      let high = Self.hexDigit(body[star + 1]), let low = Self.hexDigit(body[star + 2])
    else { throw .checksumMissing }
    body = body[..<star]
    let computed = body.reduce(0, ^)
    guard computed == high << 4 | low else {
      throw .checksumWrong(stated: high << 4 | low, computed: computed)
    }
    var parts = body.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    let name = parts.removeFirst()
    guard name.count >= 3, name.allSatisfy({ (33...126).contains($0) }) else { throw .nameMissing }
    let talkerLength = name.first == UInt8(ascii: "P") || name.count < 5 ? 1 : 2
    talker = String(decoding: name.prefix(talkerLength), as: UTF8.self)
    type = String(decoding: name.dropFirst(talkerLength), as: UTF8.self)
    fields = parts
  }

  /// Returns a field by its number, from 1 as in the standard; nil if missing or empty.
  subscript(_ index: Int) -> ArraySlice<UInt8>? {
    guard fields.indices.contains(index - 1), !fields[index - 1].isEmpty else { return nil }
    return fields[index - 1]
  }

  /// Returns a number; nil if missing or invalid.
  func number(_ index: Int) -> Double? { self[index].flatMap { DecimalText.plain($0.span) } }

  /// Returns an integer; nil if missing or invalid.
  func integer(_ index: Int) -> Int? { self[index].flatMap { DecimalText.integer($0.span) } }

  /// Returns the first character; nil if missing.
  func letter(_ index: Int) -> UInt8? { self[index]?.first }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }

  /// Returns a time of day from a field like `045407.00` in nanoseconds since midnight. Nil if missing or out
  /// of range.
  func timeOfDay(_ index: Int) -> Int64? {
    guard let text = self[index] else { return nil }
    let whole = text.prefix { $0 != UInt8(ascii: ".") }
    guard whole.count == 6, let digits = DecimalText.integer(whole.span) else { return nil }
    let (hour, minute, second) = (digits / 10_000, digits / 100 % 100, digits % 100)
    guard hour < 24, minute < 60, second <= 60 else { return nil }
    var nanoseconds = Int64(hour * 3600 + minute * 60 + second) * 1_000_000_000
    let fraction = text.dropFirst(whole.count + 1).prefix(9)
    if !fraction.isEmpty {
      guard var value = DecimalText.integer(fraction.span) else { return nil }
      for _ in fraction.count..<9 { value *= 10 }
      nanoseconds += Int64(value)
    }
    return nanoseconds
  }

  /// Returns midnight of a date from a field like `020625` (day, month, year). Two digits of a year below 80
  /// mean this century. Nil if missing or invalid.
  func date(_ index: Int) -> UTCTime? {
    guard let text = self[index], text.count == 6, let digits = DecimalText.integer(text.span) else {
      return nil
    }
    let year = digits % 100
    return UTCTime(
      year: year < 80 ? 2000 + year : 1900 + year, month: digits / 100 % 100, day: digits / 10_000)
  }

  /// Returns a position from four fields: latitude as degrees and minutes `4809.81040`, N or S, longitude, E
  /// or W. Nil if one is missing or out of range. `decimals` is the number of decimals of the minutes.
  func coordinate(_ index: Int) -> (coordinate: Coordinate, decimals: Int)? {
    guard let north = angle(index), let northSign = sign(index + 1, positive: "N", negative: "S"),
      let east = angle(index + 2), let eastSign = sign(index + 3, positive: "E", negative: "W")
    else { return nil }
    let coordinate = Coordinate(latitude: north.degrees * northSign, longitude: east.degrees * eastSign)
    return coordinate.isValid ? (coordinate, min(north.decimals, east.decimals)) : nil
  }

  private func angle(_ index: Int) -> (degrees: Double, decimals: Int)? {
    guard let text = self[index] else { return nil }
    let whole = text.prefix { $0 != UInt8(ascii: ".") }
    let (degreeText, minuteText) = (whole.dropLast(2), text.dropFirst(max(0, whole.count - 2)))
    guard whole.count >= 3, let degrees = DecimalText.integer(degreeText.span),
      let minutes = DecimalText.plain(minuteText.span), minutes >= 0, minutes < 60
    else { return nil }
    return (degrees: (Double(degrees) * 60 + minutes) / 60, decimals: max(0, text.count - whole.count - 1))
  }

  private func sign(_ index: Int, positive: Unicode.Scalar, negative: Unicode.Scalar) -> Double? {
    guard let letter = letter(index) else { return nil }
    if letter == UInt8(ascii: positive) { return 1 }
    return letter == UInt8(ascii: negative) ? -1 : nil
  }
}
