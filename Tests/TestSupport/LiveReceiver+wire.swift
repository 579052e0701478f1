internal import Foundation

extension LiveReceiver.Epoch {
  private static func date(_ second: Int) -> DateComponents {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar.dateComponents(
      [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(second)))
  }

  /// UTC time of day and date of a second, in the format of RMC.
  private static func moment(_ second: Int) -> (time: String, day: String) {
    let parts = date(second)
    func two(_ number: Int?) -> String { String(format: "%02d", (number ?? 0) % 100) }
    return (
      two(parts.hour) + two(parts.minute) + two(parts.second) + ".00",
      two(parts.day) + two(parts.month) + two(parts.year)
    )
  }

  private var place: String {
    Self.angle(latitude, digits: 2, "N", "S") + "," + Self.angle(longitude, digits: 3, "E", "W")
  }

  private func gga(_ time: String) -> String {
    GPSDFixture.sentence(
      String(format: "GPGGA,\(time),\(place),1,08,%.2f,%.1f,M,0.0,M,,", dilution, height))
  }

  /// GGA for a UTC second, preceded by ZDA if the receiver reports the date.
  public func positions(_ second: Int, isDated: Bool) -> [UInt8] {
    let (time, day) = Self.moment(second)
    let date = "\(day.prefix(2)),\(day.dropFirst(2).prefix(2)),20\(day.suffix(2))"
    return Array(((isDated ? GPSDFixture.sentence("GPZDA,\(time),\(date),00,00") : "") + gga(time)).utf8)
  }

  /// RMC, GSA and GGA for a UTC second.
  func nmea(_ second: Int) -> [UInt8] {
    let (time, day) = Self.moment(second)
    guard hasFix else {
      return Array(
        (GPSDFixture.sentence("GPRMC,\(time),V,,,,,,,\(day),,,N")
          + GPSDFixture.sentence("GPGSA,A,1,,,,,,,,,,,,,,,")
          + GPSDFixture.sentence("GPGGA,\(time),,,,,0,00,,,M,,M,,")).utf8)
    }
    let motion = String(format: "%.3f,%.1f", speed * 3600 / 1852, course)
    let text =
      GPSDFixture.sentence("GPRMC,\(time),A,\(place),\(motion),\(day),,,A")
      + GPSDFixture.sentence("GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.6,0.9,1.3")
      + gga(time)
    return Array(text.utf8)
  }

  private static func angle(_ degrees: Double, digits: Int, _ positive: String, _ negative: String) -> String
  {
    // Rounded first, so that minutes are never printed as 60.
    let minutes = (abs(degrees) * 60 * 1e5).rounded() / 1e5
    let whole = Int(minutes / 60)
    let rest = max(0, minutes - 60 * Double(whole))
    return String(format: "%0\(digits)d%08.5f,", whole, rest) + (degrees < 0 ? negative : positive)
  }

  /// UBX-NAV-PVT and UBX-NAV-EOE for a UTC second (u-blox M8 and later).
  func ubx(_ second: Int) -> [UInt8] {
    let parts = Self.date(second)
    // GPS time started on 1980-01-06 and is 18 leap seconds ahead of UTC.
    let timeOfWeek = UInt32((second - 315_964_800 + 18) % 604_800) * 1000
    var body: [UInt8] = []
    func add(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.littleEndian) { body += $0 }
    }
    func millimetres(_ metres: Double) -> Int32 { Int32(metres * 1000) }
    add(timeOfWeek)
    add(UInt16(parts.year ?? 0))
    for part in [parts.month, parts.day, parts.hour, parts.minute, parts.second] { add(UInt8(part ?? 0)) }
    // Flags: date and time valid; time accuracy 30 ns, fraction 0 ns.
    add(UInt8(7))
    add(UInt32(30))
    add(Int32(0))
    // A valid 3D fix, or no fix.
    body += hasFix ? [3, 1] : [0, 0]
    body += [0, hasFix ? 12 : 0]
    add(Int32((longitude * 1e7).rounded()))
    add(Int32((latitude * 1e7).rounded()))
    add(millimetres(height))
    add(millimetres(height))
    add(millimetres(accuracy))
    add(millimetres(1.5 * accuracy))
    let radians = course * .pi / 180
    add(millimetres(speed * cos(radians)))
    add(millimetres(speed * sin(radians)))
    add(Int32(0))
    add(millimetres(speed))
    add(Int32(course * 1e5))
    add(millimetres(speedAccuracy))
    add(UInt32(5e5))
    // Position dilution 1.3; then flags, reserved bytes, vehicle heading and declination, all 0.
    add(UInt16(130))
    body += [UInt8](repeating: 0, count: 14)
    var end: [UInt8] = []
    withUnsafeBytes(of: timeOfWeek.littleEndian) { end += $0 }
    return Self.message(identifier: 0x07, body) + Self.message(identifier: 0x61, end)
  }

  /// A message of class NAV with checksum.
  private static func message(identifier: UInt8, _ body: [UInt8]) -> [UInt8] {
    let content = [0x01, identifier, UInt8(body.count & 0xFF), UInt8(body.count >> 8)] + body
    var (a, b) = (UInt8(0), UInt8(0))
    for byte in content {
      a &+= byte
      b &+= a
    }
    return [0xB5, 0x62] + content + [a, b]
  }
}
