public import Sensors
public import Spatial

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
