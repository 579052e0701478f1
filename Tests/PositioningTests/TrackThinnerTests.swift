import Positioning
import Spatial
import TestSupport
import Testing

@Suite struct TrackThinnerTests {
  private let plane = PlaneTrack()

  private func thin(_ track: [Location], _ epsilon: Double, window: Int = 512) -> [Location] {
    var thinner = TrackThinner(epsilon: epsilon, window: window)
    return track.flatMap { thinner.process($0) } + thinner.finish()
  }

  private func worstError(of kept: [Location], for track: [Location]) -> Double {
    track.reduce(0) { worst, fix in
      let next = kept.firstIndex { $0.timestamp >= fix.timestamp } ?? kept.count - 1
      let shown =
        next == 0
        ? kept[0].coordinate
        : TrackThinner.interpolate(fix.timestamp, from: kept[next - 1], to: kept[next])
      return max(worst, shown.distance(to: fix.coordinate))
    }
  }

  /// The fewest points by trying every pair.
  private func optimum(_ track: [Location], _ epsilon: Double) -> Int {
    var cost = Array(repeating: Int.max, count: track.count)
    cost[0] = 1
    for end in 1..<track.count {
      for start in 0..<end where cost[start] + 1 < cost[end] {
        let reaches = track[(start + 1)..<end].allSatisfy {
          TrackThinner.interpolate($0.timestamp, from: track[start], to: track[end])
            .distance(to: $0.coordinate) <= epsilon
        }
        if reaches { cost[end] = cost[start] + 1 }
      }
    }
    return cost[track.count - 1]
  }

  @Test func aCornerKeepsItsPoint() {
    let track = (0...20).map { step in
      plane.location(Double(step), 10 * Double(min(step, 10)), 10 * Double(max(0, step - 10)))
    }
    #expect(thin(track, 1).map(\.timestamp.seconds) == [0, 10, 20])
  }

  @Test func aStopIsSeenInTime() {
    // The place alone is a straight line; the minute that the vehicle stands needs both of its ends.
    let track = (0...100).map { step in
      plane.location(Double(step), Double(step < 20 ? step : max(20, step - 60)) * 10)
    }
    #expect(thin(track, 1).map(\.timestamp.seconds) == [0, 20, 80, 100])
  }

  @Test func shortTracksAreKept() {
    #expect(thin([], 10).isEmpty)
    #expect(thin([plane.location(1, 0)], 10).count == 1)
    #expect(thin([plane.location(1, 0), plane.location(2, 0)], 10).count == 2)
    #expect(thin([plane.location(1, 0), plane.location(1, 99)], 10).count == 1)
  }

  @Test func aFinishedThinnerStartsAnew() {
    var thinner = TrackThinner(epsilon: 5)
    _ = thinner.process(plane.location(1, 0))
    #expect(thinner.process(plane.location(2, 0)).isEmpty)
    #expect(thinner.finish().map(\.timestamp.seconds) == [2])
    #expect(thinner.process(plane.location(0.5, 0)).count == 1)
  }

  @Test(arguments: 1...25)
  func randomTracksAreThinnedToTheOptimum(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed), count: 150)
    for epsilon in [2.0, 10, 40] {
      let kept = thin(track, epsilon)
      #expect(worstError(of: kept, for: track) <= epsilon + 1e-3, "seed \(seed), epsilon \(epsilon)")
      #expect(kept.first == track.first && kept.last == track.last)
      #expect(kept.count == optimum(track, epsilon), "seed \(seed), epsilon \(epsilon)")
    }
  }

  @Test(arguments: 1...25)
  func aSmallWindowKeepsTheBound(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed), count: 300)
    for window in [3, 8, 20] {
      let kept = thin(track, 25, window: window)
      #expect(worstError(of: kept, for: track) <= 25.001, "seed \(seed), window \(window)")
      #expect(kept.last == track.last)
    }
  }

  @Test func nothingIsHeldBackBeyondTheWindow() {
    var thinner = TrackThinner(epsilon: 10, window: 50)
    var told = 0
    for step in 0..<1000 {
      told += thinner.process(plane.location(Double(step), 0)).count
      #expect(told >= step / 50)
    }
  }

  @Test(
    .needs(.recordings("tracks")),
    arguments: [("mtv_ublox_f9k_slim2025.nmea", [98, 65, 33]), ("munich_2025.nmea", [78, 52, 32])])
  func realDrivesAreThinnedToTheOptimum(name: String, optima: [Int]) throws {
    let track = try PlaneTrack.recorded(name)
    for (epsilon, optimum) in zip([10.0, 20, 50], optima) {
      let kept = thin(track, epsilon)
      #expect(worstError(of: kept, for: track) <= epsilon)
      #expect(kept.count <= Int(1.05 * Double(optimum)), "\(name) at \(epsilon) m: \(kept.count) points")
    }
  }
}
