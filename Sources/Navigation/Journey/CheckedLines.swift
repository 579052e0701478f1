internal import Bytes

/// A text format for the stored state of odometer and trips: lines, the last of which is a checksum over all
/// others.
enum CheckedLines {
  static func text(_ lines: [String]) -> String {
    let body = lines.joined(separator: "\n") + "\n"
    return body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
  }

  /// Returns the lines before the checksum; nil if the checksum does not match.
  static func lines(of text: String) -> [Substring]? {
    // Lines are split by bytes: a `Character` of carriage return and line feed would not match.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard lines.count > 2, lines.last == "", let last = lines.dropLast().last, last.hasPrefix("crc "),
      UInt32(last.dropFirst(4), radix: 16)
        == CRC32.checksum((lines.dropLast(2).joined(separator: "\n") + "\n").utf8)
    else { return nil }
    return Array(lines.dropLast(2))
  }
}
