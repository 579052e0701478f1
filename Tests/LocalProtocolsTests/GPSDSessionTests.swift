import LocalProtocols
import Sensors
import Spatial
import Testing
import VehicleData

@Suite struct GPSDSessionTests {
  private static let configuration = GPSDSession.Configuration(release: "1.0")
  private var session = GPSDSession(configuration)

  private static let version =
    #"{"class":"VERSION","release":"1.0","rev":"1.0","proto_major":3,"proto_minor":14}"#
  private static let devices = #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"odograph"}]}"#
  private static let active =
    #"{"class":"DEVICE","path":"odograph","driver":"Odograph","activated":"2026-11-27T12:00:00.000Z","flags":1,"#
    + #""native":0,"cycle":1}"#

  private static func watch(
    _ enable: Bool, json: Bool = false, nmea: Bool = false, raw: Int = 0, device: String = ""
  ) -> String {
    #"{"class":"WATCH","enable":\#(enable),"json":\#(json),"nmea":\#(nmea),"raw":\#(raw),"scaled":false,"#
      + #""timing":false,"split24":false,"pps":false\#(device)}"#
  }

  private static func error(_ message: String) -> String { #"{"class":"ERROR","message":"\#(message)"}"# }

  private func lines(_ bytes: [UInt8]) -> [String] {
    #expect(bytes.isEmpty || bytes.suffix(2) == Array("\r\n".utf8)[...])
    return String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
  }

  private mutating func answers(_ text: String) -> [String] { lines(session.receive(text.utf8)) }

  private func report(second: Int = 0, isEstimated: Bool = false, receiver: LocalReceiver? = nil)
    -> LocalReport
  {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48.5, longitude: -11.25))
    (location.altitude, location.ellipsoidalAltitude) = (500, 547.5)
    (location.speed, location.course, location.horizontalAccuracy) = (10, 90, 10)
    (location.verticalAccuracy, location.speedAccuracy, location.courseAccuracy) = (5, 0.5, 2)
    return LocalReport(
      time: UTCTime(year: 2026, month: 11, day: 27, hour: 12, second: second),
      location: PrivacyPolicy.unrestricted(location), isEstimated: isEstimated, receiver: receiver)
  }

  private static let position =
    #"{"class":"TPV","device":"odograph","mode":3,"time":"2026-11-27T12:00:00.000Z","lat":48.5,"lon":-11.25,"#
    + #""altHAE":547.5,"altMSL":500,"alt":500,"epx":12.983,"epy":12.983,"epv":9.8,"track":90,"speed":10,"#
    + #""eps":0.98,"epd":3.92,"geoidSep":47.5,"eph":16.215,"sep":18.946}"#

  @Test mutating func greetsWithTheVersion() { #expect(lines(session.greet()) == [Self.version]) }

  @Test(arguments: [
    ("?VERSION;\n", [version]), ("?DEVICES;\r\n", [devices]),
    ("?DEVICE;\n", [#"{"class":"DEVICE","path":"odograph"}"#]), ("?WATCH;\n", [devices, watch(false)]),
    ("?POLL;\n", [#"{"class":"POLL","active":0,"tpv":[],"gst":[],"sky":[]}"#]),
    // Several requests in a line, and requests that end without a semicolon.
    ("?VERSION;?DEVICES;\n", [version, devices]), ("?VERSION\n", [version]),
    ("?VERSION;", [version]), (#"?WATCH={"enable":true,"json":true}"#, [devices, watch(true, json: true)]),
    (#"?WATCH={"enable":true,"nmea":true};"#, [devices, watch(true, nmea: true)]),
    (#"?WATCH={"raw":1};"#, [devices, watch(true, raw: 1)]),
    (#"?WATCH={"enable":1,"json":0};"#, [devices, watch(true)]),
    (#"?WATCH={"enable":false};"#, [devices, watch(false)]), ("?WATCH={};", [devices, watch(true)]),
    (
      #" ?WATCH={ "device" : "odograph", "other" : {"a":["}"]} } ;"#,
      [devices, watch(true, device: #","device":"odograph""#)]
    ),
    (#"?WATCH={"device":"/dev/ttyUSB0"};"#, [error("No such device as /dev/ttyUSB0")]),
    (#"?WATCH={"enable":"yes"};"#, [error("Invalid WATCH: invalid value of enable")]),
    (#"?WATCH={"raw":3};"#, [error("Invalid WATCH: invalid value of raw")]),
    (#"?WATCH={"enable":tru};"#, [error("Invalid WATCH: line 1 column 11: unexpected text")]),
    (#"?WATCH={"enable":true"# + "\n", [error("Invalid WATCH: line 1 column 15: the text ends too early")]),
    ("?WATCH=[];", [error("Invalid WATCH: not an object")]),
    (#"?DEVICE={"path":"/dev/x"};"#, [error("Can't open /dev/x.")]),
    (#"?DEVICE={"cycle":"fast"};"#, [error("Invalid DEVICE: invalid value of cycle")]),
    ("?FOO;\n", [error("Unrecognized request '?FOO'")]), ("?;\n", [error("Unrecognized request '?'")]),
    ("?=;\n", [error("Unrecognized request '?='")]),
    ("?\u{1B}\"é;\n", [error(#"Unrecognized request '?\u001b\"é'"#)]),
    // Invalid input is ignored up to the end of the line.
    ("hello ?VERSION;\n?DEVICES;\n", [devices]), ("\n;\r\n \t;", []), ("", []),
  ]) mutating func answersRequests(request: String, answers: [String]) {
    #expect(self.answers(request) == answers)
    #expect(self.answers("\n?VERSION;\n") == [Self.version], "the session continues")
  }

  @Test mutating func aRequestMayArriveInPieces() {
    for byte in #"?WATCH={"enable":true,"js"#.utf8 { #expect(session.receive([byte]) == []) }
    #expect(answers(#"on":true};"#) == [Self.devices, Self.watch(true, json: true)])
  }

  @Test mutating func aLongRequestIsRefusedOnce() {
    let message = Self.error("Request is longer than 1024 bytes")
    #expect(answers("?WATCH={" + String(repeating: " ", count: 5000)) == [message])
    #expect(answers(String(repeating: "}?VERSION;", count: 1000)) == [])
    #expect(answers("\n?VERSION;") == [Self.version])
  }

  @Test mutating func reportsOnlyWhileWatching() {
    #expect(session.send(report()) == [] && !session.isWatching && session.needs == nil)
    _ = answers(#"?WATCH={"enable":true,"json":true};"#)
    #expect(session.isWatching)
    #expect(lines(session.send(report())) == [Self.active, Self.position])
    #expect(lines(session.send(report())) == [Self.position])
    #expect(answers("?DEVICE;") == [Self.active])
    _ = answers(#"?WATCH={"enable":false};"#)
    #expect(session.send(report()) == [] && !session.isWatching && session.needs == nil)
    #expect(answers("?DEVICES;") == [Self.devices])
  }

  @Test mutating func reportsDeadReckoningAndNoFix() {
    _ = answers(#"?WATCH={"enable":true,"json":true};"#)
    let estimated = lines(session.send(report(isEstimated: true)))
    #expect(estimated.last?.hasPrefix(#"{"class":"TPV","device":"odograph","status":5,"mode":3,"#) == true)
    let none = LocalReport(time: UTCTime(rfc3339: "2026-11-27T12:00:01Z"))
    #expect(
      lines(session.send(none))
        == [#"{"class":"TPV","device":"odograph","mode":1,"time":"2026-11-27T12:00:01.000Z"}"#])
    #expect(lines(session.send(LocalReport(time: nil))) == [#"{"class":"TPV","device":"odograph","mode":1}"#])
  }

  @Test mutating func reportsAttitudeAndSatellites() {
    _ = answers(#"?WATCH={"enable":true,"json":true};"#)
    var full = report(
      receiver: LocalReceiver(
        quality: .differential, satellitesUsed: 9, satellitesVisible: 14, horizontalDilution: 0.85))
    full.attitude = LocalAttitude(trueHeading: 360, roll: 1.5, pitch: -2.25)
    let lines = lines(session.send(full))
    #expect(lines[1].contains(#""status":2,"#))
    #expect(
      lines.dropFirst(2) == [
        #"{"class":"ATT","device":"odograph","time":"2026-11-27T12:00:00.000Z","heading":0,"pitch":-2.25,"roll":1.5}"#,
        #"{"class":"SKY","device":"odograph","time":"2026-11-27T12:00:00.000Z","hdop":0.85,"nSat":14,"uSat":9}"#,
      ])
  }

  @Test mutating func pollsTheLastReport() {
    // A client that polls watches without reports.
    _ = answers(#"?WATCH={"enable":true};"#)
    #expect(session.send(report()) == [])
    #expect(session.send(report(second: 1, receiver: LocalReceiver(satellitesUsed: 9))) == [])
    let position = Self.position.replacing("12:00:00", with: "12:00:01")
    #expect(
      answers("?POLL;") == [
        #"{"class":"POLL","time":"2026-11-27T12:00:01.000Z","active":1,"tpv":[\#(position)],"gst":[],"#
          + #""sky":[{"class":"SKY","device":"odograph","time":"2026-11-27T12:00:01.000Z","uSat":9}]}"#
      ])
  }

  @Test mutating func streamsSentences() {
    var expected: [UInt8] = []
    NMEAWriter().encode(report(), into: &expected)
    _ = answers(#"?WATCH={"enable":true,"nmea":true,"raw":2};"#)
    #expect(session.send(report()) == expected)
    _ = answers(#"?WATCH={"json":true};"#)
    #expect(lines(session.send(report())).count == 1 + lines(expected).count, "the attributes add up")
  }

  @Test mutating func theNeedsFollowTheRequests() {
    _ = answers("?WATCH={};")
    #expect(session.needs == LocalNeeds(interval: 1, attitude: false))
    _ = answers(#"?WATCH={"json":true};?DEVICE={"path":"odograph","cycle":0.25};"#)
    #expect(session.needs == LocalNeeds(interval: 0.25, attitude: true))
    for (request, interval) in [("0.001", 0.1), ("-1", 0.1), ("1e9", 3600), ("5", 5)] {
      _ = answers(#"?DEVICE={"cycle":\#(request)};"#)
      #expect(session.needs?.interval == interval)
    }
    var configuration = Self.configuration
    configuration.attitude = false
    configuration.writer.sentences = [.rmc]
    session = GPSDSession(configuration)
    _ = answers(#"?WATCH={"json":true,"nmea":true};"#)
    #expect(session.needs == LocalNeeds(interval: 1, attitude: false))
  }
}
