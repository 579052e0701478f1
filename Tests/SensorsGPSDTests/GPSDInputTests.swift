import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// A live connection to a program that writes gpsd's protocol in its own way.
@Suite struct GPSDInputTests {
  private func record(_ lines: [String], until isDone: (EventRecorder) -> Bool) throws -> EventRecorder {
    let server = try FakeGPSD(lines: lines)
    defer { server.stop() }
    let source = try GPSDSource(GPSDAddress(port: server.port))
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
