import Spatial
import TestSupport
import Testing

@testable import Recordings

@Suite struct NMEASentenceTests {
  static let rmc = "GPRMC,045408.25,A,4809.81462,N,01133.85529,E,24.52,308.3,020625,,,A"

  @Test func readsNameFieldsAndAbsence() throws {
    let line = Array(GPSDFixture.sentence(Self.rmc).utf8)
    let found = try NMEASentence(line: line.dropLast(2))
    let sentence = try #require(found)
    #expect(sentence.talker == "GP")
    #expect(sentence.type == "RMC")
    #expect(sentence.number(7) == 24.52)
    #expect(sentence[10] == nil)
    #expect(sentence[99] == nil)
    #expect(sentence.timeOfDay(1) == 17_648_250_000_000 as Int64)
    #expect(sentence.date(9) == UTCTime(year: 2025, month: 6, day: 2))
    let position = try #require(sentence.coordinate(3)).coordinate
    #expect(abs(position.latitude - (48 + 9.81462 / 60)) < 1e-12)
    #expect(abs(position.longitude - (11 + 33.85529 / 60)) < 1e-12)
  }

  @Test(arguments: [
    ("$GPGGA,1,2*", NMEASentence.Fault.checksumMissing),
    ("$GPGGA,1,2", .checksumMissing),
    ("$GPGGA,1,2*6", .checksumMissing),
    ("$GPGGA,1,2*GG", .checksumMissing),
    ("$GPGGA,1,2*00", .checksumWrong(stated: 0, computed: 0x55)),
    ("$GP*17", .nameMissing),
  ])
  func brokenSentences(line: String, fault: NMEASentence.Fault) {
    #expect(throws: fault) { _ = try NMEASentence(line: Array(line.utf8)[...]) }
  }

  @Test(arguments: ["", "# a comment", "!AIVDM,1,1*00", "$", "$\u{1}\u{2}", "{\"class\":\"TPV\"}"])
  func otherLinesAreNoSentences(line: String) throws {
    #expect(try NMEASentence(line: Array(line.utf8)[...]) == nil)
  }

  @Test(arguments: [
    "4809.8,N,01133.8,", "4809.8,,01133.8,E", ",N,01133.8,E", "4860.0,N,01133.8,E", "9100.0,N,01133.8,E",
    "4809.8,N,18100.0,E", "48a9.8,N,01133.8,E", "-4809.8,N,01133.8,E", "9,N,9,E", "4809.8,X,01133.8,E",
    "4809.8.8,N,01133.8,E", "44444444444444444444444.1,N,01133.8,E",
  ])
  func impossiblePositionsAreAbsent(fields: String) throws {
    let line = Array(GPSDFixture.sentence("GPGLL,\(fields),1,A,A").utf8).dropLast(2)
    let sentence = try NMEASentence(line: line)
    #expect(sentence != nil && sentence?.coordinate(1) == nil)
  }

  @Test(arguments: ["", "1", "240000", "126000", "120061", "12000", "1200000", "120000.x", "-20000"])
  func impossibleTimesAreAbsent(field: String) throws {
    let line = Array(GPSDFixture.sentence("GPZDA,\(field),02,06,2025").utf8).dropLast(2)
    let sentence = try NMEASentence(line: line)
    #expect(sentence != nil && sentence?.timeOfDay(1) == nil)
  }

  @Test func southAndWestAreNegative() throws {
    let line = Array(GPSDFixture.sentence("GPGLL,3330.0,S,07030.0,W,1,A").utf8).dropLast(2)
    let sentence = try NMEASentence(line: line)
    let position = try #require(sentence?.coordinate(1))
    #expect(position.coordinate == Coordinate(latitude: -33.5, longitude: -70.5))
    #expect(position.decimals == 1)
  }
}
