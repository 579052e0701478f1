import Fleet
import Testing

@Suite struct AbbreviatedTextTests {
  @Test(arguments: [
    ("short", 5, "short"), ("one two three", 13, "one two three"), ("one two three", 9, "one two…"),
    ("one two three", 8, "one two…"), ("one, two three", 6, "one…"), ("unbreakable", 6, "unbre…"),
    ("a unbreakable", 8, "a unbre…"),
    ("", 3, ""), ("abc", 0, "…"),
  ])
  func aLongTextIsCutAfterAWord(text: String, limit: Int, short: String) {
    #expect(text.abbreviated(to: limit) == short)
  }

  /// A character can have any number of combining marks.
  @Test func scalarsAreCounted() {
    let text = "e" + String(repeating: "\u{301}", count: 1000)
    #expect(text.abbreviated(to: 10).unicodeScalars.count == 10)
  }
}
