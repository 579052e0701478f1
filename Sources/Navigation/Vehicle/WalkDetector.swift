internal import Glibc
internal import Spatial

/// Tells a person who walks from a vehicle: steps shake the whole device one to three times a second.
///
/// Roads shake faster, and what is as slow on them, braking and bends, hardly changes the length of the force.
struct WalkDetector: Hashable, Sendable {
  /// m/s² of the force's length between 0.5 and 3 Hz, root mean square over 4 s, from which it is a walk. Chosen, not
  /// fitted: no recording of a walk was at hand, and on the two public drives nothing is taken for one.
  private static let limit = 0.9
  /// s that it must last.
  private static let time = 4.0

  private var isBegun = false
  private var fast = 0.0
  private var smooth = 0.0
  private var mean = 0.0
  private var power = 0.0
  private var lasting = 0.0

  var isWalking: Bool { lasting >= Self.time }
  /// m/s².
  var level: Double { power.squareRoot() }

  mutating func reset() { self = WalkDetector() }

  @inline(__always)
  mutating func add(force: Vector3, seconds: Double) {
    let length = force.length
    guard isBegun else {
      (isBegun, fast, smooth, mean) = (true, length, length, length)
      return
    }
    // Two poles at 3 Hz, one at 0.5 Hz for the mean, one of 4 s for the power.
    let low = min(1, seconds * 2 * Double.pi * 3)
    fast += low * (length - fast)
    smooth += low * (fast - smooth)
    mean += min(1, seconds * 2 * Double.pi * 0.5) * (smooth - mean)
    let deviation = smooth - mean
    power += min(1, seconds / 4) * (deviation * deviation - power)
    lasting =
      power > Self.limit * Self.limit ? min(2 * Self.time, lasting + seconds) : max(0, lasting - seconds)
  }
}
