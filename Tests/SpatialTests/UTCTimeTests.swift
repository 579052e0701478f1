import Spatial
import TestSupport
import Testing

@Suite struct UTCTimeTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00.000Z", 0),
    ("2000-02-29T23:59:59.999Z", 951_868_799_999),
    ("2026-11-21T08:15:30.125Z", 1_795_248_930_125),
    ("1969-12-31T23:59:59.001Z", -999),
    ("2100-03-01T00:00:00.000Z", 4_107_542_400_000),
  ])
  func roundTrips(text: String, milliseconds: Int64) {
    #expect(UTCTime(rfc3339: text)?.nanoseconds == milliseconds * 1_000_000)
    #expect(UTCTime(nanoseconds: milliseconds * 1_000_000).rfc3339 == text)
  }

  @Test func readsOffsetsAndFractions() {
    let expected = UTCTime(rfc3339: "2026-11-21T08:15:30.5Z")
    #expect(UTCTime(rfc3339: "2026-11-21T10:15:30.500000000+02:00") == expected)
    #expect(UTCTime(rfc3339: "2026-11-21t03:45:30.5-04:30") == expected)
  }

  @Test(arguments: [
    "", "2026", "2026-11-21", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-21T24:00:00Z",
    "2026-11-21T08:15:30", "2026-11-21T08:15:30.Z", "2026-11-21T08:15:30Zx", "２026-11-21T08:15:30Z",
  ])
  func refusesInvalidTimes(text: String) {
    #expect(UTCTime(rfc3339: text) == nil)
  }

  @Test func clampsValuesOutOfRange() {
    #expect(UTCTime(secondsSince1970: .nan).nanoseconds == 0)
    #expect(UTCTime(secondsSince1970: .infinity).nanoseconds == .max)
    #expect(Timestamp(seconds: -.infinity).advanced(bySeconds: -1).nanoseconds == .min)
  }
}

/// Agreement of the three parsers: of a string, a part of a string, and bytes.
@Suite struct UTCTimeReadingTests {
  @Test func textPartAndBytesAgree() {
    var generator = SplitMix.announced()
    let forms = ["2026-11-21T08:15:30.125Z", "2026-02-28t23:59:60z", "1999-12-31 00:00:00.5+05:30"]
    let characters = Array("0123456789-:TZ+. x\u{E9}")
    var read = 0
    for round in 0..<20_000 {
      var text = Array(forms[round % forms.count])
      for _ in 0..<Int.random(in: 0...2, using: &generator) {
        let place = Int.random(in: 0..<text.count, using: &generator)
        text[place] = characters[Int.random(in: 0..<characters.count, using: &generator)]
      }
      if Bool.random(using: &generator) { text.removeLast(Int.random(in: 0...3, using: &generator)) }
      let string = String(text)
      let whole = UTCTime(rfc3339: string)
      let part = UTCTime(rfc3339: "ü\(string)ü".dropFirst().dropLast())
      let bytes = [UInt8](string.utf8)
      #expect(part == whole && UTCTime(rfc3339UTF8: bytes.span) == whole, "\(string)")
      guard let whole else { continue }
      read += 1
      // The RFC 3339 text of the result has the same time to the millisecond.
      let again = UTCTime(rfc3339: whole.rfc3339)
      #expect(
        again.map { whole.nanoseconds - $0.nanoseconds < 1_000_000 && $0 <= whole } == true, "\(string)")
    }
    #expect(read > 5000)
  }
}

@Suite struct TimeDifferenceTests {
  /// Differences beyond the range of Int64 nanoseconds (292 years) do not wrap.
  @Test func differencesOfCenturiesAreCorrect() throws {
    let early = try #require(UTCTime(rfc3339: "1700-01-01T00:00:00Z"))
    let late = try #require(UTCTime(rfc3339: "2200-01-01T00:00:00Z"))
    let seconds = 182_621.0 * 86_400
    #expect(
      abs(late.seconds(since: early) - seconds) < 1e-3 && abs(early.seconds(since: late) + seconds) < 1e-3)
    let (first, last) = (Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max))
    #expect(abs(last.seconds(since: first) / 0x1p64 - 1e-9) < 1e-20 && first.seconds(since: last) < 0)
  }
}
