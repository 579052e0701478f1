internal import Spatial

/// Watches for a horizontal force that lasts: no vehicle gains speed for ever, so what lasts is gravity seen from a frame that is
/// tilted, by a turn which no sensor saw or by a start in motion. The motion model alone would take it for strong accelerations.
struct LastingForce: Sendable {
  /// How much of the force is the frame's tilt, and what varies about it.
  struct Finding: Sendable {
    /// m/s²
    var force: Double
    /// (m/s²)²
    var variance: Double
  }

  /// Of the window, m/s and (m/s²)² s.
  private var sum = SIMD2<Double>.zero
  private var squares = 0.0
  private var duration = 0.0

  /// s, and m/s² that last through it: a gain of 18 km/h, which vehicles do reach, so that after a rest it would do harm; and one of
  /// 110 km/h, which they do not.
  private static let window = 10.0
  private static let leastForce = 0.5
  private static let impossibleForce = 3.0
  /// m/s: the speed that nothing gains while it shakes no more than at rest. Smooth trains reach 1.3 m/s² for 20 s, aircraft more.
  private static let greatestSpeed = 15.0

  /// Takes the mean horizontal force of a block, m/s², level frame.
  ///
  /// - Parameter isLevelKnown: whether the vertical was seen at rest. What has been found in motion alone is doubted much sooner.
  mutating func observe(_ force: SIMD2<Double>, isLevelKnown: Bool, interval: Double) -> Finding? {
    sum += interval * force
    squares += interval * (force * force).sum()
    duration += interval
    guard duration >= Self.window else { return nil }
    let mean = sum / duration
    let square = (mean * mean).sum()
    let finding = Finding(force: square.squareRoot(), variance: max(0, squares / duration - square) / 2)
    self = LastingForce()
    return finding.force > (isLevelKnown ? Self.impossibleForce : Self.leastForce) ? finding : nil
  }

  /// The same for a rest of so many seconds, with that force as its mean.
  static func atRest(_ force: SIMD2<Double>, duration: Double) -> Finding? {
    let size = (force * force).sum().squareRoot()
    guard size > leastForce, size * duration > greatestSpeed else { return nil }
    return Finding(force: size, variance: 0)
  }
}
