import Sensors
import SensorsIIO
import Simulation
import TestSupport
import Testing

@Suite struct ScanFormatTests {
  private static func format(
    _ isBigEndian: Bool, _ isSigned: Bool, _ bits: Int, _ storage: Int, _ shift: Int, copies: Int = 1
  ) throws -> ScanFormat {
    try #require(
      ScanFormat(
        isBigEndian: isBigEndian, isSigned: isSigned, bits: bits, storageBits: storage, shift: shift,
        repeatCount: copies))
  }

  /// Values calculated by hand, in formats that drivers use.
  @Test(arguments: [
    (false, true, 16, 16, 0, [0x18, 0xfc], Int64(-1000)),
    (true, true, 16, 16, 0, [0xfc, 0x18], -1000),
    (false, true, 12, 16, 4, [0x30, 0x80], -2045),
    (false, true, 12, 16, 0, [0x03, 0xf8], -2045),
    (false, true, 12, 16, 0, [0xff, 0x07], 2047),
    (false, false, 12, 16, 4, [0xff, 0xff], 4095),
    (true, false, 24, 32, 8, [0x12, 0x34, 0x56, 0x99], 0x123456),
    (false, true, 24, 24, 0, [0xff, 0xff, 0x7f], 8_388_607),
    (true, true, 20, 24, 4, [0x80, 0x00, 0x0f], -524_288),
    (false, true, 8, 8, 0, [0x80], -128),
    (false, false, 8, 8, 0, [0x80], 128),
    (false, true, 32, 32, 0, [0, 0, 0, 0x80], -2_147_483_648),
    (false, true, 64, 64, 0, [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], -2),
    (false, true, 14, 16, 2, [0xfc, 0xff], -1),
    (false, true, 1, 8, 0, [0x01], -1),
  ])
  func decodes(
    isBigEndian: Bool, isSigned: Bool, bits: Int, storage: Int, shift: Int, bytes: [Int], expected: Int64
  ) throws {
    let format = try Self.format(isBigEndian, isSigned, bits, storage, shift)
    let raw = [0xaa] + bytes.map { UInt8($0) }
    #expect(format.integer(in: raw.span, at: 1) == expected)
    #expect(format.number(in: raw.span, at: 1) == Double(expected))
  }

  @Test func unsignedSixtyFourBitsDoNotTurnNegative() throws {
    let format = try Self.format(false, false, 64, 64, 0)
    let bytes = [UInt8](repeating: 0xff, count: 8)
    #expect(format.bitPattern(in: bytes.span, at: 0) == .max)
    #expect(format.number(in: bytes.span, at: 0) == 18_446_744_073_709_551_615.0)
  }

  @Test func readsEachOfSeveralValues() throws {
    let format = try Self.format(true, true, 16, 16, 0, copies: 4)
    #expect(format.byteCount == 8)
    #expect(format.description == "be:s16/16X4>>0")
    let bytes: [UInt8] = [0, 1, 0, 2, 0xff, 0xff, 0, 4]
    #expect((0..<4).map { format.integer(in: bytes.span, at: 0, element: $0) } == [1, 2, -1, 4])
  }

  @Test(arguments: [
    (0, 16, 0, 1), (17, 16, 0, 1), (12, 16, 5, 1), (16, 12, 0, 1), (16, 72, 0, 1), (8, 0, 0, 1),
    (16, 16, -1, 1),
    (16, 16, 0, 0),
  ])
  func refusesInvalidFormats(bits: Int, storage: Int, shift: Int, copies: Int) {
    #expect(
      ScanFormat(
        isBigEndian: false, isSigned: true, bits: bits, storageBits: storage, shift: shift,
        repeatCount: copies)
        == nil)
  }

  /// Comparison with a decoder that works bit by bit, for all combinations of sign, byte order, storage, bits and
  /// shift.
  @Test func agreesWithABitByBitDecoder() throws {
    var generator = SeededGenerator.announced()
    for storage in stride(from: 8, through: 64, by: 8) {
      for bits in 1...storage {
        for shift in Set([0, 1, (storage - bits) / 2, storage - bits]) where shift + bits <= storage {
          for (isBigEndian, isSigned) in [(false, false), (false, true), (true, false), (true, true)] {
            let format = try Self.format(isBigEndian, isSigned, bits, storage, shift)
            let bytes = (0..<storage / 8).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(
              format.bitPattern(in: bytes.span, at: 0)
                == Self.naive(bytes, isBigEndian: isBigEndian, isSigned: isSigned, bits: bits, shift: shift),
              "\(format) of \(bytes), seed \(generator.seed)")
          }
        }
      }
    }
  }

  private static func naive(
    _ bytes: [UInt8], isBigEndian: Bool, isSigned: Bool, bits: Int, shift: Int
  ) -> UInt64 {
    let ordered = isBigEndian ? Array(bytes.reversed()) : bytes
    func bit(_ position: Int) -> UInt64 { UInt64(ordered[position / 8] >> UInt8(position % 8)) & 1 }
    var value: UInt64 = 0
    for position in 0..<bits { value += bit(shift + position) << UInt64(position) }
    if isSigned, bit(shift + bits - 1) == 1 {
      for position in bits..<64 where bits < 64 { value |= 1 << UInt64(position) }
    }
    return value
  }
}
