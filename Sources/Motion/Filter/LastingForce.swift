internal import Spatial

/// Detects a lasting horizontal force. Vehicles do not accelerate indefinitely, so a lasting force is gravity
/// seen from a tilted frame, caused by an unobserved rotation or by a start in motion. The motion model alone
/// would interpret it as strong acceleration.
struct LastingForce: Sendable {
  /// The part of the force that is caused by tilt, and its variance.
  struct Finding: Sendable {
    /// Force in m/s².
    var force: Double
    /// Variance in (m/s²)².
    var variance: Double
  }

  /// Sums over the window: force in m/s, its square in (m/s²)² s.
  private var sum = SIMD2<Double>.zero
  private var squares = 0.0
  private var duration = 0.0

  /// Length of the window in s, and the mean forces in m/s² above which a force indicates tilt. `leastForce`
  /// equals a gain of 18 km/h in the window, which vehicles reach. It therefore does not apply after a rest.
  /// `impossibleForce` equals a gain of 108 km/h, which vehicles do not reach.
  private static let window = 10.0
  private static let leastForce = 0.5
  private static let impossibleForce = 3.0
  /// Gain of speed in m/s that counts as impossible while vibration is as low as at rest. Smooth trains
  /// accelerate by 1.3 m/s² for 20 s, aircraft more.
  private static let greatestSpeed = 15.0
  /// The same for a mean force in m/s² that no train reaches.
  private static let (trainForce, carSpeed) = (1.6, 5.0)

  /// Processes the mean horizontal force of a block in m/s², level frame.
  ///
  /// - Parameter isLevelKnown: true if the vertical was measured at rest. A vertical found in motion is
  ///   rejected much sooner.
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

  /// Evaluates the mean horizontal force in m/s² during an apparent rest of the given duration in s; nil if
  /// it does not indicate tilt.
  static func atRest(_ force: SIMD2<Double>, duration: Double) -> Finding? {
    let size = (force * force).sum().squareRoot()
    guard size > leastForce, size * duration > (size > trainForce ? carSpeed : greatestSpeed) else {
      return nil
    }
    return Finding(force: size, variance: 0)
  }
}
