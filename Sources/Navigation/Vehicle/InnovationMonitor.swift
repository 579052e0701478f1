internal import Glibc

/// A monitor for inertial samples whose errors exceed their model, as those that a driver picks from a vibrating sensor.
///
/// The samples do not show these errors: vibration above half of their rate appears as slow motion. The errors turn the course
/// and change the speed, so they appear in the receiver's velocities. Their size is then wrong in an outage too.
struct InnovationMonitor: Hashable, Sendable {
  /// The mean of the normalized squared innovations per component, over about `memory` seconds; nil before the first.
  private var mean: Double?
  private var seconds = 0.0

  /// The averaging time, s. Most streets with reflections are shorter.
  private static let memory = 60.0
  /// The largest innovation that counts, so that a few outliers do not decide.
  private static let largest = 4.0
  /// The mean above which the model is wrong (0.2, fitted). It is below 1, because the variances of a receiver's velocity
  /// include the correlation of its errors. Means of gnss-imu-drive: 0.11 at 100 Hz and 0.09 to 0.11 for averaged samples; 0.21,
  /// 0.46 and 0.58 for samples picked at 50, 33 and 25 Hz. Medians over 30 s of the kingston drives: 0.11 and 0.13.
  private static let limit = 0.2
  /// The interval of samples in s from which the monitor applies (45 Hz). Picked samples at 50 Hz contain little enough of the
  /// vibration. A receiver that is worse than it states looks the same to this monitor, so it does not judge fast samples.
  static let shortestInterval = 1 / 45.0
  /// The largest factor.
  private static let largestScale = 10.0

  mutating func reset() { self = InnovationMonitor() }

  /// Adds the normalized squared innovation per component of a fix of the moving vehicle, `interval` seconds after the
  /// previous one.
  mutating func observe(ratio: Double, interval: Double) {
    guard ratio.isFinite else { return }
    seconds = min(seconds + interval, Self.memory)
    let before = mean ?? 0
    mean = before + min(1, interval / seconds) * (min(ratio, Self.largest) - before)
  }

  /// The factor on the radius of a position in an outage, 1 to 10.
  ///
  /// The innovation contains mostly the receiver's error, so the inertial errors grow faster than the mean: with its third
  /// power (fitted). The second power has 0.86 inside the 95 % radius at 25 Hz after 60 s, the third 1.00.
  var radiusScale: Double {
    let excess = (mean ?? 0) / Self.limit
    return min(Self.largestScale, max(1, excess * excess * excess))
  }
}
