import Platform
import Testing

@testable import AgentCore

/// Which lines that libraries write reach the log, by virtual time.
@Suite struct LibraryMessageLimitTests {
  private func at(_ second: Int) -> MonotonicTime { .start.advanced(bySeconds: Double(second)) }

  @Test func messageIsLoggedOncePerHourWithSuppressedCount() {
    var limit = LibraryMessageLimit()
    #expect(limit.admit("timeout", at: .start) == .init(text: "timeout", leftOut: 0))
    for second in 1..<3600 { #expect(limit.admit("timeout", at: at(second)) == nil) }
    #expect(limit.admit("timeout", at: at(3600)) == .init(text: "timeout", leftOut: 3599))
    #expect(limit.leftOut == 0)
  }

  @Test func tenMessagesAreLoggedImmediatelyThenOnePerMinute() {
    var limit = LibraryMessageLimit()
    var said = 0
    for index in 0..<100_000 where limit.admit("line \(index)", at: .start) != nil { said += 1 }
    #expect(said == 10)
    #expect(limit.leftOut == 99_990)
    // A day of a library that never writes the same twice.
    for second in 0..<86_400 where limit.admit("second \(second)", at: at(second)) != nil {
      said += 1
    }
    #expect((1440...1460).contains(said))
  }

  @Test(
    arguments: [
      (Array("ERROR: Bad URI: 'x'\r".utf8), "ERROR: Bad URI: 'x'"),
      (Array("  a\u{1B}[31mred\u{7}\u{202E}  ".utf8), "a [31mred"),
      ([0x61, 0xFF, 0xFE, 0x62], "a\u{FFFD}\u{FFFD}b"),
      ([UInt8](repeating: 0x61, count: 5000), String(repeating: "a", count: 300)),
      ([], ""), ([0x20, 0x0D], ""),
    ] as [([UInt8], String)])
  func controlCharactersAndLongLinesAreRemoved(bytes: [UInt8], text: String) {
    #expect(LibraryMessageLimit.cleaned(bytes) == text)
  }
}
