import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct NMEARecordingTests {
  let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func recording(_ bodies: [String], startDate: UTCTime? = nil) throws -> NMEARecording {
    try NMEARecording(path: scratch.write(nmea(bodies), to: "log.nmea"), startDate: startDate)
  }

  @Test func sentencesOfOneMomentMakeOneFix() throws {
    let fixes = try fixes(
      of: recording([
        "GPGGA,045407.00,4809.81040,N,01133.86330,E,1,10,0.9,100.5,M,47.0,M,,",
        "GPGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2", "GPGSV,1,1,07", "GLGSV,1,1,05",
        "GPRMC,045407.00,A,4809.810,N,01133.863,E,10.0,308.3,020625,,,A",
        "GPGGA,045408.00,4809.81462,N,01133.85529,E,0,00,,,M,,M,,",
        "GPRMC,045408.00,V,,,,,,,020625,,,N",
      ]))
    #expect(fixes.count == 2)
    let first = fixes[0]
    #expect(first.time == UTCTime(rfc3339: "2025-06-02T04:54:07Z"))
    #expect(first.timestamp == Timestamp(nanoseconds: 0))
    #expect(first.mode == .threeDimensional)
    // The position with more digits is used.
    #expect(abs(try #require(first.coordinate).latitude - (48 + 9.81040 / 60)) < 1e-12)
    #expect(first.altitudeMeanSeaLevel == 100.5)
    #expect(first.altitudeEllipsoidal == 147.5)
    #expect(abs(try #require(first.speed) - 10 * 1852 / 3600) < 1e-12)
    #expect(first.course == 308.3)
    #expect(first.horizontalDilution == 0.9)
    #expect(first.satellitesUsed == 10)
    #expect(first.satellitesVisible == 12)
    #expect(first.climb == nil && first.horizontalError == nil)
    let second = fixes[1]
    #expect(second.mode == .noFix)
    #expect(second.coordinate == nil && second.speed == nil && second.altitudeMeanSeaLevel == nil)
    #expect(second.timestamp == Timestamp(nanoseconds: 1_000_000_000))
  }

  /// A sentence without a fix takes precedence over values that it repeats.
  @Test(arguments: [
    "GPRMC,120000,V,4809.8,N,01133.8,E,1.0,2.0,020625,,,A",
    "GPRMC,120000,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,N",
    "GPGGA,120000,4809.8,N,01133.8,E,0,00,0.0,4.0,M,42.2,M,,", "GPGLL,4809.8,N,01133.8,E,120000,V,N",
    "GNGNS,120000,4809.8,N,01133.8,E,NN,00,,,,,", "GPRMC,120000,A,,,,,1.0,2.0,020625,,,A",
    "GPGGA,120000,,,,,1,04,1.0,4.0,M,42.2,M,,",
  ])
  func noPositionWithoutAFix(body: String) throws {
    var recording = try recording([body])
    guard case .position(let block) = try recording.next(), let fix = block.first else {
      Issue.record("no fix")
      return
    }
    // A log without any position is an error at its end.
    #expect(throws: RecordingError.self) { try recording.next() }
    #expect(fix.coordinate == nil)
    #expect(fix.speed == nil && fix.course == nil && fix.altitudeMeanSeaLevel == nil)
    #expect(fix.horizontalDilution == nil)
  }

  @Test func absentFieldsAreNilAndNotZero() throws {
    let fix = try #require(try fixes(of: recording(["GNRMC,120000,A,4809.8,N,01133.8,E,,,020625,,,A"])).first)
    #expect(fix.coordinate != nil && fix.mode == .twoDimensional)
    #expect(fix.speed == nil && fix.course == nil)
    #expect(fix.altitudeMeanSeaLevel == nil && fix.satellitesUsed == nil && fix.satellitesVisible == nil)
  }

  @Test func speedAndCourseComeFromVTGWhereRMCHasNone() throws {
    let fix = try #require(
      try fixes(
        of: recording(["GPGGA,120000,4809.8,N,01133.8,E,1,04,1.0,4.0,M,,M,,", "GPVTG,77.5,T,,M,,N,36.0,K,A"])
      )
      .first)
    #expect(fix.speed == 10 && fix.course == 77.5)
    #expect(fix.altitudeEllipsoidal == nil)
  }

  @Test func theDateAdvancesAtMidnight() throws {
    let gga = { (time: String) in "GPGGA,\(time),4809.8,N,01133.8,E,1,04,1.0,4.0,M,,M,," }
    let start = UTCTime(rfc3339: "2024-02-28T10:00:00Z")
    let dated = try fixes(of: recording([gga("235959.5"), gga("000000.5")], startDate: start))
    #expect(dated.map(\.time?.rfc3339) == ["2024-02-28T23:59:59.500Z", "2024-02-29T00:00:00.500Z"])
    #expect(dated.map(\.timestamp.nanoseconds) == [0, 1_000_000_000])
    let undated = try fixes(of: recording([gga("235959.5"), gga("000000.5")]))
    #expect(undated.map(\.time) == [nil, nil])
    #expect(undated.map(\.timestamp.nanoseconds) == [0, 1_000_000_000])
  }

  @Test func theFirstDateMakesNoGap() throws {
    let fixes = try fixes(
      of: recording([
        "GPGGA,120000,4809.8,N,01133.8,E,1,04,1.0,4.0,M,,M,,",
        "GPRMC,120001,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A", "GPZDA,120002,03,06,2025,00,00",
        "GPGLL,4809.8,N,01133.8,E,120002,A,A",
      ]))
    #expect(fixes.map(\.time?.rfc3339) == [nil, "2025-06-02T12:00:01.000Z", "2025-06-03T12:00:02.000Z"])
    #expect(fixes.map(\.timestamp.nanoseconds) == [0, 1_000_000_000, 86_402_000_000_000])
  }

  @Test func backwardTimesDoNotReverseTheTimeLine() throws {
    let rmc = { (time: String) in "GPRMC,\(time),A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A" }
    let fixes = try fixes(of: recording([rmc("120010"), rmc("120012"), rmc("120005"), rmc("120013")]))
    #expect(fixes.map(\.timestamp.seconds) == [0, 2, 2, 3])
    #expect(fixes[2].time == UTCTime(rfc3339: "2025-06-02T12:00:05Z"))
  }

  @Test func fixesWithoutTimeAreSeparatedByRepetition() throws {
    let fixes = try fixes(
      of: recording([
        "GPGGA,,,,,,0,,,,M,,M,,", "GPRMC,,V,,,,,,,,,,N", "GPGGA,,,,,,0,,,,M,,M,,",
        "GPGGA,120000,4809.8,N,01133.8,E,1,04,1.0,4.0,M,,M,,",
      ]))
    #expect(fixes.prefix(2).map(\.mode) == [.noFix, .noFix] && fixes.count == 3)
    #expect(fixes.prefix(2).map(\.time) == [nil, nil])
  }

  @Test func demandIsMetOnTheRecordingsTimeLine() throws {
    let rmc = (0..<30).map { "GPRMC,1200\($0 < 10 ? "0" : "")\($0),A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A" }
    func seconds(_ demand: SensorDemand) throws -> [Double] {
      var recording = try self.recording(rmc)
      recording.setDemand(demand, for: .positioning)
      return try fixes(of: recording).map(\.timestamp.seconds)
    }
    #expect(try seconds(.off) == [])
    #expect(try seconds(.dutyCycle(on: .seconds(2), period: .seconds(10))) == [0, 1, 10, 11, 20, 21])
    #expect(try seconds(.rate(hertz: 5, latency: .zero)).count == 30)
    #expect(try seconds(.rate(hertz: 0.1, latency: .zero)) == [0, 10, 20])
    var recording = try self.recording(rmc)
    _ = try recording.next()
    recording.setDemand(.dutyCycle(on: .seconds(1), period: .seconds(5)), for: .positioning)
    #expect(
      try fixes(of: recording).map(\.timestamp.nanoseconds) == [5, 10, 15, 20, 25].map { $0 * 1_000_000_000 })
  }

  // MARK: Broken input

  @Test func aBrokenSentenceIsNamed() throws {
    let sound = nmea(["GPRMC,120000,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A"])
    let broken = sound.replacing("4809.8", with: "4809.9")
    let path = try scratch.write(sound + "# a comment\r\n" + broken + sound, to: "broken.nmea")
    let error = try #require(
      recordingError { try fixes(of: NMEARecording(path: path, toleratingBrokenSentences: false)) })
    #expect(error.file == path && error.line == 3)
    #expect(error.description.contains("checksum"))
  }

  /// A log of a serial line that lost characters.
  @Test func brokenSentencesAreSkippedAndCounted() throws {
    let bodies = (0..<10).map { "GPRMC,12000\($0),A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A" }
    var lines = bodies.map { nmea([$0]) }
    lines[3] = String(lines[3].dropLast(3)) + "\r\n"
    lines[7] = lines[7].replacing("4809.8", with: "48")
    let path = try scratch.write("\u{FEFF}" + lines.joined(), to: "broken.nmea")
    var recording = try NMEARecording(path: path)
    var count = 0
    while try recording.next() != nil { count += 1 }
    #expect(count == 8 && recording.brokenSentenceCount == 2)
    #expect(recording.skipped?.count == 2 && recording.skipped?.first.contains("broken.nmea:4:") == true)
  }

  @Test func aFileWithoutValidSentencesIsAnError() throws {
    let broken = nmea(["GPGGA,1"]).replacing("GGA", with: "GGB")
    for (name, text) in [("empty", ""), ("prose", "no sentence\nhere\n"), ("broken", broken)] {
      let path = try scratch.write(text, to: name)
      let error = recordingError {
        try fixes(of: NMEARecording(path: path, toleratingBrokenSentences: true))
      }
      #expect(error?.file == path, "\(name)")
    }
  }

  @Test func aTruncatedLastLineIsIgnored() throws {
    let sound = nmea(["GPRMC,120000,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A"])
    let path = try scratch.write(sound + "$GPRMC,120001,A,4809.8,N,0113", to: "cut.nmea")
    #expect(try fixes(of: NMEARecording(path: path)).count == 1)
  }

  @Test func anEndlessLineIsAnErrorWithItsNumber() throws {
    let sound = nmea(["GPRMC,120000,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A"])
    let path = try scratch.write(sound.utf8 + [UInt8](repeating: 65, count: 200_000), to: "long.nmea")
    let error = try #require(recordingError { try fixes(of: NMEARecording(path: path)) })
    #expect(error.line == 2)
  }

  @Test(arguments: ["/nowhere/at/all.nmea", "/", "/dev/null"])
  func aMissingFileIsAnError(path: String) {
    #expect(throws: RecordingError.self) { _ = try NMEARecording(path: path) }
  }

  // MARK: Real drives

  @Test(.needs(.recordings("tracks"))) func munichIsReadWholeAndInOrder() throws {
    let path = try Shared.file("data/tracks/munich_2025.nmea")
    let fixes = try fixes(of: NMEARecording(path: path))
    #expect(fixes.count == 1194)
    #expect(fixes.allSatisfy { $0.coordinate != nil && $0.mode == .threeDimensional && $0.speed != nil })
    #expect(fixes.first?.time == UTCTime(rfc3339: "2025-06-02T04:54:07Z"))
    for (a, b) in zip(fixes, fixes.dropFirst()) { #expect(a.timestamp < b.timestamp) }
  }

  @Test(.needs(.recordings("tracks"))) func mountainViewHasOneFixForEachMoment() throws {
    let path = try Shared.file("data/tracks/mtv_ublox_f9k_slim2025.nmea")
    let fixes = try fixes(of: NMEARecording(path: path))
    #expect(fixes.count == 1653)
    #expect(fixes.allSatisfy { $0.coordinate != nil && $0.horizontalDilution != nil })
  }
}
