import Positioning
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// The stated accuracy the way the agent gets its fixes: gpsd states an error of its own making, and that must not be taken
/// for the receiver's.
@Suite struct AccuracyThroughGPSDTests {
  @Test(.timeLimit(.minutes(6))) func theStatedAccuracyHoldsTheTrueError() throws {
    guard GPSDFixture.isInstalled, let path = Shared.file("data/tracks/mtv_ublox_f9k_slim2025.nmea"),
      let truthPath = Shared.file("data/tracks/mtv_span_truth.gga")
    else { return }
    let day: Int64 = 86_400_000_000_000
    var truth: [Int64: Coordinate] = [:]
    // The truth counts by time of day.
    var reference = try NMEARecording(
      path: truthPath, startDate: UTCTime(nanoseconds: 0), toleratingBrokenSentences: true)
    while case .position(let block)? = try reference.next() {
      for fix in block { if let time = fix.time { truth[time.nanoseconds % day] = fix.coordinate } }
    }
    let listener = GPSDListener()
    let gpsd = try GPSDFixture(log: path, leadIn: 600, secondsPerSentence: 0.005)
    let source = try GPSDSource(GPSDAddress(port: gpsd.port))
    source.setDemand(.rate(hertz: 1, latency: .seconds(1)), for: .positioning)
    try source.start(listener.sink)
    listener.waitForSilence(seconds: 3, atMost: 120)
    source.stop()
    gpsd.stop()

    var screen = FixScreen()
    var (inside, all) = (0, 0)
    for location in listener.fixes.flatMap({ screen.process($0) }) {
      // gpsd's first report has no error yet.
      guard let time = location.time, let place = truth[time.nanoseconds % day],
        let radius = location.horizontalAccuracy
      else { continue }
      all += 1
      if location.coordinate.distance(to: place) <= radius { inside += 1 }
    }
    let share = Double(inside) / Double(all)
    print("share of \(all) fixes within the stated radius: \(share); \(screen.counts)")
    #expect(all > 1550)
    #expect((0.6...0.8).contains(share), "\(share)")
  }
}
