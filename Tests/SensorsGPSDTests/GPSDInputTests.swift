import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// A live connection to a program that writes gpsd's protocol in its own way.
@Suite struct GPSDInputTests {
  private func record(
    _ lines: [String], device: String? = nil, until isDone: (EventRecorder) -> Bool
  ) throws -> EventRecorder {
    let server = try FakeGPSD(lines: lines)
    defer { server.stop() }
    let source = try GPSDSource(GPSDAddress(port: server.port), device: device)
    let recorder = EventRecorder()
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    source.setDemand(.rate(hertz: 10, latency: .zero), for: .positioning)
    #expect(waitUntil { isDone(recorder) }, "\(recorder.events)")
    return recorder
  }

  private static let version =
    #"{"class": "VERSION", "release": "3.22", "proto_major": 3, "proto_minor": 14}"#
  private static let report =
    #"{"mode": 3, "class": "TPV", "time": "2026-11-21T08:00:00.000Z", "lat": 48.1, "lon": 11.5, "speed": 10.0}"#

  private func positions(_ recorder: EventRecorder) -> [PositionFix] {
    recorder.events.flatMap { event -> [PositionFix] in
      if case .position(let fixes) = event { fixes } else { [] }
    }
  }

  @Test func whiteSpaceAndOrderDoNotMatter() throws {
    let recorder = try record([Self.version, Self.report]) { !positions($0).isEmpty }
    let fix = try #require(positions(recorder).first)
    #expect(fix.coordinate == Coordinate(latitude: 48.1, longitude: 11.5) && fix.speed == 10)
    #expect(recorder.statuses.allSatisfy { $0.skipped == nil })
  }

  private static func report(_ device: String, _ second: Int, longitude: Double) -> String {
    #"{"class":"TPV","device":"\#(device)","mode":3,"time":"2026-11-21T08:00:0\#(second).000Z","#
      + #""lat":48.1,"lon":\#(longitude),"speed":10.0,"eph":3.0}"#
  }

  /// The second receiver is used only after gpsd has closed the first one.
  @Test func oneOfSeveralReceiversIsUsed() throws {
    var lines = [Self.version]
    for second in 0..<5 {
      lines += [
        Self.report("/dev/a", second, longitude: 11.5), Self.report("/dev/b", second, longitude: 11.6),
      ]
    }
    lines += [
      #"{"class":"DEVICE","path":"/dev/a","activated":0}"#, Self.report("/dev/b", 6, longitude: 11.6),
      Self.report("/dev/a", 7, longitude: 11.5),
    ]
    let recorder = try record(lines) { recorder in
      recorder.statuses.last?.restriction?.contains("/dev/b and ignores /dev/a") ?? false
    }
    #expect(positions(recorder).map(\.receiver) == Array(repeating: "/dev/a", count: 5) + ["/dev/b"])
    let notices = recorder.statuses.compactMap(\.restriction)
    #expect(
      notices.first == "uses the receiver /dev/a and ignores /dev/b; gpsd.device selects a receiver"
        && notices.count == 2, "\(recorder.statuses)")
  }

  @Test func aReceiverThatGPSDDoesNotHaveIsReportedImmediately() throws {
    let devices = #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyACM0"}]}"#
    let error = #"{"class":"ERROR","message":"No such device as /dev/ttyUSB9"}"#
    let recorder = try record([Self.version, devices, error], device: "/dev/ttyUSB9") { recorder in
      recorder.statuses.contains { if case .unavailable = $0.state { true } else { false } }
    }
    guard case .unavailable(let reason)? = recorder.statuses.last?.state else {
      Issue.record("\(recorder.statuses)")
      return
    }
    #expect(
      reason.hasSuffix("has no receiver /dev/ttyUSB9; set gpsd.device to one of: /dev/ttyACM0"), "\(reason)")
  }

  @Test func inputThatIsNotAReportIsReportedWithItsLine() throws {
    let recorder = try record([Self.version, "$GPGGA,080000,4806,N", "$GPGGA,080001,4806,N", Self.report]) {
      !positions($0).isEmpty
    }
    let skipped = recorder.statuses.compactMap(\.skipped)
    #expect(skipped.count == 1)
    #expect(
      skipped.first?.first.contains("line 2 is not a report of gpsd in JSON ($GPGGA,080000,4806,N)") == true)
  }
}
