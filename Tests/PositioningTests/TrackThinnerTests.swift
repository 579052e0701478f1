import Positioning
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct TrackThinnerTests {
  private let plane = PlaneTrack()

  private func thin(_ track: [Location], _ epsilon: Double, breadth: Int = 4096) -> [Location] {
    var thinner = TrackThinner(epsilon: epsilon, breadth: breadth)
    return thinner.thinned(track)
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

  /// The smallest number of points, by trying every pair. The fix that excluded the previous pair is tested first, as it mostly excludes
  /// this one, too.
  private func optimum(_ track: [Location], _ epsilon: Double) -> Int {
    var cost = Array(repeating: Int.max, count: track.count)
    cost[0] = 1
    for end in 1..<track.count {
      var obstacle = end
      for start in 0..<end where cost[start] + 1 < cost[end] {
        func isPassed(_ between: Int) -> Bool {
          TrackThinner.interpolate(track[between].timestamp, from: track[start], to: track[end])
            .distance(to: track[between].coordinate) <= epsilon
        }
        if start < obstacle, obstacle < end, !isPassed(obstacle) { continue }
        if let found = ((start + 1)..<end).first(where: { !isPassed($0) }) {
          obstacle = found
        } else {
          cost[end] = cost[start] + 1
        }
      }
    }
    return cost[track.count - 1]
  }

  @Test func cornerIsRetained() {
    let track = (0...20).map { step in
      plane.location(Double(step), 10 * Double(min(step, 10)), 10 * Double(max(0, step - 10)))
    }
    #expect(thin(track, 1).map(\.timestamp.seconds) == [0, 10, 20])
  }

  @Test func stopIsRetainedInTime() {
    // The positions alone are a straight line; the rest of one minute requires both of its ends.
    let track = (0...100).map { step in
      plane.location(Double(step), Double(step < 20 ? step : max(20, step - 60)) * 10)
    }
    #expect(thin(track, 1).map(\.timestamp.seconds) == [0, 20, 80, 100])
  }

  @Test func shortTracksAreUnchanged() {
    #expect(thin([], 10).isEmpty)
    #expect(thin([plane.location(1, 0)], 10).count == 1)
    #expect(thin([plane.location(1, 0), plane.location(2, 0)], 10).count == 2)
    #expect(thin([plane.location(1, 0), plane.location(1, 99)], 10).count == 1)
  }

  @Test func outOfOrderFixesAreIgnored() {
    let track = [plane.location(1, 0), plane.location(0.5, 70), plane.location(2, 9), plane.location(2, 80)]
    #expect(thin(track, 5).map(\.timestamp.seconds) == [1, 2])
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
  func smallSearchWidthKeepsTheBound(seed: Int) {
    let track = PlaneTrack.random(seed: UInt64(seed), count: 300)
    for breadth in [4, 8, 20] {
      let kept = thin(track, 25, breadth: breadth)
      #expect(worstError(of: kept, for: track) <= 25.001, "seed \(seed), breadth \(breadth)")
      #expect(kept.first == track.first && kept.last == track.last)
    }
  }

  /// Tracks of 600 fixes with stops, zigzag, circles, gaps, jumps or walking.
  @Test(arguments: ThinningDrive.Kind.allCases, 1...4)
  func difficultDrivesAreThinnedToTheOptimum(kind: ThinningDrive.Kind, seed: Int) {
    let track = ThinningDrive.fixes(kind, seed: UInt64(seed), count: 600)
    for epsilon in [3.0, 15, 60] {
      let kept = thin(track, epsilon)
      let best = optimum(track, epsilon)
      #expect(worstError(of: kept, for: track) <= epsilon + 1e-3, "\(kind), seed \(seed), \(epsilon) m")
      #expect(kept.count == best, "\(kind), seed \(seed), \(epsilon) m: \(kept.count) for \(best)")
    }
  }

  /// In drives longer than the search width, the optimum may be exceeded by one point or 5 %. The work per fix is bounded; it is counted,
  /// not timed.
  @Test(arguments: ThinningDrive.Kind.allCases, 1...2)
  func longDrivesStayNearTheOptimum(kind: ThinningDrive.Kind, seed: Int) {
    let track = ThinningDrive.fixes(kind, seed: UInt64(seed), count: 3600)
    for epsilon in [5.0, 30] {
      var wide = TrackThinner(epsilon: epsilon)
      let best = wide.thinned(track).count
      var narrow = TrackThinner(epsilon: epsilon, breadth: 512)
      let kept = narrow.thinned(track)
      #expect(worstError(of: kept, for: track) <= epsilon + 1e-3, "\(kind), seed \(seed), \(epsilon) m")
      #expect(
        kept.count <= max(best + 1, Int(1.05 * Double(best))),
        "\(kind), seed \(seed), \(epsilon) m: \(kept.count) for \(best)")
      for work in [(wide.work, 4096), (narrow.work, 512)] {
        #expect(work.0.open <= work.1)
        #expect(work.0.octagons <= 2 * work.1 * track.count)
        // Far below the limit per fix: a stop costs the logarithm of its length.
        #expect(work.0.distances <= 400 * track.count, "\(kind), seed \(seed): \(work.0.distances)")
      }
    }
  }

  /// The thinned track of a night at rest has two points, the ends of the rest.
  @Test func longStopRetainsItsEnds() {
    var random = SeededGenerator(seed: 5)
    let track = (0..<12_000).map { second in
      plane.location(Double(second), random.nextNormal(), random.nextNormal())
    }
    var thinner = TrackThinner(epsilon: 15)
    #expect(thinner.thinned(track).count == 2)
    #expect(thinner.work.open <= 4096 && thinner.work.distances <= 400 * track.count)
  }

  @Test(
    .needs(.recordings("tracks")),
    arguments: [("mtv_ublox_f9k_slim2025.nmea", [98, 65, 33]), ("munich_2025.nmea", [78, 52, 32])])
  func recordedDrivesAreThinnedToTheOptimum(name: String, optima: [Int]) throws {
    let track = try PlaneTrack.recorded(name)
    for (epsilon, optimum) in zip([10.0, 20, 50], optima) {
      let kept = thin(track, epsilon)
      #expect(worstError(of: kept, for: track) <= epsilon)
      #expect(kept.count <= optimum, "\(name) at \(epsilon) m: \(kept.count) points")
    }
  }
}
