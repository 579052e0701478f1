internal import Spatial

/// What a device shows while the receiver says that it stands: the gyroscope's bias and which way is up.
///
/// The newest one to two seconds are left out, as motion begins before the receiver sees it.
struct RestObserver: Sendable {
  /// s in which samples are summed.
  private static let binLength = 1.0

  private struct Bin: Sendable {
    var force = Vector3.zero
    var rate = Vector3.zero
    var count = 0.0
    var seconds = 0.0
    /// From the device at its start to the device now.
    var turned = Quaternion.identity
  }

  private var current = Bin()
  private var previous = Bin()
  /// rad/s: the mean of at most 60 s, and how many they are.
  private(set) var rate = Vector3.zero
  private(set) var seconds = 0.0
  /// m/s²: the mean of the last 3 s.
  private var force = Vector3.zero

  /// Whether there is enough for a start.
  var isKnown: Bool { seconds > 3 }

  /// From the device now to a level frame whose horizontal direction is arbitrary.
  var level: Quaternion {
    // The turns are those of the device frame since its bins: newer frames are on the right.
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

  /// The receiver says that the device stands.
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
