import Glibc
import LocalProtocols
import Platform
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing
import VehicleData

@testable import SensorsGPSD

private typealias Session = LocalProtocols.GPSDSession

/// Clients of gpsd's protocol: libgps, and programs of gpsd.
@Suite struct GPSDClientTests {
  private static let start = UTCTime(nanoseconds: 1_795_780_799_000_000_000)  // 2026-11-27T11:59:59Z

  @Test func libgpsReadsTheReports() throws {
    var generator = SeededGenerator.announced()
    let decoder = GPSDReportDecoder()
    var session = Session(Session.Configuration(release: "1.0"))
    func decoded(_ bytes: [UInt8]) -> [GPSDReport?] {
      bytes.split(separator: UInt8(ascii: "\n")).map { decoder.decode($0.dropLast()) }
    }
    #expect(
      decoded(session.greet())
        == [.version(GPSDVersion(release: "1.0", protocolMajor: 3, protocolMinor: 14))])
    #expect(
      decoded(session.receive(#"?WATCH={"enable":true,"json":true};"#.utf8))
        == [.devices([GPSDDevice(path: "odograph", driver: nil, isActive: false)]), .other("WATCH")])
    #expect(
      decoded(session.receive("?FOO \"class\":;".utf8)) == [.error("Unrecognized request '?FOO \"class\":'")])
    for index in 0..<1000 {
      let time = Self.start.advanced(bySeconds: Double(index))
      let report = LocalReport.random(at: time, using: &generator)
      var decoded = decoded(session.send(report))
      let device = GPSDReport.device(GPSDDevice(path: "odograph", driver: "Odograph", isActive: true))
      if index == 0 { #expect(decoded.removeFirst() == device) }
      guard case .fix(let fix)? = decoded.first else {
        Issue.record("no fix: \(decoded)")
        continue
      }
      let location = try #require(report.location)
      let coordinate = Coordinate(
        latitude: try #require(fix.latitude), longitude: try #require(fix.longitude))
      #expect(coordinate.distance(to: location.coordinate) < 0.001)
      #expect(fix.time == time && fix.device == "odograph")
      #expect((fix.status == 5) == report.isEstimated, "\(fix)")
      #expect((fix.mode == 3) == (location.altitude != nil || location.ellipsoidalAltitude != nil))
      for (read, written) in [
        (fix.speed, location.speed), (fix.altitudeMeanSeaLevel, location.altitude),
        (fix.altitudeEllipsoidal, location.ellipsoidalAltitude),
        (fix.eph, location.horizontalAccuracy.map { $0 * 1.6214 }),
        (fix.epv, location.verticalAccuracy.map { $0 * 1.96 }),
      ] {
        #expect((read == nil) == (written == nil), "\(fix) \(location)")
        if let read, let written { #expect(abs(read - written) < 0.001 + written.magnitude * 1e-4) }
      }
      #expect(decoded.contains(.other("ATT")) == (report.attitude != nil))
      let hasSky = decoded.contains { if case .sky? = $0 { true } else { false } }
      #expect(hasSky == (report.receiver != nil))
      for case .sky(let sky)? in decoded {
        let written = report.receiver?.sky?.satellites ?? []
        #expect((sky.satellites ?? []).map(\.identifier) == written.map(\.identifier))
        #expect((sky.satellites ?? []).map(\.isUsed) == written.map(\.isUsed))
        for (read, written) in zip(sky.satellites ?? [], written) {
          #expect(read.system == written.system && read.number == written.number)
          #expect(abs((read.elevation ?? 99) - (written.elevation ?? 99)) < 0.06, "\(read) \(written)")
        }
      }
    }
    #expect(
      decoded(session.receive("?DEVICES;".utf8))
        == [.devices([GPSDDevice(path: "odograph", driver: "Odograph", isActive: true)])])
  }

  /// Arbitrary bytes in arbitrary pieces neither trap nor accumulate, and answers are lines.
  @Test func survivesArbitraryBytes() {
    var generator = SeededGenerator.announced()
    let words = [
      "?", "WATCH", "DEVICE", "POLL", "=", "{", "}", ";", "\n", "\r", "\"", "\\", "enable", ":", "true",
      "json",
      ",", "nmea", "raw", "1", "cycle", "path", "[", "]", "\0", "?WATCH={\"json\":true};", "\u{FEFF}",
      "1e999",
    ].map { Array($0.utf8) }
    for _ in 0..<300 {
      var session = Session(Session.Configuration(release: "1.0"))
      for round in 0..<100 {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...20, using: &generator) {
          if Bool.random(using: &generator) {
            bytes += words.randomElement(using: &generator) ?? []
          } else {
            bytes.append(.random(in: 0...255, using: &generator))
          }
        }
        let time = Self.start.advanced(bySeconds: Double(round))
        let report = LocalReport.random(at: time, isExtreme: true, using: &generator)
        for output in [session.receive(bytes), session.send(report)] {
          #expect(output.isEmpty || output.suffix(2) == [13, 10])
          // The longest answer is that to `?POLL`.
          #expect(output.count <= 14_000 + bytes.count * 300)
          for line in output.split(separator: 10) where line.first == UInt8(ascii: "{") {
            #expect(line.starts(with: #"{"class":""#.utf8))
          }
        }
      }
      // The end of the line ends an incomplete request.
      _ = session.receive("\n".utf8)
      #expect(session.receive("?VERSION;\n".utf8) == session.greet())
    }
  }

  /// A server of one client on loopback, which sends a report on each round of its loop while the client watches.
  private func serve(_ reports: [LocalReport], _ run: (_ port: Int) throws -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    let port = try LoopbackSocket.listen(listener)
    let thread = try ServiceThread()
    defer { thread.stop() }
    try thread.start(name: "gpsd") { _ in
      while waitUntilReadable([listener, thread.wake.descriptor], seconds: nil) == listener {
        let client = accept(listener, nil, nil)
        defer { close(client) }
        var session = Session(Session.Configuration(release: "1.0"))
        var isOpen = LoopbackSocket.sendAll(client, session.greet()[...])
        var rest = reports[...]
        while isOpen {
          let isDue = session.isWatching && !rest.isEmpty
          let ready = waitUntilReadable([client, thread.wake.descriptor], seconds: isDue ? 0.01 : nil)
          if ready == thread.wake.descriptor { return }
          if ready == client {
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(client, &buffer, buffer.count, 0)
            isOpen =
              count > 0 && LoopbackSocket.sendAll(client, session.receive(buffer.prefix(max(0, count)))[...])
          } else if let report = rest.popFirst() {
            isOpen = LoopbackSocket.sendAll(client, session.send(report)[...])
          }
        }
      }
    }
    try run(port)
  }

  private func drive() -> [LocalReport] {
    (0..<200).map { index in
      var location = Location(
        timestamp: Timestamp(nanoseconds: 0),
        coordinate: Coordinate(latitude: 48.5 + Double(index) * 1e-5, longitude: -11.25))
      (location.altitude, location.speed, location.horizontalAccuracy) = (500, 10, 5)
      return LocalReport(
        time: Self.start.advanced(bySeconds: Double(index)), location: PrivacyPolicy.unrestricted(location),
        isEstimated: index % 10 >= 5, attitude: LocalAttitude(trueHeading: 12, roll: 1, pitch: 2))
    }
  }

  @Test func gpspipePrintsReportsAndSentences() throws {
    try serve(drive()) { port in
      let json = try ChildProcess("gpspipe", ["-w", "-n", "20", "127.0.0.1:\(port)"])
      #expect(json.waitForExit() == 0)
      let output = json.output
      #expect(
        output.contains(
          #"{"class":"TPV","device":"odograph","mode":3,"time":"2026-11-27T11:59:59.000Z","lat":48.5,"#))
      #expect(output.contains(#""status":5,"#) && output.contains(#"{"class":"ATT","#), "\(output)")
      let nmea = try ChildProcess("gpspipe", ["-r", "-n", "20", "127.0.0.1:\(port)"])
      #expect(nmea.waitForExit() == 0)
      #expect(nmea.output.contains("$GNGGA,115959.00,4830.00000,N,01115.00000,W,1,"), "\(nmea.output)")
    }
  }

  @Test func thePythonLibraryReadsPositions() throws {
    let program = """
      import gps, sys
      session = gps.gps(host="127.0.0.1", port=sys.argv[1], mode=gps.WATCH_ENABLE | gps.WATCH_JSON)
      for report in session:
          if report["class"] == "ATT":
              print("heading", report["heading"])
          if report["class"] == "TPV":
              print("%.5f %.2f %d" % (session.fix.latitude, session.fix.longitude, session.fix.mode))
              if report["lat"] > 48.5001:
                  break
      """
    try serve(drive()) { port in
      let python = try ChildProcess("/usr/bin/python3", ["-c", program, "\(port)"])
      #expect(python.waitForExit() == 0, "\(python.output)")
      let lines = python.output.split(separator: "\n")
      #expect(lines.first == "48.50000 -11.25 3" && lines.contains("heading 12"), "\(python.output)")
    }
  }
}
