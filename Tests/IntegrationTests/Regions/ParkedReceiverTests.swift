import Foundation
import Positioning
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

@Suite struct ParkedReceiverTests {
  /// A receiver log of a parked vehicle, played through a real gpsd: a geofence edge through the scattered fixes is crossed at most once.
  @Test(.timeLimit(.minutes(5)), .needs(.gpsd), .needs(.recordings("gpsd-logs")))
  func parkedReceiverCrossesAGeofenceAtMostOnce() throws {
    let path = try Shared.file("data/gpsd-logs/sirf2.log")
    let listener = GPSDListener()
    let gpsd = try GPSDFixture(log: path, secondsPerSentence: 0.004, repeats: true)
    let source = try GPSDSource(GPSDAddress(port: gpsd.port))
    source.setDemand(always, for: .positioning)
    try source.start(listener.sink)
    // Enough fixes for a complete pass through the log, independent of the position at which the first client connected.
    _ = waitUntil(atMost: 120) { listener.fixes.count { $0.coordinate != nil } >= 1300 }
    source.stop()
    gpsd.stop()

    let heard = listener.fixes.compactMap { Location(fix: $0) }
    // The fixes of one pass, which starts where the receiver's time goes back: the jump between two passes is an artefact.
    let starts = heard.indices.dropFirst().filter { index in
      guard let last = heard[index - 1].time, let time = heard[index].time else { return false }
      return time < last
    }
    let begin = try #require(starts.first)
    let locations = Array(heard[begin..<(starts.dropFirst().first ?? heard.endIndex)])
    #expect(locations.count > 300)
    let middle = Coordinate(
      latitude: locations.map(\.coordinate.latitude).sorted()[locations.count / 2],
      longitude: locations.map(\.coordinate.longitude).sorted()[locations.count / 2])
    let frame = LocalFrame(origin: middle)
    var regions: [Region] = []
    for bearing in stride(from: 0.0, to: 360, by: 30) {
      for offset in stride(from: -10.0, through: 10, by: 1) {
        let (c, s) = (cos(bearing.radians), sin(bearing.radians))
        let corners = [(offset, -300.0), (600, -300), (600, 300), (offset, 300)].map {
          frame.coordinate(at: SIMD2($0.0 * c - $0.1 * s, $0.0 * s + $0.1 * c))
        }
        regions.append(Region(identifier: "\(Int(bearing))/\(Int(offset))", rings: [corners]))
      }
    }
    var monitor = RegionMonitor()
    #expect(monitor.replaceAll(regions).refused.isEmpty)
    var transitions: [String: Int] = [:]
    // One fix per second, as in the log: the faster playback would distort the arrival times.
    for (second, location) in locations.enumerated() {
      var location = location
      location.timestamp = Timestamp(seconds: Double(second))
      for event in monitor.process(location) { transitions[event.identifier, default: 0] += 1 }
    }
    #expect(transitions.values.allSatisfy { $0 <= 1 }, "\(transitions)")
  }
}
