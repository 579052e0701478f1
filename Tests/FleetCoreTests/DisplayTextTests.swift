import Testing

@testable import FleetCore

@Suite struct DisplayTextTests {
  @Test func x() {
    for s in "aé漢🚚\u{301}\u{200d}\u{202e}\u{1}\u{7f}\u{fe0f}●↗🇩\u{ad}\u{9b}한".unicodeScalars {
      print(s.value, DisplayWidth.columns(of: s) as Any)
    }
  }
}
