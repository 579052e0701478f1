import LocalProtocols
import Sensors
import Spatial
import Testing
import VehicleData

@Suite struct NMEAWriterTests {
  private func report(
    _ latitude: Double = 48.5, _ longitude: Double = -11.25, time: String = "2026-11-27T12:00:00Z",
    isEstimated: Bool = false, attitude: LocalAttitude? = nil, receiver: LocalReceiver? = nil,
    _ change: (inout Location) -> Void = { _ in }
  ) -> LocalReport {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: latitude, longitude: longitude))
    change(&location)
    return LocalReport(
      time: UTCTime(rfc3339: time), location: PrivacyPolicy.unrestricted(location), isEstimated: isEstimated,
      attitude: attitude, receiver: receiver)
  }

  private func lines(_ report: LocalReport, _ writer: NMEAWriter = NMEAWriter()) -> [String] {
    var bytes: [UInt8] = []
    writer.encode(report, into: &bytes)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
  }

  /// The only sentence, without its checksum.
  private func body(_ sentence: NMEAWriter.Sentence, _ report: LocalReport) -> String? {
    lines(report, NMEAWriter(sentences: [sentence])).first.map { String($0.prefix { $0 != "*" }) }
  }

  @Test func containsAllValuesOfAFix() {
    let attitude = LocalAttitude(
      trueHeading: 359.997, magneticHeading: 356.5, headingAccuracy: 1.5, roll: 1.25, rollAccuracy: 0.1,
      pitch: -2.5, pitchAccuracy: 0.2, yawRate: -3)
    let receiver = LocalReceiver(quality: .differential, satellitesUsed: 9, horizontalDilution: 0.85)
    let full = report(attitude: attitude, receiver: receiver) {
      ($0.speed, $0.course, $0.altitude, $0.ellipsoidalAltitude) = (10, 1.004, 500.25, 547.75)
      ($0.horizontalAccuracy, $0.verticalAccuracy) = (3, 5)
    }
    #expect(
      lines(full) == [
        "$GNGGA,120000.00,4830.00000,N,01115.00000,W,2,09,0.85,500.25,M,47.5,M,,*6B",
        "$GNGSA,A,3,,,,,,,,,,,,,,0.85,,*3D",
        "$GNVTG,1.00,T,,M,19.438,N,36.000,K,D*25",
        "$GNHDT,0.00,T*1B",
        "$GNHDG,356.50,,,3.5,E*18",
        "$GNROT,-180.0,A*0B",
        "$PASHR,120000.00,0.00,T,+1.25,-2.50,,0.100,0.200,1.500,1,1*3D",
        "$GNRMC,120000.00,A,4830.00000,N,01115.00000,W,19.44,1.00,271126,3.5,E,D,V*70",
        "$GNGST,120000.00,,1.99,1.99,0.0,1.99,1.99,5.00*51",
        "$GNZDA,120000.00,27,11,2026,00,00*78",
      ])
  }

  @Test func unknownValuesAreEmpty() {
    #expect(body(.gga, report()) == "$GNGGA,120000.00,4830.00000,N,01115.00000,W,1,,,,M,,M,,")
    #expect(body(.rmc, report()) == "$GNRMC,120000.00,A,4830.00000,N,01115.00000,W,,,271126,,,A,V")
    #expect(body(.gst, report()) == "$GNGST,120000.00,,,,,,,")
    #expect(body(.vtg, report()) == "$GNVTG,,T,,M,,N,,K,A")
    #expect(body(.gsa, report()) == "$GNGSA,A,2,,,,,,,,,,,,,,,,")
    for sentence in [NMEAWriter.Sentence.hdt, .hdg, .rot, .pashr] { #expect(body(sentence, report()) == nil) }
  }

  @Test func withoutALocationThereIsNoFix() {
    let none = LocalReport(time: UTCTime(rfc3339: "2026-11-27T12:00:00Z"), isEstimated: true)
    #expect(body(.gga, none) == "$GNGGA,120000.00,,,,,0,00,,,M,,M,,")
    #expect(body(.rmc, none) == "$GNRMC,120000.00,V,,,,,,,271126,,,N,V")
    #expect(body(.vtg, none) == "$GNVTG,,T,,M,,N,,K,N")
    #expect(body(.gsa, none) == "$GNGSA,A,1,,,,,,,,,,,,,,,,")
    let timeless = LocalReport(time: nil)
    #expect(body(.gga, timeless) == "$GNGGA,,,,,,0,00,,,M,,M,,")
    #expect(body(.zda, timeless) == nil)
    #expect(body(.gga, report(.nan, 0)) == "$GNGGA,120000.00,,,,,0,00,,,M,,M,,")
  }

  @Test func deadReckoningIsMarkedAsEstimated() {
    let receiver = LocalReceiver(quality: .differential, satellitesUsed: 9, horizontalDilution: 0.85)
    let estimated = report(isEstimated: true, receiver: receiver) { $0.horizontalAccuracy = 100 }
    // The radius of 95 % is 162.1 m, which is 8.53 times 19 m.
    #expect(
      body(.gga, estimated) == "$GNGGA,120000.00,4830.00000,N,01115.00000,W,6,00,8.53,,M,,M,,")
    #expect(body(.rmc, estimated)?.hasSuffix(",A,4830.00000,N,01115.00000,W,,,271126,,,E,V") == true)
    #expect(body(.vtg, estimated)?.hasSuffix(",E") == true)
  }

  @Test(arguments: [
    (0.0, 0.0, "0000.00000,N,00000.00000,E"), (90.0, 180.0, "9000.00000,N,18000.00000,E"),
    (-90.0, -180.0, "9000.00000,S,18000.00000,W"), (-0.5, -0.25, "0030.00000,S,00015.00000,W"),
    (1.9999999999, -1.9999999999, "0200.00000,N,00200.00000,W"),
    (59.0 + 59.999_99 / 60, 59.0 + 59.999_996 / 60, "5959.99999,N,06000.00000,E"),
  ]) func roundsMinutesIntoDegrees(latitude: Double, longitude: Double, text: String) {
    #expect(body(.rmc, report(latitude, longitude)) == "$GNRMC,120000.00,A,\(text),,,271126,,,A,V")
  }

  @Test(arguments: [
    ("2026-12-31T23:59:59.995Z", "000000.00,01,01,2027"),
    ("2026-12-31T23:59:59.994Z", "235959.99,31,12,2026"),
    ("2028-02-28T23:59:59.999Z", "000000.00,29,02,2028"), ("1969-12-31T23:59:59.5Z", "235959.50,31,12,1969"),
    ("2026-11-27T09:08:07.06Z", "090807.06,27,11,2026"),
  ]) func roundsTimesIntoDays(time: String, text: String) {
    #expect(body(.zda, report(time: time)) == "$GNZDA,\(text),00,00")
  }

  private static let satellites = [
    Satellite(
      identifier: 5, system: .gps, number: 5, elevation: 60.6, azimuth: 359.7, signal: 41, isUsed: true),
    Satellite(identifier: 7, system: .gps, number: 7, elevation: -2, azimuth: 12, signal: nil),
    Satellite(identifier: 46, system: .sbas, number: 133, elevation: 28, azimuth: 160, signal: 35.2),
    Satellite(identifier: 9, system: .gps, number: 9, elevation: 5, azimuth: 90, signal: 20, isUsed: true),
    Satellite(identifier: 11, elevation: 6, azimuth: 91, signal: 21, isUsed: true),
    Satellite(
      identifier: 72, system: .glonass, number: 8, elevation: 45, azimuth: 200, signal: 30, isUsed: true),
    Satellite(
      identifier: 311, system: .galileo, number: 11, elevation: 70, azimuth: 5, signal: 45, isUsed: true),
    Satellite(identifier: 0, system: .imes, number: 1),
  ]

  @Test func satellitesAndDilutionsAreListed() {
    let sky = SatelliteSky(
      satellites: Self.satellites,
      dilution: DilutionOfPrecision(horizontal: 0.85, vertical: 1.1, position: 1.4))
    let receiver = LocalReceiver(satellitesUsed: 5, horizontalDilution: 0.85, sky: sky)
    let writer = NMEAWriter(sentences: [.gsa, .gsv])
    let fix = report(receiver: receiver) { $0.altitude = 1 }
    #expect(
      lines(fix, writer).map { String($0.prefix { $0 != "*" }) } == [
        "$GNGSA,A,3,05,09,11,,,,,,,,,,1.40,0.85,1.10,1", "$GNGSA,A,3,72,,,,,,,,,,,,1.40,0.85,1.10,2",
        "$GNGSA,A,3,11,,,,,,,,,,,,1.40,0.85,1.10,3",
        "$GPGSV,2,1,05,05,61,000,41,07,,012,,46,28,160,35,09,05,090,20",
        "$GPGSV,2,2,05,11,06,091,21", "$GLGSV,1,1,01,72,45,200,30", "$GAGSV,1,1,01,11,70,005,45",
      ])
    // In dead reckoning no satellite is used.
    let estimated = lines(report(isEstimated: true, receiver: receiver), writer)
    #expect(estimated.count == 1 && estimated[0].hasPrefix("$GNGSA,A,2,,"))
  }

  /// The lists are bounded: 36 satellites in view of each system, twelve in a GSA.
  @Test func longListsAreLimited() {
    let all = (1...63).map { Satellite(identifier: $0 + 200, system: .beiDou, number: $0, isUsed: true) }
    let lines = lines(
      report(receiver: LocalReceiver(sky: SatelliteSky(satellites: all + all))),
      NMEAWriter(sentences: [.gsa, .gsv]))
    #expect(lines.count { $0.hasPrefix("$GBGSV,9,") } == 9 && lines.allSatisfy { $0.utf8.count <= 80 })
    #expect(lines.count { $0.hasPrefix("$GNGSA") } == 9)
  }

  @Test func theTalkerIsSelectable() {
    let lines = lines(report(), NMEAWriter(sentences: [.vtg], talker: .gps))
    #expect(lines == ["$GPVTG,,T,,M,,N,,K,A*23"])
  }
}
