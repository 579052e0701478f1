internal import Spatial
internal import Telemetry

/// Decides which attitudes are published: at intervals, those that differ from the last one by more than an
/// angle.
///
/// A change of reference frame, axes or degradation always passes. At rest nothing passes after the first
/// attitude. The last published one, which the broker retains, is therefore never wrong by more than the
/// angle.
struct AttitudeGate: Sendable {
  /// Properties, besides the attitude, whose change is published.
  struct State: Hashable, Sendable {
    var frame: AttitudeReferenceFrame?
    var axes: BodyAxes
    var degradation: String?
  }

  /// Minimum change in rad.
  private let filter: Double
  private let cosine: Double
  private var interval: IntervalGate
  private var last: (attitude: Quaternion?, gravity: Vector3, state: State)?
  /// Time of the last check without a sufficient difference.
  private var refused: Timestamp?
  /// True if the device was turning at the last published rotation rate.
  private var isTurning = false

  /// - Parameters:
  ///   - interval: minimum time in s between attitudes.
  ///   - filter: minimum change in degrees; 0 publishes one attitude per interval.
  init(interval: Double, filter: Double) {
    self.interval = IntervalGate(interval: interval)
    self.filter = filter.radians
    cosine = Quaternion(angle: filter.radians, axis: Vector3(1, 0, 0)).rotate(Vector3(0, 1, 0)).y
  }

  /// Returns whether an attitude must be published, and stores it as the last one.
  /// - Parameters:
  ///   - attitude: the attitude; nil if only gravity is available.
  ///   - gravity: direction of gravity in the axes of the device, of any length but zero.
  mutating func isOpen(at time: Timestamp, attitude: Attitude?, gravity: Vector3, _ state: State) -> Bool {
    guard isNews(attitude, gravity, state) else {
      refused = time
      return false
    }
    guard interval.isOpen(at: time) else { return false }
    last = (attitude?.quaternion, gravity, state)
    return true
  }

  /// Returns whether a rotation rate in rad/s must be published, for a device without an attitude. This is
  /// the case for one that turns the device by more than the angle within an interval, and for the first one
  /// after that, so that the retained rate is not that of a turn.
  mutating func isOpen(at time: Timestamp, rotationRate: Vector3, _ state: State) -> Bool {
    let turns = rotationRate.length * interval.interval > filter
    guard last?.state != state || turns || isTurning, interval.isOpen(at: time) else { return false }
    (last, isTurning) = ((nil, .zero, state), turns)
    return true
  }

  /// Returns whether the interval since the last attitude is over. After an attitude that did not differ
  /// enough, the next check follows a tenth of the interval later, at most 0.1 s, because checking every
  /// sample costs more than it gains.
  func isDue(at time: Timestamp) -> Bool {
    guard interval.isDue(at: time) else { return false }
    guard filter > 0, let refused, time >= refused else { return true }
    return time.seconds(since: refused) >= min(0.1, interval.interval / 10)
  }

  /// Lets the next attitude pass in any case, for example for a new broker session that may not have the last
  /// one.
  mutating func reopen() { last = nil }

  private func isNews(_ attitude: Attitude?, _ gravity: Vector3, _ state: State) -> Bool {
    guard filter > 0, let last, last.state == state else { return true }
    guard let attitude, let before = last.attitude else {
      return attitude != nil || last.attitude != nil
        || last.gravity.dot(gravity) < cosine * last.gravity.length * gravity.length
    }
    return (attitude.quaternion * before.conjugate).angle > filter
  }
}
