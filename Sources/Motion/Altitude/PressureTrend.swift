/// Filtered height of a barometer at one time.
package struct PressureLevel: Hashable, Sendable {
  /// Time in s.
  package var time: Double
  /// Height in m in the standard atmosphere, and its rate in m/s.
  package var height: Double
  package var climb: Double
  /// Standard deviation in m of the one-second mean heights from the fitted straight line.
  package var deviation: Double

  func height(at time: Double) -> Double { height + climb * (time - self.time) }
}

/// Drift of a barometer between two independent measurements of height.
package enum PressureDrift {
  /// Steady drift in m/s: weather as in `AltitudeFilter.offsetWalk`, plus a sensor that warms up by 0.5 K a
  /// minute at 1.5 Pa/K (Bosch BMP280, data sheet BST-BMP280-DS001).
  private static let rate = 0.002

  /// Returns the variance in m² of the drift after a time in s: the smaller of the variances of steady drift
  /// and of a random walk.
  package static func variance(after seconds: Double) -> Double {
    let (steady, walked) = (rate * seconds, AltitudeFilter.offsetWalk * AltitudeFilter.offsetWalk * seconds)
    return max(0, min(steady * steady, walked))
  }
}

/// Derives a level from the pressures of the last seven seconds, by a straight line through one-second means.
///
/// The line uses repeated medians (A. F. Siegel, "Robust regression using repeated medians", Biometrika 69,
/// 1982). Its slope is the median, over all seconds, of the median slope from that second to the other
/// seconds. Its height is the median of all heights extrapolated to now. Up to three of the seven seconds may
/// be outliers, as from a closing door or a gust. A steady climb is followed without delay. Nothing is
/// allocated.
package struct PressureTrend: Sendable {
  private var times = InlineArray<7, Double>(repeating: 0)
  private var heights = InlineArray<7, Double>(repeating: 0)
  private var count = 0
  private var sum = 0.0
  private var timeSum = 0.0
  private var samples = 0.0
  private var start = 0.0
  private var last: Double?

  /// Shortest averaging block in s: slightly less than a second, because driver rates are inexact.
  private static let block = 0.9
  /// Longest time in s between the first and the last one-second mean of a line, and the gap in s after which
  /// earlier samples are discarded.
  private static let (longest, gap) = (10.0, 10.0)
  /// Smallest assumed deviation in m, the limit of barometers over seconds.
  private static let leastDeviation = 0.15

  package init() {}

  /// Adds a height in the standard atmosphere (m) at a time (s). Samples older than the previous one are
  /// ignored. If the clock was set back by more than a second, the trend restarts.
  /// - Returns: the level at the end of each second, otherwise nil.
  package mutating func add(_ height: Double, at time: Double) -> PressureLevel? {
    var interval = last.map { time - $0 } ?? 1
    guard interval > 0 || interval < -1 else { return nil }
    if interval > Self.gap || interval < 0 { (count, samples, interval) = (0, 0, 1) }
    last = time
    if samples == 0 { (start, sum, timeSum) = (time, 0, 0) }
    samples += 1
    sum += height
    timeSum += time
    guard time - start + min(interval, 1) >= Self.block else { return nil }
    append(timeSum / samples, sum / samples)
    samples = 0
    return level
  }

  private mutating func append(_ time: Double, _ height: Double) {
    while count > 0, count == times.count || time - times[0] > Self.longest {
      for index in 1..<max(1, count) {
        (times[index - 1], heights[index - 1]) = (times[index], heights[index])
      }
      count -= 1
    }
    (times[count], heights[count]) = (time, height)
    count += 1
  }

  private var level: PressureLevel {
    let now = times[count - 1]
    var values = InlineArray<7, Double>(repeating: 0)
    var slopes = InlineArray<7, Double>(repeating: 0)
    // With three seconds or fewer, the slope is dominated by noise.
    if count > 3 {
      for one in 0..<count {
        var found = 0
        for other in 0..<count where times[other] != times[one] {
          values[found] = (heights[other] - heights[one]) / (times[other] - times[one])
          found += 1
        }
        slopes[one] = Self.median(&values, found)
      }
    }
    let climb = count > 3 ? Self.median(&slopes, count) : 0
    for index in 0..<count { values[index] = heights[index] + climb * (now - times[index]) }
    let height = Self.median(&values, count)
    for index in 0..<count {
      values[index] = abs(heights[index] + climb * (now - times[index]) - height)
    }
    // For a normal distribution, the standard deviation is 1.4826 times the median absolute deviation.
    let deviation = max(Self.leastDeviation, 1.4826 * Self.median(&values, count))
    return PressureLevel(time: now, height: height, climb: climb, deviation: deviation)
  }

  /// Returns the median of the first `count` values and sorts them; 0 if there are none.
  private static func median(_ values: inout InlineArray<7, Double>, _ count: Int) -> Double {
    guard count > 0 else { return 0 }
    for index in 1..<max(1, count) {
      var place = index
      while place > 0, values[place - 1] > values[place] {
        values.swapAt(place, place - 1)
        place -= 1
      }
    }
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2])
  }
}
