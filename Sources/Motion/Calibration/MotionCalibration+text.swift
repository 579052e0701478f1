internal import Spatial

/// Why a stored calibration was not taken.
public struct CalibrationError: Error, Hashable, Sendable, CustomStringConvertible {
  public var description: String
}

// A text of lines "key value ...", so that a person can read it. The last line is a checksum over all before it.
extension MotionCalibration {
  private static let firstLine = "odograph-calibration 1"

  /// UTF-8 text; numbers keep every digit.
  public var text: String {
    var lines = [Self.firstLine, "device \(Self.oneLine(device))", "made \(made.nanoseconds)"]
    for bias in gyroBiases {
      let temperature = bias.temperature.map(String.init(describing:)) ?? "-"
      lines.append("gyro \(temperature) \(Self.numbers(bias.bias)) \(bias.uncertainty)")
    }
    if let magnetometer {
      let m = magnetometer.softIron
      lines.append("hard \(Self.numbers(magnetometer.hardIron))")
      lines.append("soft \(m.m11) \(m.m12) \(m.m13) \(m.m21) \(m.m22) \(m.m23) \(m.m31) \(m.m32) \(m.m33)")
      lines.append("field \(magnetometer.fieldStrength) \(magnetometer.residual)")
    }
    let body = lines.joined(separator: "\n") + "\n"
    return body + "crc \(String(Checksum.crc32(body.utf8), radix: 16))\n"
  }

  /// - Throws: `CalibrationError` naming the line.
  public init(text: String) throws(CalibrationError) {
    let lines = text.split(separator: "\n")
    guard lines.first == Self.firstLine[...] else {
      throw CalibrationError(
        description: "line 1: not a calibration of this version; remove it to start anew")
    }
    guard let last = lines.last, last.hasPrefix("crc "),
      UInt32(last.dropFirst(4), radix: 16)
        == Checksum.crc32((lines.dropLast().joined(separator: "\n") + "\n").utf8)
    else {
      throw CalibrationError(
        description: "line \(lines.count): the checksum does not match; the file is damaged")
    }
    self.init(device: "", made: UTCTime(nanoseconds: 0))
    var (hard, soft, field): ([Double], [Double], [Double]) = ([], [], [])
    for (number, line) in lines.enumerated().dropFirst().dropLast() {
      let words = line.split(separator: " ")
      let values = words.dropFirst().compactMap { Double($0) }.filter(\.isFinite)
      func require(_ count: Int) throws(CalibrationError) {
        guard values.count == count, words.count == count + 1 else {
          throw CalibrationError(description: "line \(number + 1): needs \(count) numbers")
        }
      }
      switch words.first {
      case "device": device = String(line.dropFirst(7))
      case "made": made = UTCTime(nanoseconds: words.last.flatMap { Int64($0) } ?? 0)
      case "gyro":
        let hasTemperature = words.count > 1 && words[1] != "-"
        guard words.count == 6, values.count == (hasTemperature ? 5 : 4) else {
          throw CalibrationError(description: "line \(number + 1): needs a temperature or - and 4 numbers")
        }
        let rest = Array(values.suffix(4))
        gyroBiases.append(
          GyroBias(
            temperature: hasTemperature ? values[0] : nil, bias: Vector3(rest[0], rest[1], rest[2]),
            uncertainty: rest[3]))
      case "hard":
        try require(3)
        hard = values
      case "soft":
        try require(9)
        soft = values
      case "field":
        try require(2)
        field = values
      // Lines of a later minor version are none of ours.
      default: continue
      }
    }
    guard !hard.isEmpty, !soft.isEmpty, !field.isEmpty else { return }
    magnetometer = Magnetometer(
      hardIron: Vector3(hard[0], hard[1], hard[2]),
      softIron: RotationMatrix(
        m11: soft[0], m12: soft[1], m13: soft[2], m21: soft[3], m22: soft[4], m23: soft[5], m31: soft[6],
        m32: soft[7], m33: soft[8]),
      fieldStrength: field[0], residual: field[1])
  }

  private static func numbers(_ v: Vector3) -> String { "\(v.x) \(v.y) \(v.z)" }

  private static func oneLine(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}
