internal import Glibc
internal import Spatial

/// A detector of a walking person: steps shake the whole device one to three times a second.
///
/// Road vibration is faster, and slow motion such as braking and bends hardly changes the magnitude of the
/// force.
struct WalkDetector: Hashable, Sendable {
  /// The threshold of the force's magnitude between 0.5 and 3 Hz, root mean square over 4 s, m/s².
  ///
  /// The centre of the body moves up and down by 3.4, 4.0 and 4.8 cm at 1.0, 1.2 and 1.6 m/s (M. S. Orendurff
  /// et al., "The effect of walking speed on center of mass displacement", 2004) with 1.65, 1.8 and 2.1 steps
  /// a second. These are sines of 1.8, 2.6 and 4.2 m/s², of which the filters here pass 1.0, 1.4 and 2.1. A
  /// hand or a belt adds to it. Two public drives, one of them an hour in a city, reach 0.71 and 0.81 and
  /// never for 4 s. A stroll of 0.7 m/s has 0.6 and is not detected.
  private static let limit = 0.9
  /// The minimum duration in s for which the level must exceed the limit.
  private static let time = 4.0
  /// The speed in m/s that no walking person reaches.
  static let fastest = 5.0
  /// The factor on the level of a moving vehicle above which the force is that of steps (1.25), and the largest
  /// threshold in m/s²: a walk at 1.2 m/s has 1.4. Not fitted.
  private static let aboveVehicle = 1.25
  private static let largestLimit = 1.4

  /// The time constant in s with which `vehicleLevel` decays.
  private static let memory = 100.0

  private var isBegun = false
  private var fast = 0.0
  private var smooth = 0.0
  private var mean = 0.0
  private var power = 0.0
  private var lasting = 0.0
  /// The level while the receiver reported more than `fastest`, m/s².
  private var vehicleLevel = 0.0

  var isWalking: Bool { lasting >= Self.time }
  /// The root mean square of the force's magnitude between 0.5 and 3 Hz, m/s².
  var level: Double { power.squareRoot() }

  mutating func reset() { self = WalkDetector() }

  /// Processes a speed of the receiver in m/s with its standard deviation, and the time in s since the previous one.
  /// A motorcycle or a rough road can shake like steps, but no person walks that fast.
  mutating func observe(speed: Double, deviation: Double, interval: Double) {
    guard speed - 2 * deviation > Self.fastest else { return }
    lasting = 0
    vehicleLevel = max(level, exp(-interval / Self.memory) * vehicleLevel)
  }

  @inline(__always)
  mutating func add(force: Vector3, seconds: Double) {
    let length = force.length
    guard isBegun else {
      (isBegun, fast, smooth, mean) = (true, length, length, length)
      return
    }
    // The filter has two poles at 3 Hz, one at 0.5 Hz that removes the mean, and one with a time constant of
    // 4 s that averages the power.
    let low = min(1, seconds * 2 * Double.pi * 3)
    fast += low * (length - fast)
    smooth += low * (fast - smooth)
    mean += min(1, seconds * 2 * Double.pi * 0.5) * (smooth - mean)
    let deviation = smooth - mean
    power += min(1, seconds / 4) * (deviation * deviation - power)
    let limit = max(Self.limit, min(Self.largestLimit, Self.aboveVehicle * vehicleLevel))
    lasting =
      power > limit * limit ? min(2 * Self.time, lasting + seconds) : max(0, lasting - seconds)
  }
}
