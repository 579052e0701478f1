internal import Bytes
internal import Sensors
internal import Spatial

/// What tells a u-blox receiver where and when it starts: UBX-MGA-INI-POS_LLH and UBX-MGA-INI-TIME_UTC ("u-blox 8 / u-blox M8 Receiver
/// description including protocol specification", UBX-13003221, chapter UBX-MGA). Receivers from the eighth generation on take
/// them, older ones pass over them, and none keeps them beyond a loss of power.
enum UBloxAssistance {
  /// gpsd's name for receivers that speak UBX.
  static let driver = "u-blox"

  /// Metres, one deviation: of a height that nobody knows, from the sea to the roads of the Altiplano.
  private static let heightDeviation = 2_000.0
  /// Seconds, one deviation, of a clock that is kept right, with what passes until the receiver hears of it.
  private static let clockDeviation: UInt16 = 2

  /// The frames of an aid, the position's first.
  /// - Parameter age: seconds since the aid was so.
  static func frames(_ aid: PositionAid, age: Double) -> [[UInt8]] {
    [position(aid)] + (aid.time.map { [time($0.advanced(bySeconds: max(0, age)))] } ?? [])
  }

  private static func position(_ aid: PositionAid) -> [UInt8] {
    var payload: [UInt8] = [0x01, 0, 0, 0]
    payload.append(little: Int32((aid.coordinate.latitude * 1e7).rounded()))
    payload.append(little: Int32((aid.coordinate.longitude * 1e7).rounded()))
    // Height above the ellipsoid, which radios do not tell.
    payload.append(little: Int32(0))
    let deviation = max(aid.horizontalAccuracy.isFinite ? aid.horizontalAccuracy : 0, heightDeviation)
    payload.append(little: UInt32(min(deviation * 100, 1e9).rounded()))
    return frame(payload)
  }

  private static func time(_ time: UTCTime) -> [UInt8] {
    // Valid when it is received; leap seconds are not known.
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

  /// Class 0x13 (MGA), number 0x40 (INI), with the checksum of RFC 1145 that UBX has.
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
