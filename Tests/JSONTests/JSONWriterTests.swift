import JSON
import Testing

@Suite struct JSONWriterTests {
  private func text(_ body: (inout JSONWriter) -> Void) -> String {
    String(decoding: JSONWriter.object(body), as: UTF8.self)
  }

  @Test(arguments: [
    (0.0, 3, "0"), (-0.0, 3, "0"), (1.0, 3, "1"), (-1.5, 3, "-1.5"), (0.0005, 3, "0.001"), (-0.0004, 3, "0"),
    (48.16350683, 8, "48.16350683"), (-122.09365250, 8, "-122.0936525"), (9.999999999, 8, "10"),
    (123456789.0, 0, "123456789"), (1e20, 2, "1e+20"), (0.1, 9, "0.1"), (179.999999999, 8, "180"),
  ])
  func fixedDecimals(number: Double, decimals: Int, expected: String) {
    #expect(text { $0.field("v", number, decimals: decimals) } == "{\"v\":\(expected)}")
  }

  @Test func omitsMissingValues() {
    let written = text { json in
      json.field("a", Double.nan, decimals: 1)
      json.field("b", Double?.none, decimals: 1)
      json.field("c", -Double.infinity, decimals: 1)
      json.field("d", String?.none)
      json.field("e", Int?.none)
      json.field("f", Bool?.none)
    }
    #expect(written == "{}")
  }

  @Test func escapesAndSeparates() throws {
    let hostile = "quote \" back \\ tab \t bell \u{7} del \u{7F} ümlaut 🚚"
    let bytes = JSONWriter.object { json in
      json.field("text", hostile)
      json.field("flag", true)
      json.field("numbers", numbers: [1, -2.5, .nan], decimals: 1)
      json.field("inner") { $0.field("count", Int64.min) }
      json.field("max", UInt64.max)
    }
    let expected =
      #"{"text":"quote \" back \\ tab \u0009 bell \u0007 del \u007f ümlaut 🚚","flag":true,"#
      + #""numbers":[1,-2.5,null],"inner":{"count":-9223372036854775808},"max":18446744073709551615}"#
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  @Test func writtenObjectsAreReadUnchanged() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let number = Double.random(in: -1e6...1e6, using: &generator)
      let name = String((0..<8).map { _ in Character(Unicode.Scalar(UInt8.random(in: 1...127))) })
      let bytes = JSONWriter.object { json in
        json.field("number", number, decimals: 6)
        json.field("name", name)
      }
      let value = try JSONValue(parsing: bytes)
      #expect(abs((value["number"]?.double ?? .nan) - number) <= 0.5e-6 + number.ulp)
      #expect(value["name"]?.string == name)
    }
  }
}
