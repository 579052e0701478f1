package import FleetStore

/// A simplification of a track to a given number of positions with a known error.
///
/// Omitted positions are within `tolerance` of the simplified track at the same time (the synchronized
/// Euclidean distance, Meratnia and de By, EDBT 2004). A time slider therefore shows the vehicle at its true
/// position, and stops retain their start and end. The position with the largest error is added next (Douglas
/// and Peucker's order). The ends of the track and of long gaps, changes between fixes, radio beacons and suspect positions, and
/// extremes of speed and altitude are always retained. A value type without a clock.
///
/// This distance between functions of time satisfies the triangle inequality. A long track is therefore
/// simplified in portions as it arrives, and the result is simplified again: the tolerances add up, and
/// memory is bounded.
package struct TrackSimplifier: Sendable {
  package struct Result: Hashable, Sendable {
    package var samples: [TrackSample]
    /// The indices of the samples with a long gap between the sample before and this one, ascending.
    package var gaps: [Int] = []
    /// The error bound in m; 0 if nothing was omitted.
    package var tolerance: Double
    /// The number of positions before the simplification.
    package var count: Int
  }

  /// The duration in seconds from which a gap without positions is long: both of its ends are retained.
  /// Exports start a new track after such a gap.
  package static let gap = 300.0

  /// The number of positions that are simplified at once. A day at 1 Hz has fewer, so it is simplified only
  /// once.
  static let portion = 131_072
  /// The minimum number of positions to which a portion is simplified.
  static let kept = 16_384

  private let points: Int
  private var count = 0
  /// The time of the newest position.
  private var newest: Int64?
  /// The times of the positions after long gaps, ascending. The simplified track is no measure of gaps,
  /// because it can omit positions for hours.
  private var gapEnds: [Int64] = []
  /// The simplified positions of the completed portions, and their tolerance in m.
  private var done: [TrackSample] = []
  private var doneTolerance = 0.0
  private var fresh: [TrackSample] = []

  /// Creates a simplification.
  ///
  /// - Parameter points: the number of positions, at least 2.
  package init(points: Int) { self.points = max(2, points) }

  /// Processes a position.
  ///
  /// - Parameter sample: later than the previous one.
  package mutating func process(_ sample: TrackSample) {
    count += 1
    if let newest, Double(sample.time - newest) > Self.gap * 1000 { gapEnds.append(sample.time) }
    newest = sample.time
    fresh.append(sample)
    if fresh.count >= Self.portion { condense() }
  }

  /// Simplifies the positions since the last call.
  private mutating func condense() {
    let part = Self.thinned(fresh, gapEnds, to: max(Self.kept, min(points, Self.portion / 2)))
    fresh.removeAll(keepingCapacity: true)
    // The maximum applies instead of the sum, because portions do not overlap in time.
    doneTolerance = max(doneTolerance, part.tolerance)
    done += part.samples
    guard done.count >= 2 * Self.portion else { return }
    let whole = Self.thinned(done, gapEnds, to: Self.portion)
    done = whole.samples
    doneTolerance += whole.tolerance
  }

  /// Returns the result.
  ///
  /// - Parameter shouldContinue: called regularly; if it returns false, the simplification stops and the
  ///   result is unusable.
  package mutating func finish(shouldContinue: () -> Bool = { true }) -> Result {
    if !done.isEmpty, !fresh.isEmpty { condense() }
    let rest = done.isEmpty ? fresh : done
    let result = Self.thinned(rest, gapEnds, to: points, shouldContinue: shouldContinue)
    return Result(
      samples: result.samples, gaps: TrackLandmarks.gaps(in: result.samples, endingAt: gapEnds),
      tolerance: doneTolerance + result.tolerance, count: count)
  }

  // MARK: One part

  private static func thinned(
    _ samples: [TrackSample], _ gapEnds: [Int64], to points: Int, shouldContinue: () -> Bool = { true }
  ) -> (samples: [TrackSample], tolerance: Double) {
    guard samples.count > points else { return (samples, 0) }
    let line = TimedLine(samples)
    var isKept = [Bool](repeating: false, count: samples.count)
    for index in TrackLandmarks.indices(of: samples, gapEnds, atMost: points) { isKept[index] = true }
    var left = points - isKept.reduce(0) { $0 + ($1 ? 1 : 0) }
    var heap = WorstFirst()
    var start = 0
    for end in 1..<samples.count where isKept[end] {
      if let worst = line.worst(start, end) { heap.push(worst) }
      start = end
    }
    var turns = 0
    while left > 0, let worst = heap.top, worst.error > leastError {
      turns += 1
      if turns % 256 == 0, !shouldContinue() { break }
      heap.pop()
      isKept[worst.index] = true
      left -= 1
      if let before = line.worst(worst.start, worst.index) { heap.push(before) }
      if let after = line.worst(worst.index, worst.end) { heap.push(after) }
    }
    var rest: [TrackSample] = []
    rest.reserveCapacity(points)
    for index in samples.indices where isKept[index] { rest.append(samples[index]) }
    return (rest, (heap.top?.error ?? 0).squareRoot())
  }

  /// The squared error in m² above which a position is added: positions are not more accurate than a
  /// decimetre.
  private static let leastError = 0.01
}

/// A track in columns, for measuring the distance of positions from a straight line between two of them.
private struct TimedLine {
  /// Milliseconds since 1970.
  private var times: [Double] = []
  private var latitudes: [Double] = []
  /// Degrees; beyond ±180° instead of a jump at the antimeridian.
  private var longitudes: [Double] = []
  private var cosines: [Double] = []

  /// Metres per degree at the pole, where the earth's radius of curvature is largest (6,399,594 m): an upper
  /// bound everywhere.
  private static let degree = 111_694.0

  init(_ samples: [TrackSample]) {
    times.reserveCapacity(samples.count)
    latitudes.reserveCapacity(samples.count)
    longitudes.reserveCapacity(samples.count)
    cosines.reserveCapacity(samples.count)
    var turn = 0.0
    for (index, sample) in samples.enumerated() {
      if index > 0 {
        let step = sample.longitude - samples[index - 1].longitude
        if step > 180 { turn -= 360 } else if step < -180 { turn += 360 }
      }
      times.append(Double(sample.time))
      latitudes.append(sample.latitude)
      longitudes.append(sample.longitude + turn)
      cosines.append(Planar.cosine(sample.latitude))
    }
  }

  /// Returns the position with the largest error between the positions `start` and `end`; nil if there is
  /// none between them.
  func worst(_ start: Int, _ end: Int) -> WorstFirst.Entry? {
    guard end - start > 1 else { return nil }
    let (times, latitudes, longitudes, cosines) = (times.span, latitudes.span, longitudes.span, cosines.span)
    let duration = max(1, times[end] - times[start])
    let northward = latitudes[end] - latitudes[start]
    let eastward = longitudes[end] - longitudes[start]
    var (greatest, place) = (-1.0, start + 1)
    for index in start + 1..<end {
      let part = (times[index] - times[start]) / duration
      let north = latitudes[index] - latitudes[start] - part * northward
      // The cosine of any latitude between the two positions exceeds `cosines[index]` by at most their
      // difference of latitude in radians.
      let cosine = cosines[index] + abs(north) * (.pi / 180)
      let east = (longitudes[index] - longitudes[start] - part * eastward) * cosine
      let error = north * north + east * east
      if error > greatest { (greatest, place) = (error, index) }
    }
    return .init(error: greatest * Self.degree * Self.degree, index: place, start: start, end: end)
  }
}

/// A binary heap of segments of a track, with the largest error first.
private struct WorstFirst {
  struct Entry {
    /// The squared error in m².
    var error: Double
    /// The index of the position with the largest error, between the two ends.
    var index: Int
    var start: Int
    var end: Int
  }

  private var entries: [Entry] = []

  var top: Entry? { entries.first }

  mutating func push(_ entry: Entry) {
    entries.append(entry)
    var place = entries.count - 1
    while place > 0, entries[(place - 1) / 2].error < entries[place].error {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func pop() {
    guard let last = entries.popLast(), !entries.isEmpty else { return }
    entries[0] = last
    var place = 0
    while true {
      let children = (2 * place + 1..<2 * place + 3).filter { $0 < entries.count }
      guard let child = children.max(by: { entries[$0].error < entries[$1].error }),
        entries[child].error > entries[place].error
      else { return }
      entries.swapAt(place, child)
      place = child
    }
  }
}
