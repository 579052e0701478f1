import Bytes
import Foundation
import TestSupport
import Testing

@Suite struct BytesTests {
  /// The authors' test vectors.
  @Test func checksumsMatchTheTestVectors() {
    #expect(FNV1a.hash64("foobar".utf8) == 0x8594_4171_f739_67e8 && FNV1a.hash64([]) == 0xcbf2_9ce4_8422_2325)
    #expect(FNV1a.hash64(Array("foobar".utf8).span) == 0x8594_4171_f739_67e8)
    #expect(FNV1a.hash32("foobar".utf8) == 0xbf9c_f968 && FNV1a.hash32("a".utf8) == 0xe40c_292c)
    #expect(CRC32.checksum("123456789".utf8) == 0xCBF4_3926 && CRC32.checksum([]) == 0)
  }

  @Test func theLowByteComesFirst() {
    var bytes: [UInt8] = [9]
    bytes.append(little: UInt16(0x0102))
    bytes.append(little: Int32(-2))
    bytes.append(little: Int8(-1))
    #expect(bytes == [9, 2, 1, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF])
    #expect(UInt16(little: bytes, at: 1) == 0x0102 && Int32(little: bytes, at: 3) == -2)
    #expect(Int8(little: bytes, at: 7) == -1)
    for number in [Int64.min, .max, 0, -1, 0x0102_0304_0506_0708] {
      var bytes: [UInt8] = []
      bytes.append(little: number)
      #expect(bytes.count == 8 && Int64(little: bytes, at: 0) == number)
    }
  }

  // MARK: Decimal text

  private func number(_ text: String) -> Double? { DecimalText.number(Array(text.utf8).span) }
  private func plain(_ text: String) -> Double? { DecimalText.plain(Array(text.utf8).span) }

  @Test(arguments: [
    "", "-", "+", ".", "1.2.3", "1,5", " 1", "1 ", "nan", "inf", "0x10", "1e999", "--1", "1-", "é", "1e",
    "e5",
  ])
  func invalidNumbersAreRefused(text: String) { #expect(number(text) == nil && plain(text) == nil) }

  @Test func exponentsAreNotPlain() {
    #expect(plain("1e3") == nil && number("1e3") == 1000 && number("-2.5E-1") == -0.25)
    #expect(plain("+12.5") == 12.5 && plain("5.") == 5 && plain(".5") == 0.5 && plain("007") == 7)
    #expect(plain("-0")?.sign == .minus)
    #expect(DecimalText.integer(Array("000123".utf8).span) == 123)
    for text in ["", "-1", "1234567890", "1.0"] { #expect(DecimalText.integer(Array(text.utf8).span) == nil) }
  }

  /// Property: every number of digits is rounded as by the standard library.
  @Test func isRoundedCorrectly() {
    var random = SplitMix.announced()
    for _ in 0..<20_000 {
      var text = Bool.random(using: &random) ? "-" : ""
      let whole = Int.random(in: 1...12, using: &random)
      for _ in 0..<whole { text += "\(UInt8.random(in: 0...9, using: &random))" }
      text += "."
      for _ in 0..<Int.random(in: 1...30, using: &random) {
        text += "\(UInt8.random(in: 0...9, using: &random))"
      }
      #expect(plain(text) == Double(text), "\(text)")
    }
  }

  @Test(arguments: [
    (0.0, 3, "0", "0.000"), (-0.0004, 3, "0", "0.000"), (-1.5, 3, "-1.5", "-1.500"),
    (9.999999999, 8, "10", "10.00000000"),
    (123_456_789, 0, "123456789", "123456789"), (1e20, 2, "1e+20", "1e+20"), (0.05, 1, "0.1", "0.1"),
    (2.5, 99, "2.5", "2.500000000"),
  ])
  func writesFixedDecimals(number: Double, places: Int, short: String, padded: String) {
    var bytes: [UInt8] = []
    #expect(bytes.append(decimal: number, places: places) && String(decoding: bytes, as: UTF8.self) == short)
    bytes = []
    bytes.append(decimal: number, places: places, isPadded: true)
    #expect(String(decoding: bytes, as: UTF8.self) == padded)
  }

  @Test func writesIntegersAndNoNaN() {
    var bytes: [UInt8] = []
    bytes.append(decimal: Int64.min)
    bytes.append(decimal: UInt64.max)
    #expect(String(decoding: bytes, as: UTF8.self) == "-922337203685477580818446744073709551615")
    for number in [Double.nan, .infinity, -.infinity] {
      bytes = []
      #expect(!bytes.append(decimal: number, places: 2) && bytes.isEmpty)
    }
  }
}

/// Search of a text in another one, compared with Foundation.
@Suite struct TextSearchTests {
  @Test func findsTheFirstOccurrence() {
    let texts = ["", "a", "ab", "aab", "aaab", "abab", "mqtt://host", "x://", "://", "é://ü", "aaaaaaaab"]
    let wanted = ["a", "b", "ab", "aab", "://", "ü", "é:", "bb", "aaaab"]
    for text in texts {
      for word in wanted {
        let found = text.firstRange(ofText: word)
        let expected = text.range(of: word, options: .literal)
        #expect(found == expected, "\(word) in \(text)")
        #expect(text.contains(text: word) == (expected != nil))
      }
    }
    #expect("any".firstRange(ofText: "") == nil)
    #expect("one two".dropFirst(4).contains(text: "two") && !"one two".dropFirst(4).contains(text: "one"))
  }
}
