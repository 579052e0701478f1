internal import Glibc
public import Sensors
public import Spatial

/// Lets the slow part of a signal through: a first-order low-pass with its own time step for every sample.
///
/// `y += (1 - exp(-2π·f·dt))·(x - y)`, the exact answer of an RC circuit to a step held over dt, so jittered and missing
/// samples do not move the cutoff. At the cutoff a sine keeps 0.71 of its amplitude; the time constant is 1/(2π·f).
public struct LowPassFilter: Hashable, Sendable {
  /// Hz, above 0: a small cutoff is smooth and slow, a large one quick and noisy.
  public let cutoff: Double

  /// The filtered signal; nil before the first sample.
  public private(set) var value: Vector3?
  private var last: Timestamp?

  /// - Parameter cutoff: Hz; what is not a positive number becomes 1 µHz, a filter that keeps its first value.
  public init(cutoff: Double) {
    self.cutoff = cutoff > 0 ? cutoff : 1e-6
  }

  /// Takes a sample and returns the filtered signal. The first one sets the filter. A sample that is not finite, or not
  /// later than the last one, changes nothing.
  @discardableResult
  public mutating func process(_ sample: Vector3, at timestamp: Timestamp) -> Vector3 {
    guard sample.isFinite else { return value ?? .zero }
    guard let value, let last else {
      self.last = timestamp
      self.value = sample
      return sample
    }
    let step = timestamp.seconds(since: last)
    guard step > 0 else { return value }
    let next = value + (1 - exp(-2 * .pi * cutoff * step)) * (sample - value)
    self.last = timestamp
    self.value = next
    return next
  }

  public mutating func reset() {
    value = nil
    last = nil
  }
}

/// Gravity and user acceleration where there is no gyroscope: two low-pass filters in a chain give gravity, what they
/// leave over is the user's.
///
/// The second filter takes most of what the first still lets through of bumps and vibration (12 dB per octave instead of
/// 6). What it cannot do is tell a long, even braking from a slope: that takes a gyroscope.
public struct GravitySeparator: Hashable, Sendable {
  /// Hz. Road bumps lie above 1 Hz, braking and cornering last seconds; 0.25 Hz holds through a bump and a short braking
  /// and follows a slope within a second or two.
  public static let defaultCutoff = 0.25

  private var first: LowPassFilter
  private var second: LowPassFilter

  /// g, device frame, length one; nil before the first sample or when the readings average out to nothing.
  public private(set) var gravity: Vector3?
  /// g, device frame; nil before the first sample.
  public private(set) var userAcceleration: Vector3?

  /// - Parameter cutoff: Hz, of each of the two filters.
  public init(cutoff: Double = defaultCutoff) {
    first = LowPassFilter(cutoff: cutoff)
    second = LowPassFilter(cutoff: cutoff)
  }

  /// Takes the specific force of a scan; without one, nothing changes.
  public mutating func process(_ scan: InertialScan) {
    guard let sample = AccelerometerData(scan), sample.acceleration.isFinite else { return }
    let smooth = second.process(
      first.process(sample.acceleration, at: sample.timestamp), at: sample.timestamp)
    gravity = smooth.normalized
    userAcceleration = sample.acceleration - (gravity ?? .zero)
  }
}
