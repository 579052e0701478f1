/// What a barometer says at a moment, freed of glitches.
package struct PressureLevel: Hashable, Sendable {
  /// s.
  package var time: Double
  /// m in the standard atmosphere, and m/s by which it rises.
  package var height: Double
  package var climb: Double
  /// m, one deviation: how much single seconds differ from a straight line.
  package var deviation: Double

  func height(at time: Double) -> Double { height + climb * (time - self.time) }
}

/// How far a barometer goes astray with time, between two moments without another measurement of the height.
package enum PressureDrift {
  /// m/s: weather by the same figure as `AltitudeFilter.offsetWalk`, taken as steady, and a sensor that warms up by half a kelvin
  /// a minute at 1.5 Pa each (Bosch BMP280, data sheet BST-BMP280-DS001).
  private static let rate = 0.002

  /// m², after so many seconds: the smaller of the steady drift and the random walk.
  package static func variance(after seconds: Double) -> Double {
    let (steady, walked) = (rate * seconds, AltitudeFilter.offsetWalk * AltitudeFilter.offsetWalk * seconds)
    return max(0, min(steady * steady, walked))
  }
}

/// Makes a level of the pressures of the last seven seconds: a straight line through their means, each of one second.
///
/// The line is that of repeated medians (A. F. Siegel, "Robust regression using repeated medians", Biometrika 69, 1982): the median
/// over the seconds of the median slope from each to all others, and then that of all heights brought to now. Three of seven
/// seconds may be anything, as when a door falls shut or a gust comes in, and a steady climb is followed without delay. Nothing is
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

  /// s: a second is over a little early, as the rates of drivers are not exact.
  private static let block = 0.9
  /// s between the oldest and the newest second of a line, and after which nothing is left of the earlier.
  private static let (longest, gap) = (10.0, 10.0)
  /// m: no barometer is better over seconds.
  private static let leastDeviation = 0.15

  package init() {}

  /// Takes a height in the standard atmosphere (m) at a time (s). What is older than the one before is passed over; a clock that was
  /// set back by more than a second stays there.
  /// - Returns: the level, when a second is over.
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
    // Of three seconds the slope is noise.
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
    // The median of a normal distribution's magnitudes times 1.4826 is its deviation.
    let deviation = max(Self.leastDeviation, 1.4826 * Self.median(&values, count))
    return PressureLevel(time: now, height: height, climb: climb, deviation: deviation)
  }

  /// Of the first `count` values, which it sorts; 0 of none.
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
