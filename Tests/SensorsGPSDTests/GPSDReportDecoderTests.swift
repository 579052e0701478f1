import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@testable import SensorsGPSD

@Suite struct GPSDReportDecoderTests {
  private let decoder = GPSDReportDecoder()

  private func decode(_ line: String) -> GPSDReport? { decoder.decode(Array(line.utf8)[...]) }

  @Test func readsAPositionReport() throws {
    guard
      case .fix(let fix)? = decode(
        #"{"class":"TPV","device":"/dev/ttyACM0","mode":3,"time":"2025-06-02T04:54:24.809Z","lat":48.1617385,"#
          + #""lon":-11.563598833,"altHAE":147.5,"altMSL":100.5,"track":192.2,"speed":14.029,"climb":-0.5,"#
          + #""eph":17.1,"epv":20.5,"eps":0.3,"epd":1.25}"#)
    else {
      Issue.record("no fix")
      return
    }
    let expected = GPSDFix(
      device: "/dev/ttyACM0", mode: 3, time: UTCTime(rfc3339: "2025-06-02T04:54:24.809Z"),
      latitude: 48.1617385,
      longitude: -11.563598833, altitudeEllipsoidal: 147.5, altitudeMeanSeaLevel: 100.5, track: 192.2,
      speed: 14.029,
      climb: -0.5, eph: 17.1, epv: 20.5, eps: 0.3, epd: 1.25)
    #expect(abs(try #require(fix.latitude) - 48.1617385) < 1e-12)
    #expect(abs(try #require(fix.longitude) + 11.563598833) < 1e-12)
    var rounded = fix
    (rounded.latitude, rounded.longitude, rounded.track, rounded.speed, rounded.eph, rounded.eps) = (
      expected.latitude, expected.longitude, expected.track, expected.speed, expected.eph, expected.eps
    )
    #expect(rounded == expected)
  }

  /// A report must not inherit fields from the one before it.
  @Test func absentFieldsAreNilWhateverCameBefore() {
    _ = decode(
      #"{"class":"TPV","device":"d","mode":3,"time":"2025-06-02T04:54:24Z","lat":1,"lon":2,"altMSL":3,"speed":4}"#
    )
    #expect(decode(#"{"class":"TPV","mode":1}"#) == .fix(GPSDFix(mode: 1)))
    #expect(decode(#"{"class":"TPV","mode":0}"#) == .fix(GPSDFix()))
    #expect(decode(#"{"class":"TPV","lat":null,"lon":null,"speed":null}"#) == .fix(GPSDFix()))
    #expect(decode(#"{"class":"TPV","mode":3,"time":"yesterday"}"#) == .fix(GPSDFix(mode: 3)))
  }

  /// gpsd before 3.20 has one height, that above mean sea level, and an error for each axis.
  @Test func reportOfAnOldDaemonHasHeightAndErrors() {
    guard
      case .fix(let fix) = decode(
        #"{"class":"TPV","mode":3,"lat":1,"lon":2,"alt":520.25,"epx":3,"epy":4,"epv":9}"#)
    else {
      Issue.record("no fix")
      return
    }
    #expect(fix.altitudeMeanSeaLevel == 520.25 && fix.altitudeEllipsoidal == nil)
    #expect(fix.eph == 5 && fix.epv == 9)
  }

  @Test func aSkyOfDilutionsOnlyHasNoSatellites() {
    #expect(
      decode(#"{"class":"SKY","hdop":0.9,"satellites":[{"PRN":1,"used":true},{"PRN":2,"used":false}]}"#)
        == .sky(
          GPSDSky(
            satellitesUsed: 1, satellitesVisible: 2, horizontalDilution: 0.9,
            satellites: [Satellite(identifier: 1, isUsed: true), Satellite(identifier: 2)],
            dilution: DilutionOfPrecision(horizontal: 0.9))))
    #expect(
      decode(#"{"class":"SKY","hdop":0.8}"#)
        == .sky(GPSDSky(horizontalDilution: 0.8, dilution: DilutionOfPrecision(horizontal: 0.8))))
    #expect(
      decode(#"{"class":"SKY","satellites":[]}"#)
        == .sky(GPSDSky(satellitesUsed: 0, satellitesVisible: 0, satellites: [])))
  }

  /// The list and all dilutions of a u-blox receiver, and impossible values.
  @Test func satellitesAreDecoded() throws {
    let text =
      #"{"class":"SKY","device":"d","xdop":0.5,"ydop":0.6,"vdop":1.1,"tdop":0.7,"hdop":0.8,"gdop":1.5,"#
      + #""pdop":1.3,"satellites":[{"PRN":12,"el":41,"az":359,"ss":38.5,"used":true,"gnssid":0,"svid":12},"#
      + #"{"PRN":301,"el":-3,"az":12,"ss":0,"used":false,"gnssid":2,"svid":1},"#
      + #"{"PRN":70,"el":120,"az":400,"ss":-1,"used":false}]}"#
    guard case .sky(let sky)? = decode(text) else {
      Issue.record("no sky")
      return
    }
    var dilution = DilutionOfPrecision(horizontal: 0.8, vertical: 1.1, position: 1.3)
    (dilution.longitude, dilution.latitude, dilution.time, dilution.geometric) = (0.5, 0.6, 0.7, 1.5)
    #expect(sky.dilution == dilution)
    #expect(
      sky.satellites == [
        Satellite(
          identifier: 12, system: .gps, number: 12, elevation: 41, azimuth: 359, signal: 38.5, isUsed: true),
        Satellite(identifier: 301, system: .galileo, number: 1, elevation: -3, azimuth: 12, signal: 0),
        Satellite(identifier: 70),
      ])
    let many = (1...140).map { #"{"PRN":\#($0),"used":false}"# }.joined(separator: ",")
    guard case .sky(let crowded)? = decode(#"{"class":"SKY","satellites":[\#(many)]}"#) else {
      Issue.record("no sky")
      return
    }
    #expect(crowded.satellites?.count == SatelliteSky.limit && crowded.satellitesVisible == 140)
  }

  /// libgps stops at the number where it expects a text, and hangs on a fifth device.
  @Test func devicesAreReadDespiteLibgps() {
    #expect(
      decode(#"{"class":"DEVICE","path":"/dev/ttyUSB0","activated":0}"#)
        == .device(GPSDDevice(path: "/dev/ttyUSB0", driver: nil, isActive: false)))
    #expect(
      decode(
        #"{"class":"DEVICE","path":"/dev/ttyUSB0","driver":"u-blox","activated":"2025-06-02T04:54:24.000Z"}"#)
        == .device(GPSDDevice(path: "/dev/ttyUSB0", driver: "u-blox", isActive: true)))
    let device = { (number: Int) in #"{"class":"DEVICE","path":"/dev/tty\#(number)"}"# }
    let line = #"{"class":"DEVICES","devices":["# + (0..<9).map(device).joined(separator: ",") + "]}"
    #expect(
      decode(line)
        == .devices((0..<9).map { GPSDDevice(path: "/dev/tty\($0)", driver: nil, isActive: false) }))
    #expect(decode(#"{"class":"DEVICES","devices":[]}"#) == .devices([]))
  }

  @Test func readsVersionAndErrors() {
    #expect(
      decode(#"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#)
        == .version(GPSDVersion(release: "3.22", protocolMajor: 3, protocolMinor: 14)))
    #expect(decode(#"{"class":"ERROR","message":"No such device"}"#) == .error("No such device"))
    #expect(decode(#"{"class":"ATT","heading":1.0}"#) == .other("ATT"))
  }

  /// Each of these makes `gps_unpack` of libgps 3.22 fill fields from a broken report, read out of bounds, or never
  /// return.
  @Test(arguments: [
    "", "{", "{}", "[]", "null", "TPV", #"{"class":"TPV"#, #"{"class":"TPV","mode":3,"lat":1"#,
    #"{"class":"TPV","mode":3}garbage "class":"TPV""#, #"{"class":"TPV","x":[{"class":"SKY"}]}"#,
    #"{"x":[1],"class":3}"#, #"{"class":"TPV","lat":1e-99999999999}"#, #"{"class":"TPV","lat":0x10}"#,
    #"{"class":"TPV","lat":nan}"#, #"{"class":"TPV","lat":1.2.3}"#, #"{"class":"TPV","device":"\u12"}"#,
    #"{"class":"TPV","device":"\q"}"#, "{\"class\":\"TPV\",\"device\":\"a\u{1}b\"}", #"{"class":"TPV",}"#,
    #"{"class":"TPV" "mode":3}"#, #"{"class":3}"#, #"{"class":"TPV"}{"class":"TPV"}"#,
    #"{"class":"TPV","a":{"class":"TPV"}}"#, String(repeating: "[", count: 10_000),
    #"{"class":"TPV","a":"# + String(repeating: "[", count: 10_000),
  ])
  func brokenLinesAreNoReports(line: String) {
    #expect(decode(line) == nil)
  }

  @Test func anUnknownArrayDoesNotStopTheParser() {
    #expect(decode(#"{"class":"TPV","mode":3,"new":[1,2,3],"lat":1,"lon":2}"#) != nil)
    #expect(decode(#"{"class":"TPV","mode":3,"new":{"lat":1},"lon":2}"#) != nil)
  }

  @Test func mutatedLinesNeverTrapOrHang() {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let lines = [
      #"{"class":"TPV","device":"/dev/pts/1","mode":3,"time":"2025-06-02T04:54:24.000Z","lat":48.16,"lon":-11.56}"#,
      #"{"class":"SKY","hdop":0.9,"satellites":[{"PRN":1,"el":1.0,"used":true},{"PRN":2,"used":false}]}"#,
      #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a","activated":0},{"class":"DEVICE","path":"b"}]}"#,
      #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#,
      #"{"class":"ERROR","message":"\u0041 \"quoted\" \\ message"}"#,
    ].map { Array($0.utf8) }
    let pieces = [
      "\"class\":", "{", "}", "[", "]", ",", "\"", "\\", ":", "0", "null", "\"class\":\"SKY\"", " ",
    ]
    for _ in 0..<20_000 {
      var bytes = lines.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0...4, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(contentsOf: (pieces.randomElement(using: &generator) ?? "").utf8, at: index)
        case 3: bytes.insert(contentsOf: bytes[index...].prefix(30), at: index)
        default: bytes.removeLast(bytes.count - index)
        }
      }
      guard case .fix(let fix)? = decoder.decode(bytes[...]) else { continue }
      #expect(fix.latitude?.isFinite ?? true)
    }
  }
}
