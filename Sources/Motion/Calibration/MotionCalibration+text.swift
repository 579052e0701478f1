internal import Bytes
internal import Platform
internal import Sensors
internal import Spatial

/// Why a stored calibration was not taken.
public struct CalibrationError: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String
}

// A text of lines "key value ...", so that a person can read it. The first line is the version, the last a checksum over
// all before it.
extension MotionCalibration {
  private static let firstLine = "odograph-calibration 1"

  /// UTF-8 text; numbers keep every digit.
  public var text: String {
    var lines = [Self.firstLine]
    for (kind, device) in devices.sorted(by: { $0.key < $1.key }) {
      lines.append("device \(kind.rawValue) \(Self.oneLine(device))")
    }
    if let made { lines.append("made \(made.nanoseconds)") }
    for bias in gyroBiases {
      let temperature = bias.temperature.map { "\($0)" } ?? "-"
      lines.append("gyro \(temperature) \(Self.numbers(bias.bias)) \(Self.numbers(bias.deviation))")
    }
    if let scale = gyroscopeScaleError { lines.append("scale \(Self.numbers(scale))") }
    if let lag = magnetometerLag { lines.append("lag \(lag)") }
    if let magnetometer {
      lines.append(
        "hard \(Self.numbers(magnetometer.hardIron)) \(Self.numbers(magnetometer.hardIronDeviation))")
      lines.append(
        "soft \(Self.numbers(magnetometer.softIronDiagonal)) \(Self.numbers(magnetometer.softIronOffDiagonal))"
      )
    }
    let body = lines.joined(separator: "\n") + "\n"
    return body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
  }

  /// - Throws: `CalibrationError` naming the line.
  public init(text: String) throws(CalibrationError) {
    // Lines are split by bytes: in a `Character` a carriage return would hide the line feed.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard lines.first == Self.firstLine[...] else {
      throw CalibrationError(
        description: "line 1: not a calibration of this version; remove it to start anew")
    }
    guard lines.count > 2, lines.last == "", let last = lines.dropLast().last, last.hasPrefix("crc "),
      UInt32(last.dropFirst(4), radix: 16)
        == CRC32.checksum((lines.dropLast(2).joined(separator: "\n") + "\n").utf8)
    else {
      throw CalibrationError(
        description: "line \(lines.count): the checksum does not match; the file is damaged")
    }
    self.init()
    for (number, line) in lines.enumerated().dropFirst().dropLast(2) {
      do throws(CalibrationError) {
        try read(line)
      } catch {
        throw CalibrationError(description: "line \(number + 1): \(error.description)")
      }
    }
  }

  private mutating func read(_ line: Substring) throws(CalibrationError) {
    let words = line.split(separator: " ")
    switch words.first {
    case "device":
      guard words.count > 2, let kind = SensorKind(rawValue: String(words[1])) else {
        throw CalibrationError(description: "needs a kind of sensor and the name of a device")
      }
      devices[kind] = words.dropFirst(2).joined(separator: " ")
    case "made":
      guard words.count == 2, let nanoseconds = Int64(words[1]) else {
        throw CalibrationError(description: "needs nanoseconds since 1970")
      }
      made = UTCTime(nanoseconds: nanoseconds)
    case "gyro":
      guard words.count == 8 else { throw CalibrationError(description: "needs 7 values") }
      let values = try Self.values(words.dropFirst(2), count: 6)
      let temperature = words[1] == "-" ? nil : try Self.values(words[1...1], count: 1)[0]
      keep(
        GyroBias(temperature: temperature, bias: Self.vector(values, 0), deviation: Self.vector(values, 3)))
    case "scale": gyroscopeScaleError = Self.vector(try Self.values(words.dropFirst(), count: 3), 0)
    case "lag": magnetometerLag = try Self.values(words.dropFirst(), count: 1)[0]
    case "hard":
      let values = try Self.values(words.dropFirst(), count: 6)
      magnetometer = Magnetometer(hardIron: Self.vector(values, 0), hardIronDeviation: Self.vector(values, 3))
    case "soft":
      let values = try Self.values(words.dropFirst(), count: 6)
      magnetometer?.softIronDiagonal = Self.vector(values, 0)
      magnetometer?.softIronOffDiagonal = Self.vector(values, 3)
    // Lines of a later minor version are none of ours.
    default: break
    }
  }

  private static func values(_ words: ArraySlice<Substring>, count: Int) throws(CalibrationError) -> [Double]
  {
    let values = words.compactMap { Double($0) }.filter(\.isFinite)
    guard values.count == count, words.count == count else {
      throw CalibrationError(description: "needs \(count) numbers")
    }
    return values
  }

  private static func vector(_ values: [Double], _ first: Int) -> Vector3 {
    Vector3(values[first], values[first + 1], values[first + 2])
  }

  private static func numbers(_ v: Vector3) -> String { "\(v.x) \(v.y) \(v.z)" }

  /// Runs of white space become one space, which is what reading makes of them.
  private static func oneLine(_ text: String) -> String {
    let words = text.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
    return words.isEmpty ? "-" : words
  }
}
