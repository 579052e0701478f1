internal import Bytes

/// One NMEA 0183 sentence whose checksum is right.
struct NMEASentence {
  /// Why a line that begins like a sentence is none.
  enum Fault: Error, Equatable {
    /// The `*` and two hexadecimal digits at the end are missing: the line was cut off or overwritten.
    case checksumMissing
    /// The digits say `stated`, the characters before them give `computed`.
    case checksumWrong(stated: UInt8, computed: UInt8)
    /// The checksum is right, but there is no talker and type.
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

  /// Who speaks, as in `GP` or `GN`; `P` for a maker's own sentence.
  let talker: String
  /// What is said, as in `RMC`; for a maker's own sentence everything after the `P`.
  let type: String
  /// The fields after the name; an empty one is absent.
  private let fields: [ArraySlice<UInt8>]

  /// Reads a line; nil when it does not begin like a sentence (`$` and a printable character), because logs
  /// hold comments, other protocols and binary as well.
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

  /// The field of that number, from 1 as the standard counts; nil when it is absent or empty.
  subscript(_ index: Int) -> ArraySlice<UInt8>? {
    guard fields.indices.contains(index - 1), !fields[index - 1].isEmpty else { return nil }
    return fields[index - 1]
  }

  /// A number; nil when absent or none.
  func number(_ index: Int) -> Double? { self[index].flatMap { DecimalText.plain($0.span) } }

  /// A whole number; nil when absent or none.
  func integer(_ index: Int) -> Int? { self[index].flatMap { DecimalText.integer($0.span) } }

  /// The first character; nil when absent.
  func letter(_ index: Int) -> UInt8? { self[index]?.first }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }
}
