import JSON
import Testing

@Suite struct JSONValueTests {
  @Test(arguments: [
    "", "{", "{\"a\":}", "[1,]", "{\"a\":1}x", "\"\u{1}\"", "NaN", "1e999", "{'a':1}", "nul", "\"\\ud800\"",
  ])
  func refusesInvalidJSON(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: Array(text.utf8)) }
  }

  @Test func reportsThePositionOfTheError() {
    do {
      _ = try JSONValue(parsing: Array("{\n  \"a\": 1,\n  b\n}".utf8))
      Issue.record("an unquoted key must be refused")
    } catch {
      #expect(error.description.hasPrefix("line 3"))
    }
  }

  @Test func deepNestingIsRefusedNotFatal() {
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 200_000)
    #expect(throws: JSONError.self) { try JSONValue(parsing: deep) }
  }

  @Test func randomBytesNeverTrap() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var state = seed
    for _ in 0..<2000 {
      var bytes: [UInt8] = []
      for _ in 0..<Int(state >> 58) {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        bytes.append(UInt8(truncatingIfNeeded: state >> 40))
      }
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      _ = try? JSONValue(parsing: bytes)
    }
  }
}
