package import Spatial

/// A line of a log written by `candump -l` or `candump -L`: `(1436509052.249713) can0 123#DEADBEEF`.
///
/// - Identifiers have three digits, or eight in the extended format; eight with the error bit are error
///   frames.
/// - `123#R` is a remote request, `123##1AABB` an FD frame whose first digit contains flags.
/// - Text after the data (`_E`, the length code of a classic frame, and the direction) is ignored.
package struct CandumpLine: Hashable, Sendable {
  /// Time as in the log: civil, or since the start of the log.
  package var time: UTCTime
  package var interface: String
  package var frame: CANFrame

  private static let errorBit: UInt32 = 0x2000_0000

  /// Parses a line of a candump log; nil for a line in any other format.
  package init?(_ line: ArraySlice<UInt8>) {
    var words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.makeIterator()
    guard let stamp = words.next(), let name = words.next(), let text = words.next(),
      let time = Self.nanoseconds(stamp), let frame = Self.frame(text)
    else { return nil }
    self.time = UTCTime(nanoseconds: time)
    interface = String(decoding: name, as: UTF8.self)
    self.frame = frame
  }

  /// Parses `(seconds.fraction)`.
  private static func nanoseconds(_ text: ArraySlice<UInt8>) -> Int64? {
    guard text.first == UInt8(ascii: "("), text.last == UInt8(ascii: ")"), text.count > 2 else { return nil }
    let parts = text.dropFirst().dropLast().split(
      separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = number(parts[0], most: 11) else { return nil }
    guard parts.count == 2 else { return whole * 1_000_000_000 }
    guard parts[1].count <= 9, var fraction = number(parts[1], most: 9) else { return nil }
    for _ in parts[1].count..<9 { fraction *= 10 }
    let (seconds, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? nil : seconds.addingReportingOverflow(fraction).partialValue
  }

  private static func number(_ digits: ArraySlice<UInt8>, most: Int) -> Int64? {
    guard (1...most).contains(digits.count) else { return nil }
    var value: Int64 = 0
    for digit in digits {
      guard digit &- 0x30 < 10 else { return nil }
      value = value * 10 + Int64(digit - 0x30)
    }
    // The result is in 64-bit nanoseconds, which cover about 290 years.
    return value < 9_000_000_000 ? value : nil
  }

  private static func frame(_ text: ArraySlice<UInt8>) -> CANFrame? {
    guard let hash = text.firstIndex(of: UInt8(ascii: "#")), let raw = hexadecimal(text[..<hash]) else {
      return nil
    }
    let isExtended = text[..<hash].count == 8
    guard isExtended || text[..<hash].count == 3 else { return nil }
    let isError = isExtended && raw & errorBit != 0
    guard raw <= (isExtended ? 0x1FFF_FFFF : 0x7FF) || isError else { return nil }
    let identifier = CANFrame.Identifier(raw, isExtended: isExtended)
    var rest = text[(hash + 1)...]
    if rest.first == UInt8(ascii: "R") { return CANFrame(identifier, data: [], kind: .remoteRequest) }
    var most = 8
    if rest.first == UInt8(ascii: "#") {
      rest = rest.dropFirst()
      guard let flags = rest.popFirst(), hexadecimal([flags][...]) != nil else { return nil }
      most = CANFrame.longestData
    }
    if let end = rest.firstIndex(of: UInt8(ascii: "_")) { rest = rest[..<end] }
    guard rest.count % 2 == 0, rest.count <= 2 * most else { return nil }
    var data: [UInt8] = []
    data.reserveCapacity(rest.count / 2)
    while rest.count >= 2 {
      guard let byte = hexadecimal(rest.prefix(2)) else { return nil }
      data.append(UInt8(truncatingIfNeeded: byte))
      rest = rest.dropFirst(2)
    }
    return CANFrame(identifier, data: data, kind: isError ? .error : .data)
  }

  private static func hexadecimal(_ digits: ArraySlice<UInt8>) -> UInt32? {
    guard (1...8).contains(digits.count) else { return nil }
    var value: UInt32 = 0
    for digit in digits {
      let number: UInt8
      switch digit {
      case 0x30...0x39: number = digit - 0x30
      case 0x41...0x46: number = digit - 0x41 + 10
      case 0x61...0x66: number = digit - 0x61 + 10
      default: return nil
      }
      value = value << 4 | UInt32(number)
    }
    return value
  }
}
