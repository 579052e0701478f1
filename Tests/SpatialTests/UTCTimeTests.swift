import Spatial
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
  func refusesWhatIsNotATime(text: String) {
    #expect(UTCTime(rfc3339: text) == nil)
  }

  @Test func clampsWhatDoesNotFit() {
    #expect(UTCTime(secondsSince1970: .nan).nanoseconds == 0)
    #expect(UTCTime(secondsSince1970: .infinity).nanoseconds == .max)
    #expect(Timestamp(seconds: -.infinity).advanced(bySeconds: -1).nanoseconds == .min)
  }
}
