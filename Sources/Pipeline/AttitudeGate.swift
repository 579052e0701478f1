package import Spatial
internal import Telemetry

/// Decides which attitudes are published: at most one per interval, and only if it differs from the last
/// published one by more than an angle.
///
/// A change of reference frame, axes or degradation is always published. At rest, nothing is published after
/// the first attitude. The retained message at the broker therefore never differs from the current attitude
/// by more than the angle.
package struct AttitudeGate: Sendable {
  /// Properties, besides the attitude, whose change is published.
  package struct State: Hashable, Sendable {
    var frame: AttitudeReferenceFrame?
    var axes: BodyAxes
    var degradation: String?
  }

  /// Minimum difference in rad between two published attitudes.
  private let filter: Double
  private let cosine: Double
  private var interval: IntervalGate
  private var last: (attitude: Quaternion?, gravity: Vector3, state: State)?
  /// Time of the last attitude that did not differ enough; nil if there was none.
  private var refused: Timestamp?
  /// True if the last published rotation rate was that of a turning device.
  private var isTurning = false

  /// - Parameters:
  ///   - interval: minimum time in s between attitudes.
  ///   - filter: minimum change in degrees; 0 publishes one attitude per interval.
  package init(interval: Double, filter: Double) {
    self.interval = IntervalGate(interval: interval)
    self.filter = filter.radians
    cosine = Quaternion(angle: filter.radians, axis: Vector3(1, 0, 0)).rotate(Vector3(0, 1, 0)).y
  }

  /// Returns whether an attitude must be published, and stores it as the last published one.
  /// - Parameters:
  ///   - attitude: the attitude; nil if only gravity is available.
  ///   - gravity: direction of gravity in the axes of the device; any length except zero.
  package mutating func isOpen(at time: Timestamp, attitude: Attitude?, gravity: Vector3, _ state: State)
    -> Bool
  {
    guard isNews(attitude, gravity, state) else {
      refused = time
      return false
    }
    guard interval.isOpen(at: time) else { return false }
    last = (attitude?.quaternion, gravity, state)
    return true
  }

  /// Returns whether a rotation rate must be published, for a device without an attitude. Published are rates
  /// that turn the device by more than the angle within an interval. The first lower rate after a turn is
  /// published, too, so that the retained message does not show a turn.
  /// - Parameter rotationRate: the rate in rad/s.
  package mutating func isOpen(at time: Timestamp, rotationRate: Vector3, _ state: State) -> Bool {
    let turns = rotationRate.length * interval.interval > filter
    guard last?.state != state || turns || isTurning, interval.isOpen(at: time) else { return false }
    (last, isTurning) = ((nil, .zero, state), turns)
    return true
  }

  /// Returns whether the next attitude must be checked: if the interval since the last published one is over.
  /// After an attitude that did not differ enough, the next check follows after a tenth of the interval, at
  /// most 0.1 s. Checking every sample would cost more than the delay.
  func isDue(at time: Timestamp) -> Bool {
    guard interval.isDue(at: time) else { return false }
    guard filter > 0, let refused, time >= refused else { return true }
    return time.seconds(since: refused) >= min(0.1, interval.interval / 10)
  }

  /// Publishes the next attitude even if it has not changed, for example because a new broker session may not
  /// have the last one.
  package mutating func reopen() { last = nil }

  private func isNews(_ attitude: Attitude?, _ gravity: Vector3, _ state: State) -> Bool {
    guard filter > 0, let last, last.state == state else { return true }
    guard let attitude, let before = last.attitude else {
      return attitude != nil || last.attitude != nil
        || last.gravity.dot(gravity) < cosine * last.gravity.length * gravity.length
    }
    return (attitude.quaternion * before.conjugate).angle > filter
  }
}
