internal import Spatial

/// Detects a sensor at the end of its range and estimates the clipped part of the signal.
///
/// The clipped part is modelled as a parabola above the limit. If the signal leaves the range with slope `a`,
/// stays out for `D` and returns with slope `b`, the parabola's area is (a + b) / 2 · D² / 6. On recorded
/// rotations beyond a range of 500 °/s the error is about 30 %; without this correction it is 100 %.
struct SaturationMonitor: Sendable {
  private struct Axis: Sendable {
    var isSaturated = false
    /// True between the first and the second sample back in range. The second one gives the slope.
    var isReturning = false
    var sign = 1.0
    var entryTime = 0.0
    var entrySlope = 0.0
    var exitTime = 0.0
    var exitValue = 0.0
    /// Part of the area that was already reported while the axis was still saturated.
    var given = 0.0
    var typicalDuration = 0.1
  }

  /// Result for one sample. All vectors are in the sensor's frame.
  struct Outcome: Sendable {
    var isSaturated = false
    /// True if part of the signal since the last sample is missing or estimated.
    var isUncertain = false
    /// Estimated clipped part at the time of the sample, in the sensor's unit.
    var excess = Vector3.zero
    /// Area to add at the end of an excursion, without the part that was already reported; in the sensor's
    /// unit times s.
    var area = Vector3.zero
    /// Whole area of the excursions that ended with this sample, in the sensor's unit times s.
    var wholeArea = Vector3.zero
  }

  /// Smallest value that can be a limit.
  private let smallestLimit: Double
  /// Largest assumed peak above the limit, as a multiple of the limit.
  private let greatestExcess: Double
  private let isConfigured: Bool
  private var limit: Vector3
  /// Relative variation of samples at the limit: zero for most sensors, 0.2 % for one make.
  private var width = Vector3(repeating: SaturationMonitor.exactWidth)
  /// Value from which a sample is at the limit.
  private var entry: Vector3
  private var greatest = Vector3.zero
  /// Value from which a sample is examined: at the limit, or among the largest so far.
  private var notable = Vector3.zero
  private var previous1 = Vector3.zero
  private var previous2 = Vector3.zero
  private var previous3 = Vector3.zero
  private var previous4 = Vector3.zero
  private var previousTime = 0.0
  private var previousInterval = 0.0
  private var axes: InlineArray<3, Axis>
  private var isActive = false

  init(range: Double?, smallestLimit: Double, greatestExcess: Double) {
    self.smallestLimit = smallestLimit
    self.greatestExcess = greatestExcess
    isConfigured = range != nil
    limit = Vector3(repeating: range.map { $0 * 0.999 } ?? .infinity)
    if isConfigured { width = Vector3(repeating: Self.looseWidth) }
    entry = (Vector3(repeating: 1) - width) * limit
    axes = InlineArray(repeating: Axis())
  }

  /// Sets the range reported by the driver. With it, the first sample at the range counts as saturated;
  /// without it, a limit is detected only from three samples. Samples beyond the range, or samples clipped
  /// below it, override it.
  mutating func expect(_ range: Double) {
    guard !isConfigured, range.isFinite, range > smallestLimit else { return }
    for i in 0..<3 where limit[i] == .infinity && greatest[i] < range {
      setLimit(i, range, width: Self.looseWidth)
      notable[i] = min(entry[i], notable[i])
    }
  }

  private static let exactWidth = 1e-4
  private static let looseWidth = 0.003
  /// Minimum change from sample to sample, just before three almost equal samples, that makes them a limit: a
  /// multiple of the spread of the three samples. At the unclipped peak of a sine this multiple is at most
  /// five.
  private static let looseSteepness = 8.0

  /// Processes the next sample; `time` in s must be later than the previous one.
  @inline(__always)
  mutating func observe(_ value: Vector3, at time: Double) -> Outcome {
    let size = Vector3(abs(value.x), abs(value.y), abs(value.z))
    var outcome = Outcome()
    // Almost all samples are well within the range.
    if isActive || any(size .>= notable) {
      outcome = examine(value, size, at: time)
    }
    previous4 = previous3
    previous3 = previous2
    previous2 = previous1
    previous1 = value
    previousInterval = time - previousTime
    previousTime = time
    return outcome
  }

  private mutating func examine(_ value: Vector3, _ size: Vector3, at time: Double) -> Outcome {
    var outcome = Outcome()
    isActive = false
    for i in 0..<3 {
      var axis = axes[i]
      if !isConfigured { learnLimit(i, value[i], size[i], &axis) }
      greatest[i] = max(greatest[i], size[i])
      if size[i] >= entry[i] {
        if !axis.isSaturated { enter(&axis, i, value[i]) }
        let elapsed = time - axis.entryTime
        let shape = elapsed * (1 - elapsed / axis.typicalDuration)
        let excess = min(axis.entrySlope * max(0, shape), greatestExcess * limit[i])
        axis.given += excess * (time - previousTime)
        outcome.excess[i] = axis.sign * excess
        outcome.isSaturated = true
        outcome.isUncertain = true
      } else if axis.isSaturated {
        axis.isSaturated = false
        axis.isReturning = true
        axis.exitTime = time
        axis.exitValue = value[i]
        outcome.isUncertain = true
      } else if axis.isReturning {
        axis.isReturning = false
        let area = leave(&axis, value[i], at: time, limit: limit[i])
        outcome.wholeArea[i] = axis.sign * area
        outcome.area[i] = axis.sign * (area - axis.given)
        outcome.isUncertain = true
      }
      isActive = isActive || axis.isSaturated || axis.isReturning
      axes[i] = axis
      notable[i] = min(entry[i], (1 - Self.looseWidth) * greatest[i])
    }
    return outcome
  }

  /// Detects a limit: three equal, or almost equal, samples above all earlier ones, reached at high speed.
  @inline(__always)
  private mutating func learnLimit(_ i: Int, _ value: Double, _ size: Double, _ axis: inout Axis) {
    if size > (1 + width[i]) * limit[i] {
      setLimit(i, .infinity, width: Self.exactWidth)
      axis.isSaturated = false
      axis.isReturning = false
    }
    guard size > smallestLimit, size >= (1 - Self.looseWidth) * greatest[i] else { return }
    let steepness = abs(previous3[i] - previous4[i])
    if value == previous1[i], value == previous2[i] {
      if size >= greatest[i], steepness > 0.005 * size { setLimit(i, size, width: Self.exactWidth) }
      return
    }
    let (low, high) = (min(value, previous1[i], previous2[i]), max(value, previous1[i], previous2[i]))
    // A limit is loose only if the samples at it differ. At an exact limit samples are equal sooner or later,
    // and the branch for equal samples above detects that limit.
    guard limit[i] > (1 + 2 * Self.looseWidth) * size, value != previous1[i], previous1[i] != previous2[i],
      high - low < Self.looseWidth * size,
      steepness > Self.looseSteepness * max(high - low, 0.001 * size)
    else { return }
    setLimit(i, max(abs(low), abs(high), greatest[i]), width: Self.looseWidth)
  }

  private mutating func setLimit(_ i: Int, _ value: Double, width: Double) {
    limit[i] = value
    self.width[i] = width
    entry[i] = (1 - width) * value
  }

  private func enter(_ axis: inout Axis, _ i: Int, _ value: Double) {
    axis.isSaturated = true
    axis.isReturning = false
    axis.sign = value > 0 ? 1 : -1
    axis.entryTime = previousTime
    let slope = axis.sign * (previous1[i] - previous2[i]) / max(1e-4, previousInterval)
    axis.entrySlope = max(0, slope)
    axis.given = 0
  }

  private func leave(_ axis: inout Axis, _ value: Double, at time: Double, limit: Double) -> Double {
    let duration = axis.exitTime - axis.entryTime
    let slope = -axis.sign * (value - axis.exitValue) / max(1e-4, time - axis.exitTime)
    let mean = 0.5 * (axis.entrySlope + max(0, slope))
    axis.typicalDuration = max(1e-3, axis.typicalDuration + 0.2 * (duration - axis.typicalDuration))
    return min(mean * duration * duration / 6, greatestExcess * duration * limit)
  }
}
