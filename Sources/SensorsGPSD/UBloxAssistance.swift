internal import Bytes
internal import Sensors
internal import Spatial

/// Creates the messages with position and time for a u-blox receiver at start: UBX-MGA-INI-POS_LLH and
/// UBX-MGA-INI-TIME_UTC ("u-blox 8 / u-blox M8 Receiver description including protocol specification",
/// UBX-13003221, chapter UBX-MGA). Receivers from the eighth generation on accept them, older ones ignore
/// them, and none stores them beyond a loss of power.
enum UBloxAssistance {
  /// gpsd's driver name for receivers with the UBX protocol.
  static let driver = "u-blox"

  /// Standard deviation in m of an unknown height, from the sea to the roads of the Altiplano.
  private static let heightDeviation = 2_000.0
  /// Standard deviation in s of a synchronized clock, including the delay to the receiver.
  private static let clockDeviation: UInt16 = 2

  /// Returns the messages of an aid, the position's first.
  /// - Parameter age: age of the aid in s.
  static func frames(_ aid: PositionAid, age: Double) -> [[UInt8]] {
    [position(aid)] + (aid.time.map { [time($0.advanced(bySeconds: max(0, age)))] } ?? [])
  }

  private static func position(_ aid: PositionAid) -> [UInt8] {
    var payload: [UInt8] = [0x01, 0, 0, 0]
    payload.append(little: Int32((aid.coordinate.latitude * 1e7).rounded()))
    payload.append(little: Int32((aid.coordinate.longitude * 1e7).rounded()))
    // The height above the ellipsoid is unknown for positions from radio scans, so it is 0 with a large
    // deviation.
    payload.append(little: Int32(0))
    let deviation = max(aid.horizontalAccuracy.isFinite ? aid.horizontalAccuracy : 0, heightDeviation)
    payload.append(little: UInt32(min(deviation * 100, 1e9).rounded()))
    return frame(payload)
  }

  private static func time(_ time: UTCTime) -> [UInt8] {
    // The header says that the time is valid on reception and that the number of leap seconds is unknown.
    var payload: [UInt8] = [0x10, 0, 0, 0x80]
    let date = time.date
    payload.append(little: UInt16(clamping: date.year))
    let day: Int64 = 86_400_000_000_000
    let nanoseconds = (time.nanoseconds % day + day) % day
    let second = nanoseconds / 1_000_000_000
    payload += [Int64(date.month), Int64(date.day), second / 3600, second / 60 % 60, second % 60, 0]
      .map(UInt8.init(clamping:))
    payload.append(little: UInt32(nanoseconds % 1_000_000_000))
    payload.append(little: clockDeviation)
    payload += [0, 0]
    payload.append(little: UInt32(0))
    return frame(payload)
  }

  /// Returns a message of class 0x13 (MGA), number 0x40 (INI), with the checksum of UBX, an 8-bit Fletcher
  /// sum (RFC 1145).
  private static func frame(_ payload: [UInt8]) -> [UInt8] {
    var body: [UInt8] = [0x13, 0x40]
    body.append(little: UInt16(payload.count))
    body += payload
    var (a, b): (UInt8, UInt8) = (0, 0)
    for byte in body {
      a &+= byte
      b &+= a
    }
    return [0xB5, 0x62] + body + [a, b]
  }
}
