import Positioning
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

/// The stated accuracy the way the agent gets its fixes: gpsd states an error of its own making, and that must not be taken
/// for the receiver's.
@Suite struct AccuracyThroughGPSDTests {
  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks")))
  func theStatedAccuracyHoldsTheTrueError() throws {
    let truthPath = try Shared.file("data/tracks/mtv_span_truth.gga")
    let day: Int64 = 86_400_000_000_000
    var truth: [Int64: Coordinate] = [:]
    // The truth counts by time of day.
    var reference = try NMEARecording(
      path: truthPath, startDate: UTCTime(nanoseconds: 0), toleratingBrokenSentences: true)
    while case .position(let block)? = try reference.next() {
      for fix in block { if let time = fix.time { truth[time.nanoseconds % day] = fix.coordinate } }
    }

    var screen = FixScreen()
    var (inside, all) = (0, 0)
    for location in try DriveThroughGPSD.mountainView.get().listener.fixes.flatMap({ screen.process($0) }) {
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
