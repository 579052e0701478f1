internal import Glibc
internal import Spatial

/// Detects a tilt that no gyroscope sample showed while a device is moved by hand, and measures it.
///
/// Hands turn a device all the time and change its velocity only by a few m/s. A larger implied change of
/// velocity is therefore gravity seen from a tilted frame. Over a window of T s, the mean of the force measures
/// the tilt with an error of the hand's change of velocity divided by T. The window starts where the force
/// changed and grows for ten seconds. Vehicles turn much less, and `LastingForce` watches them.
struct TiltWatch: Sendable {
  /// Sums over half a second.
  private struct Part: Sendable {
    /// Horizontal force in m/s.
    var force = SIMD2<Double>.zero
    /// Squared rate about horizontal axes in rad²/s.
    var turning = 0.0
    /// Square of the horizontal force in (m/s²)² s.
    var square = 0.0
    var duration = 0.0

    mutating func add(_ other: Part) {
      force += other.force
      turning += other.turning
      square += other.square
      duration += other.duration
    }

    /// Square of the implied change of velocity in (m/s)².
    var speedSquare: Double { (force * force).sum() }
    var mean: SIMD2<Double> { force / duration }
  }

  /// A measured tilt.
  struct Finding: Sendable {
    /// Mean horizontal force in m/s², all of it from tilt, and its standard deviation per axis.
    var force: SIMD2<Double>
    var deviation: Double
    /// Variance of the force about its mean in (m/s²)².
    var variance: Double
    /// True for the first of the findings about one tilt.
    var isFirst: Bool
  }

  /// The last four seconds, the newest first.
  private var parts = InlineArray<8, Part>(repeating: Part())
  private var part = Part()
  /// Sums since the change while the tilt is being measured.
  private var window: Part?
  /// Low-passed square of the implied change of velocity over four seconds in (m/s)².
  private var usualSquare = 4.0

  private static let partTime = 0.5
  /// Largest window in s.
  private static let longestWindow = 10.0
  /// Rate about horizontal axes in rad/s, root mean square over four seconds, that only hands cause. Cars on
  /// two drives turned by at most 0.16, devices in hands on twelve recordings by at least 0.3.
  private static let handRate = 0.25
  /// Multiple of the usual change of velocity that is not caused by hands, and its limits in m/s: turning
  /// round while walking, and throwing. On twelve recordings the largest change was 3.1 times the usual.
  private static let excess = 3.5
  private static let speeds = (least: 3.0, most: 6.0)
  /// Smallest change of velocity in m/s that is assumed for the deviation of a measured tilt.
  private static let leastSpeed = 0.5

  /// Processes a block's mean horizontal force in m/s² and its rotation about horizontal axes in rad, level
  /// frame.
  mutating func observe(_ force: SIMD2<Double>, turn: SIMD2<Double>, interval: Double) -> Finding? {
    part.add(
      Part(
        force: interval * force, turning: (turn * turn).sum() / interval,
        square: interval * (force * force).sum(), duration: interval))
    guard part.duration >= Self.partTime - 1e-9 else { return nil }
    let newest = part
    part = Part()
    if var window {
      window.add(newest)
      self.window = window.duration < Self.longestWindow ? window : nil
      return finding(window, isFirst: false)
    }
    for i in [7, 6, 5, 4, 3, 2, 1] { parts[i] = parts[i - 1] }
    parts[0] = newest
    return search()
  }

  /// Returns the part of the window since the most likely change, if hands cannot have caused it.
  private mutating func search() -> Finding? {
    var sum = Part()
    var found: Part?
    var greatest = 0.0
    let limit = max(Self.speeds.least, min(Self.speeds.most, Self.excess * usualSquare.squareRoot()))
    for i in 0..<8 {
      guard parts[i].duration > 0 else { return nil }
      sum.add(parts[i])
      let likelihood = sum.speedSquare / sum.duration
      if i > 2, sum.speedSquare > limit * limit, likelihood > greatest {
        (found, greatest) = (sum, likelihood)
      }
    }
    guard sum.turning > Self.handRate * Self.handRate * sum.duration else { return nil }
    guard let found else {
      usualSquare += (1 - exp(-Self.partTime / 20)) * (sum.speedSquare - usualSquare)
      return nil
    }
    window = found
    parts = InlineArray(repeating: Part())
    return finding(found, isFirst: true)
  }

  private func finding(_ window: Part, isFirst: Bool) -> Finding {
    let mean = window.mean
    let speed = max(Self.leastSpeed, usualSquare.squareRoot())
    return Finding(
      force: mean, deviation: speed / window.duration,
      variance: max(0, window.square / window.duration - (mean * mean).sum()) / 2, isFirst: isFirst)
  }

  /// Adjusts the window after the frame was corrected, which changed the force by `change` m/s².
  mutating func correct(by change: SIMD2<Double>) {
    guard let duration = window?.duration else { return }
    window?.force += change * duration
  }

  mutating func forget() { self = TiltWatch() }
}
