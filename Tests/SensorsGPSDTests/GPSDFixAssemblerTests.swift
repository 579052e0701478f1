import Sensors
import Spatial
import TestSupport
import Testing

@testable import SensorsGPSD

@Suite struct GPSDFixAssemblerTests {
  private static let second: Int64 = 1_000_000_000

  private func report(_ mode: Int?, device: String? = nil) -> GPSDFix {
    GPSDFix(
      device: device, mode: mode, latitude: 1, longitude: 2, altitudeEllipsoidal: 3, altitudeMeanSeaLevel: 4,
      track: 5,
      speed: 6, climb: 7, eph: 8, epv: 9, eps: 10, epd: 11)
  }

  @Test(arguments: [nil, 0, 1, 4, -1])
  func noPositionAndNoMotionWithoutAFix(mode: Int?) {
    var assembler = GPSDFixAssembler()
    let fix = assembler.fix(report(mode), at: Timestamp(nanoseconds: 1))
    var expected = PositionFix(timestamp: Timestamp(nanoseconds: 1), mode: mode == 1 ? .noFix : nil)
    expected.receiver = nil
    #expect(fix == expected)
  }

  @Test func noPositionFromHalfOfOne() {
    var half = report(3)
    half.latitude = nil
    var assembler = GPSDFixAssembler()
    #expect(assembler.fix(half, at: Timestamp(nanoseconds: 0)).coordinate == nil)
    half.latitude = 91
    #expect(assembler.fix(half, at: Timestamp(nanoseconds: 0)).coordinate == nil)
  }

  @Test func impossibleValuesAreAbsent() {
    var impossible = report(3)
    (impossible.speed, impossible.eph, impossible.track) = (-1, -1, -90)
    var assembler = GPSDFixAssembler()
    let fix = assembler.fix(impossible, at: Timestamp(nanoseconds: 0))
    #expect(fix.speed == nil && fix.horizontalError == nil && fix.course == 270)
  }

  @Test func theSkyIsOfTheSameReceiverAndExpires() {
    var assembler = GPSDFixAssembler()
    let start = Timestamp(nanoseconds: 0)
    assembler.update(GPSDSky(device: "a", satellitesUsed: 5, satellitesVisible: 9), at: start)
    assembler.update(GPSDSky(device: "a", horizontalDilution: 0.9), at: start)
    let fix = assembler.fix(report(3, device: "a"), at: Timestamp(nanoseconds: 9 * Self.second))
    #expect(fix.satellitesUsed == 5 && fix.satellitesVisible == 9 && fix.horizontalDilution == 0.9)
    #expect(assembler.fix(report(3, device: "b"), at: start).satellitesUsed == nil)
    let late = assembler.fix(report(3, device: "a"), at: Timestamp(nanoseconds: 11 * Self.second))
    #expect(late.satellitesUsed == nil && late.horizontalDilution == nil && late.sky == nil)
  }

  /// Dilutions and satellites may arrive in separate reports.
  @Test func theFixHasTheSatellites() {
    var assembler = GPSDFixAssembler()
    let start = Timestamp(nanoseconds: 0)
    let satellites = [Satellite(identifier: 5, isUsed: true)]
    assembler.update(GPSDSky(satellites: satellites), at: start)
    #expect(assembler.fix(report(3), at: start).sky == SatelliteSky(satellites: satellites))
    assembler.update(GPSDSky(dilution: DilutionOfPrecision(vertical: 2)), at: start)
    #expect(
      assembler.fix(report(3), at: start).sky
        == SatelliteSky(satellites: satellites, dilution: DilutionOfPrecision(vertical: 2)))
  }

  /// gpsd 3.22 reports an error of 19 m (with corrections 4.75 m) times the dilution of precision.
  @Test func anErrorDerivedFromDilutionIsRecognized() {
    var assembler = GPSDFixAssembler()
    let time = Timestamp(nanoseconds: 0)
    func fix(_ eph: Double, status: Int = 1) -> PositionFix {
      var report = report(3)
      (report.eph, report.status) = (eph, status)
      return assembler.fix(report, at: time)
    }
    // A single error that happens to be such a multiple is not attributed to the dilution,
    #expect(!fix(14.44).isHorizontalErrorFromDilution)
    #expect([8.0, 19, 7.77].allSatisfy { !fix($0).isHorizontalErrorFromDilution })
    // nor is one that remains constant.
    #expect((0..<10).allSatisfy { _ in !fix(14.44).isHorizontalErrorFromDilution })
    #expect([14.25, 16.15].map { fix($0).horizontalDilution } == [nil, nil])
    let known = fix(17.1)
    #expect(known.isHorizontalErrorFromDilution && known.horizontalDilution == 0.9)
    #expect(known.horizontalError == 17.1)
    #expect(fix(4.038, status: 2).horizontalDilution == 0.85)
    // With a known dilution no guess is needed.
    assembler.update(GPSDSky(horizontalDilution: 0.8), at: time)
    #expect(fix(15.2).horizontalDilution == 0.8 && fix(15.2).isHorizontalErrorFromDilution)
    #expect(!fix(2.5).isHorizontalErrorFromDilution)
  }

  /// gpsd 3.22 divides the distance of two positions by their time if the receiver reports no speed.
  @Test func aSpeedThatGPSDDerivedIsAbsent() {
    var assembler = GPSDFixAssembler()
    func speed(_ second: Double, _ latitude: Double, _ speed: Double?, track: Double? = nil) -> Double? {
      var report = report(3)
      report.time = UTCTime(nanoseconds: 1_795_248_000_000_000_000).advanced(bySeconds: second)
      (report.latitude, report.longitude) = (latitude, 11.5755)
      (report.speed, report.track) = (speed, track)
      return assembler.fix(report, at: Timestamp(seconds: second)).speed
    }
    // Recorded with the noise of a receiver that moves at 10 m/s; each first part of an epoch repeats the position.
    #expect(speed(0, 48.137496, nil) == nil)
    #expect(speed(1, 48.137578, 9.118) == nil)
    #expect(speed(1, 48.137578, 9.118) == nil)
    #expect(speed(2, 48.137666333, 9.822) == nil)
    #expect(speed(3, 48.137748833, 9.173) == nil)
    #expect(speed(4, 48.137748833, 0) == nil)
    // Measured: with a course, or different from the motion of the position.
    #expect(speed(5, 48.137827, 8.692, track: 0) == 8.692)
    #expect(speed(6, 48.137968167, 15.697) == nil)
    #expect(speed(7, 48.137970, 0.05) == 0.05)
    #expect(speed(8, 48.137970, 0) == 0)
  }

  /// Twenty positions without a speed restrict the source, until there is one.
  @Test func missingSpeedHasAReason() {
    var check = SpeedCheck()
    var fix = PositionFix(timestamp: Timestamp(seconds: 0), mode: .threeDimensional)
    for _ in 0..<30 { check.observe(fix) }
    #expect(check.restriction == nil)
    fix.coordinate = Coordinate(latitude: 48, longitude: 11)
    for _ in 0..<19 { check.observe(fix) }
    #expect(check.restriction == nil)
    check.observe(fix)
    #expect(check.restriction?.contains("RMC or VTG") == true)
    fix.speed = 0
    check.observe(fix)
    #expect(check.restriction == nil)
  }

  /// Receivers that report a speed in some epochs and positions only in others.
  @Test(.needs(.recordings("gpsd-logs")), arguments: ["haicom-305N", "humminbird-M37"])
  func derivedSpeedsOfRecordedReceiversAreAbsent(log: String) throws {
    var recording = try GPSDLogRecording(path: Shared.file("data/gpsd-logs/\(log).log.chk"))
    var counts = (withCourse: 0, without: 0)
    while let event = try recording.next() {
      guard case .position(let fixes) = event else { continue }
      counts.withCourse += fixes.count { $0.speed != nil && $0.course != nil }
      counts.without += fixes.count { $0.speed != nil && $0.course == nil }
    }
    // gpsd derived the first one from a position that it did not report.
    #expect(counts.withCourse > 15 && counts.without <= 1, "\(counts)")
  }

  @Test(
    arguments: [
      (1, FixQuality.autonomous), (2, .differential), (3, .realTimeKinematicFixed),
      (4, .realTimeKinematicFloat),
      (6, .deadReckoning), (8, .notMeasured), (0, nil), (77, nil), (nil, nil),
    ] as [(Int?, FixQuality?)])
  func theStatusGivesTheQuality(status: Int?, quality: FixQuality?) {
    var assembler = GPSDFixAssembler()
    var report = report(3)
    report.status = status
    #expect(assembler.fix(report, at: Timestamp(nanoseconds: 0)).quality == quality)
  }
}
