import Positioning
import Spatial

/// Compares the thinned track with the optimum for the complete track.
struct ThinningResult {
  var points: Int
  /// Largest error in m.
  var worstError: Double
  var optimum: Int

  init(_ track: [Location], epsilon: Double) {
    var thinner = TrackThinner(epsilon: epsilon)
    let kept = thinner.thinned(track)
    points = kept.count
    worstError = Self.worstError(of: kept, for: track)
    optimum = Self.optimum(track, epsilon: epsilon)
  }

  private static func worstError(of kept: [Location], for track: [Location]) -> Double {
    var segment = 0
    var worst = 0.0
    for fix in track {
      while segment + 2 < kept.count, kept[segment + 1].timestamp < fix.timestamp { segment += 1 }
      guard segment + 1 < kept.count else { continue }
      let shown = TrackThinner.interpolate(fix.timestamp, from: kept[segment], to: kept[segment + 1])
      worst = max(worst, shown.distance(to: fix.coordinate))
    }
    return worst
  }

  /// The shortest path of Imai and Iri, by trying every pair of fixes, in a plane at the track's start.
  private static func optimum(_ track: [Location], epsilon: Double) -> Int {
    guard let first = track.first else { return 0 }
    let frame = LocalFrame(origin: first.coordinate)
    let points = track.map { frame.offset(of: $0.coordinate) }
    let times = track.map { $0.timestamp.seconds(since: first.timestamp) }
    var cost = Array(repeating: Int.max, count: track.count)
    cost[0] = 1
    for end in track.indices.dropFirst() {
      for start in (0..<end).reversed() where cost[start] < cost[end] - 1 {
        let velocity = (points[end] - points[start]) / (times[end] - times[start])
        let isWithin = ((start + 1)..<end).allSatisfy { index in
          let error = points[start] + velocity * (times[index] - times[start]) - points[index]
          return (error * error).sum() <= epsilon * epsilon
        }
        if isWithin { cost[end] = cost[start] + 1 }
      }
    }
    return cost[cost.count - 1]
  }
}
