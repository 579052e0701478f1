import Positioning
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

/// Horizontal accuracy of fixes received through gpsd. gpsd adds its own error estimates, which must not replace the receiver's.
@Suite struct AccuracyThroughGPSDTests {
  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks")))
  func reportedAccuracyContainsTheTrueError() throws {
    let truthPath = try Shared.file("data/tracks/mtv_span_truth.gga")
    let day: Int64 = 86_400_000_000_000
    var truth: [Int64: Coordinate] = [:]
    // Times of the ground truth are times of day.
    var reference = try NMEARecording(
      path: truthPath, startDate: UTCTime(nanoseconds: 0), toleratingBrokenSentences: true)
    while case .position(let block)? = try reference.next() {
      for fix in block { if let time = fix.time { truth[time.nanoseconds % day] = fix.coordinate } }
    }

    var screen = FixScreen()
    var (inside, all) = (0, 0)
    for location in try DriveThroughGPSD.mountainView.get().listener.fixes.flatMap({ screen.process($0) }) {
      // gpsd's first report has no error estimate.
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
