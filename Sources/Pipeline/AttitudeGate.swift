internal import Spatial
internal import Telemetry

/// Decides which attitudes are published: at intervals, those that differ from the last one by more than an angle.
///
/// Another reference frame, other axes and another degradation always pass. At rest nothing passes after the first attitude, so
/// that the last one published, which the broker retains, is never wrong by more than the angle.
struct AttitudeGate: Sendable {
  /// Beside the attitude, what makes the next one worth publishing.
  struct State: Hashable, Sendable {
    var frame: AttitudeReferenceFrame?
    var axes: BodyAxes
    var degradation: String?
  }

  /// Radians.
  private let filter: Double
  private let cosine: Double
  private var interval: IntervalGate
  private var last: (attitude: Quaternion?, gravity: Vector3, state: State)?
  /// When the newest attitude did not differ enough.
  private var refused: Timestamp?
  /// Whether the last published rotation rate turned the device.
  private var isTurning = false

  /// - Parameters:
  ///   - interval: seconds between attitudes at the least.
  ///   - filter: degrees; 0 lets every attitude pass that the interval does.
  init(interval: Double, filter: Double) {
    self.interval = IntervalGate(interval: interval)
    self.filter = filter.radians
    cosine = Quaternion(angle: filter.radians, axis: Vector3(1, 0, 0)).rotate(Vector3(0, 1, 0)).y
  }

  /// Returns whether an attitude is to be published, which is then the last one.
  /// - Parameters:
  ///   - attitude: nil where only gravity is known.
  ///   - gravity: in the axes of the device, of any length but zero.
  mutating func isOpen(at time: Timestamp, attitude: Attitude?, gravity: Vector3, _ state: State) -> Bool {
    guard isNews(attitude, gravity, state) else {
      refused = time
      return false
    }
    guard interval.isOpen(at: time) else { return false }
    last = (attitude?.quaternion, gravity, state)
    return true
  }

  /// Returns whether a rotation rate in rad/s is to be published, of a device without an attitude: one that turns the device by
  /// more than the angle within an interval, and the first one after that, so that the retained rate is not of a turn.
  mutating func isOpen(at time: Timestamp, rotationRate: Vector3, _ state: State) -> Bool {
    let turns = rotationRate.length * interval.interval > filter
    guard last?.state != state || turns || isTurning, interval.isOpen(at: time) else { return false }
    (last, isTurning) = ((nil, .zero, state), turns)
    return true
  }

  /// Returns whether the interval since the last attitude is over. An attitude that did not differ enough is followed by the next
  /// check a tenth of the interval later, at most 0.1 s: checking every sample costs more than it finds.
  func isDue(at time: Timestamp) -> Bool {
    guard interval.isDue(at: time) else { return false }
    guard filter > 0, let refused, time >= refused else { return true }
    return time.seconds(since: refused) >= min(0.1, interval.interval / 10)
  }

  /// Lets the next attitude pass, whatever it is: a session with the broker has begun, and may not have had the last one.
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
