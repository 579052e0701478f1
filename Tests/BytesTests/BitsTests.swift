import Bytes
import Testing

/// Bits and Base64 in both directions.
@Suite struct BitsTests {
  @Test func numbersOfAnyWidthAreReadUnchanged() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<300 {
      let numbers = (0..<Int.random(in: 0...40)).map { _ in
        let width = Int.random(in: 0...64, using: &generator)
        return (
          width == 64 ? UInt64.random(in: 0 ... .max) : UInt64.random(in: 0..<1 << UInt64(width)), width
        )
      }
      var writer = BitWriter()
      for (number, width) in numbers { writer.append(number, width) }
      #expect(writer.bytes.count == (numbers.reduce(0) { $0 + $1.1 } + 7) / 8)
      var reader = BitReader(writer.bytes)
      for (number, width) in numbers { #expect(reader.next(width) == number) }
      #expect(reader.isAtEnd && reader.next(8) == nil)
    }
  }

  @Test func ascendingNumbersAreCompactAndReadUnchanged() {
    for count in [0, 1, 2, 3, 20, 100, 1000] {
      var numbers: Set<UInt64> = []
      while numbers.count < count { numbers.insert(.random(in: 0..<1 << 46)) }
      let sorted = numbers.sorted()
      var writer = BitWriter()
      writer.append(growing: sorted, width: 46)
      var reader = BitReader(writer.bytes)
      #expect(reader.growing(count: count, width: 46) == sorted)
      if count == 20 { #expect(writer.bytes.count <= 109) }
      if count > 0 {
        var short = BitReader(Array(writer.bytes.dropLast()))
        #expect(short.growing(count: count, width: 46) == nil)
      }
    }
    // The limits of the range, and numbers that do not ascend.
    var ends = BitWriter()
    ends.append(growing: [0, 1, (1 << 46) - 1], width: 46)
    var reader = BitReader(ends.bytes)
    #expect(reader.growing(count: 3, width: 46) == [0, 1, (1 << 46) - 1])
    var twice = BitReader([0b1100_0000] + [UInt8](repeating: 0, count: 20))
    #expect(twice.growing(count: 2, width: 46) == nil)
  }

  @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")])
  func base64FollowsTheStandard(plain: String, text: String) {
    #expect(Base64.encode(Array(plain.utf8)) == text)
    #expect(Base64.decode(text) == Array(plain.utf8))
  }

  @Test(arguments: ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "Zg==Zg==", "Zm9v ", "Zm-v", "Zm9vä"])
  func invalidBase64IsRefused(text: String) { #expect(Base64.decode(text) == nil) }
}
