internal import Glibc
public import Sensors
public import Spatial

/// A first-order low-pass filter with an individual time step for every sample.
///
/// `y += (1 - exp(-2π·f·dt))·(x - y)`, the exact step response of an RC circuit over dt, so jittered and
/// missing samples do not change the cutoff. At the cutoff the amplitude of a sine is 0.71; the time constant
/// is 1/(2π·f).
public struct LowPassFilter: Hashable, Sendable {
  /// Cutoff in Hz, above 0. Small values are smooth and slow, large ones fast and noisy.
  public let cutoff: Double

  /// The filtered signal; nil before the first sample.
  public private(set) var value: Vector3?
  private var last: Timestamp?

  /// - Parameter cutoff: cutoff in Hz. Any other value than a positive number becomes 1 µHz, which retains
  ///   the first value.
  public init(cutoff: Double) {
    self.cutoff = cutoff > 0 ? cutoff : 1e-6
  }

  /// Processes a sample and returns the filtered signal. The first sample initializes the filter. Samples
  /// that are not finite, or not later than the last, have no effect.
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

/// Separates gravity from user acceleration without a gyroscope. Two low-pass filters in series yield
/// gravity; the remainder is user acceleration.
///
/// The second filter removes most of the bumps and vibration that pass the first (12 dB per octave instead of
/// 6). Only a gyroscope can separate long, constant braking from a slope.
public struct GravitySeparator: Hashable, Sendable {
  /// Cutoff in Hz. Road bumps are above 1 Hz, braking and cornering last seconds. 0.25 Hz suppresses bumps
  /// and short braking, and follows a slope within one or two seconds.
  public static let defaultCutoff = 0.25

  private var first: LowPassFilter
  private var second: LowPassFilter

  /// Direction of gravity in g, device frame, length one; nil before the first sample, or if the readings
  /// average to zero.
  public private(set) var gravity: Vector3?
  /// User acceleration in g, device frame; nil before the first sample.
  public private(set) var userAcceleration: Vector3?

  /// - Parameter cutoff: cutoff in Hz of each of the two filters.
  public init(cutoff: Double = defaultCutoff) {
    first = LowPassFilter(cutoff: cutoff)
    second = LowPassFilter(cutoff: cutoff)
  }

  /// Processes the specific force of a scan; scans without one have no effect.
  public mutating func process(_ scan: InertialScan) {
    guard let sample = AccelerometerData(scan), sample.acceleration.isFinite else { return }
    let smooth = second.process(
      first.process(sample.acceleration, at: sample.timestamp), at: sample.timestamp)
    gravity = smooth.normalized
    userAcceleration = sample.acceleration - (gravity ?? .zero)
  }
}
