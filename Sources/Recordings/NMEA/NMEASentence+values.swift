internal import Bytes
internal import Spatial

extension NMEASentence {
  /// A time of day from a field like `045407.00`: nanoseconds since midnight. Nil when absent or out of range.
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

  /// Midnight of a date from a field like `020625` (day, month, year). Two digits of a year below 80 mean this
  /// century. Nil when absent or no date.
  func date(_ index: Int) -> UTCTime? {
    guard let text = self[index], text.count == 6, let digits = DecimalText.integer(text.span) else {
      return nil
    }
    let year = digits % 100
    return UTCTime(
      year: year < 80 ? 2000 + year : 1900 + year, month: digits / 100 % 100, day: digits / 10_000)
  }

  /// A position from four fields: latitude as degrees and minutes `4809.81040`, N or S, longitude, E or W. Nil
  /// when one is absent or out of range. `decimals` is the number of decimals of the minutes.
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
