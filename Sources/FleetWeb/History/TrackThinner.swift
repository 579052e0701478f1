package import FleetStore

/// Leaves positions out of a track until so many are left, and says by how much the rest is off.
///
/// What is left out lies within `tolerance` of where the track that is left is at the same moment (the synchronized Euclidean
/// distance, Meratnia and de By, EDBT 2004): a moment on a slider shows the vehicle where it was, and stops keep
/// their beginning and end. Of all positions the one that is furthest off comes in next (Douglas and Peucker's order). Kept in any
/// case are both ends, those of long gaps, changes between fixes and radios, and greatest and least of speed and altitude along the
/// way. A value type, without a clock.
///
/// Distances of functions of time obey the triangle inequality, so that a long track is thinned in parts as it comes, and then
/// once more: the tolerances add up, and memory stays bounded.
package struct TrackThinner: Sendable {
  package struct Result: Hashable, Sendable {
    package var samples: [TrackSample]
    /// Metres; 0 where nothing was left out.
    package var tolerance: Double
    /// Positions before thinning.
    package var count: Int
  }

  /// Seconds without a position after which both ends of the gap stay, as exports begin a track anew.
  package static let gap = 300.0

  /// Positions that are thinned at once: more than a day has at 1 Hz, which is therefore thinned once.
  static let portion = 131_072
  /// What stays of a portion before the whole is thinned.
  static let kept = 16_384

  private let points: Int
  private var count = 0
  /// What is left of portions that are done, and the tolerance of that.
  private var done: [TrackSample] = []
  private var doneTolerance = 0.0
  private var fresh: [TrackSample] = []

  /// - Parameter points: at least 2.
  package init(points: Int) { self.points = max(2, points) }

  /// - Parameter sample: later than the one before.
  package mutating func process(_ sample: TrackSample) {
    count += 1
    fresh.append(sample)
    if fresh.count >= Self.portion { condense() }
  }

  /// Thins what has come since the last time.
  private mutating func condense() {
    let part = Self.thinned(fresh, to: max(Self.kept, min(points, Self.portion / 2)))
    fresh.removeAll(keepingCapacity: true)
    // Parts do not overlap, and what was done is off by its own.
    doneTolerance = max(doneTolerance, part.tolerance)
    done += part.samples
    guard done.count >= 2 * Self.portion else { return }
    let whole = Self.thinned(done, to: Self.portion)
    done = whole.samples
    doneTolerance += whole.tolerance
  }

  /// - Parameter goesOn: asked now and then; when it says no, what is returned is of no use.
  package mutating func finish(goesOn: () -> Bool = { true }) -> Result {
    if !done.isEmpty, !fresh.isEmpty { condense() }
    let rest = done.isEmpty ? fresh : done
    let result = Self.thinned(rest, to: points, goesOn: goesOn)
    return Result(
      samples: result.samples, tolerance: doneTolerance + result.tolerance, count: count)
  }

  // MARK: One part

  private static func thinned(
    _ samples: [TrackSample], to points: Int, goesOn: () -> Bool = { true }
  ) -> (samples: [TrackSample], tolerance: Double) {
    guard samples.count > points else { return (samples, 0) }
    let line = TimedLine(samples)
    var isKept = [Bool](repeating: false, count: samples.count)
    for index in TrackLandmarks.indices(of: samples, atMost: points) { isKept[index] = true }
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
      if turns % 256 == 0, !goesOn() { break }
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

  /// Square metres: a position that is off by less than a decimetre is not worth a point, as no position is told more exactly.
  private static let leastError = 0.01
}

/// A track as columns, to measure how far its positions are off a straight line between two of them.
private struct TimedLine {
  /// Milliseconds.
  private var times: [Double] = []
  private var latitudes: [Double] = []
  /// Without a jump at the antimeridian.
  private var longitudes: [Double] = []
  private var cosines: [Double] = []

  /// Metres of a degree where the Earth is curved least, at a pole (6,399,594 m of radius): an upper bound everywhere.
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

  /// The position between two that is furthest off; nil where there is none between them.
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
      // The cosine between two latitudes is greater than at one by no more than their distance in radians.
      let cosine = cosines[index] + abs(north) * (.pi / 180)
      let east = (longitudes[index] - longitudes[start] - part * eastward) * cosine
      let error = north * north + east * east
      if error > greatest { (greatest, place) = (error, index) }
    }
    return .init(error: greatest * Self.degree * Self.degree, index: place, start: start, end: end)
  }
}

/// Segments of a track, the one with the greatest error first: a binary heap.
private struct WorstFirst {
  struct Entry {
    /// Square metres.
    var error: Double
    /// Of the position that is furthest off, between the two ends.
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
