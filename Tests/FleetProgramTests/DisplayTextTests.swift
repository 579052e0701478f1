import FleetFixtures
import FleetProgram
import Testing

@Suite struct DisplayTextTests {
  @Test(arguments: [
    ("van", 3), ("Zürich", 6), ("漢字", 4), ("🚚", 2), ("한국", 4), ("e\u{301}", 1), ("●", 1), ("↗ 43°", 5),
    ("", 0), ("👨‍👩‍👧", 6), ("🇩🇪", 2), ("ﾊﾝｶｸ", 4),
  ])
  func measures(text: String, width: Int) { #expect(StyledText(text).width == width) }

  /// Text from the network cannot control a terminal.
  @Test(arguments: [
    ("\u{1B}[2J", "\u{FFFD}[2J"), ("a\u{7}b", "a\u{FFFD}b"), ("\u{9B}31m", "\u{FFFD}31m"),
    ("a\u{202E}b", "a\u{FFFD}b"), ("a\nb\rc\td", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d"), ("\u{7F}", "\u{FFFD}"),
    ("\u{2028}", "\u{FFFD}"), ("\r\n", "\u{FFFD}\u{FFFD}"), ("\u{E000}", "\u{FFFD}"), ("\u{0}", "\u{FFFD}"),
    ("\u{301}x", "x"), ("x\u{301}\u{302}\u{303}\u{304}", "x\u{301}\u{302}"), ("v\u{FE0F}", "v"),
  ])
  func makesHarmless(text: String, shown: String) {
    #expect(Array(StyledText(text).plain.unicodeScalars) == Array(shown.unicodeScalars))
  }

  @Test(arguments: [
    ("van", 5, "van  ", "  van"), ("van", 3, "van", "van"), ("vehicle", 4, "veh…", "veh…"), ("x", 0, "", ""),
    ("漢字漢字", 5, "漢字…", "漢字…"), ("漢字漢字", 4, "漢 …", "漢 …"), ("漢", 1, "…", "…"),
  ])
  func fits(text: String, width: Int, left: String, right: String) {
    #expect(StyledText(text).fitted(to: width).plain == left)
    #expect(StyledText(text).fitted(to: width, alignment: .right).plain == right)
  }

  @Test func stylesAreWrittenOnceAndUndone() {
    var text = StyledText("ab", style: TextStyle(.green))
    text.append("c")
    text.append("d", style: .bold)
    #expect(text.rendered(styles: true) == "\u{1B}[0;32mab\u{1B}[0mc\u{1B}[0;1md\u{1B}[0m")
    #expect(text.rendered(styles: false) == "abcd")
  }
}
