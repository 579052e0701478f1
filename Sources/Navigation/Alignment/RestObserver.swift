internal import Spatial

/// An estimator for a device at rest according to the receiver. It determines the gyroscope bias and the
/// vertical.
///
/// The newest one to two seconds are excluded, because motion starts before the receiver reports it.
struct RestObserver: Sendable {
  /// The length of a bin of samples in s.
  private static let binLength = 1.0

  private struct Bin: Sendable {
    var force = Vector3.zero
    var rate = Vector3.zero
    var count = 0.0
    var seconds = 0.0
    /// The rotation from the device frame at the start of the bin to the current device frame.
    var turned = Quaternion.identity
  }

  private var current = Bin()
  private var previous = Bin()
  /// The mean rotation rate in rad/s over at most 60 s of rest.
  private(set) var rate = Vector3.zero
  /// The duration of `rate` in s.
  private(set) var seconds = 0.0
  /// The mean specific force over the last 3 s in m/s².
  private var force = Vector3.zero

  /// True if the device was at rest for long enough to start from its state.
  var isKnown: Bool { seconds > 3 }

  /// The rotation from the current device frame to a level frame with an arbitrary heading.
  var level: Quaternion {
    // Each bin stores the rotation of the device since its start, so the rotation of a newer bin is
    // multiplied from the right.
    Quaternion.shortest(from: force, to: Vector3(0, 0, 1)) * previous.turned
  }

  mutating func reset() { self = RestObserver() }

  @inline(__always)
  mutating func add(force: Vector3, rate: Vector3, seconds interval: Double) {
    let turn = Quaternion(rotationVector: (rate - (isKnown ? self.rate : .zero)) * interval)
    current.force += force
    current.rate += rate
    current.count += 1
    current.seconds += interval
    current.turned = (current.turned * turn).normalized
    previous.turned = (previous.turned * turn).normalized
  }

  /// Processes a report of the receiver that the device is at rest.
  mutating func observeStanding() {
    guard current.seconds >= Self.binLength else { return }
    if previous.count > 0 {
      seconds = min(60, seconds + previous.seconds)
      let weight = min(1, previous.seconds / seconds)
      rate += weight * (previous.rate / previous.count - rate)
      force += max(weight, 1 / 3.0) * (previous.force / previous.count - force)
    }
    previous = current
    current = Bin()
  }
}
