internal import Sensors
internal import Spatial

/// A pairing of force and rate for sensors that report them in separate scans. Each rate produces one sample.
struct ScanPairing: Hashable, Sendable {
  enum Outcome: Hashable, Sendable {
    case none
    case missing(NavigationState.Reason)
    /// A force in m/s² and a rate in rad/s.
    case sample(Vector3, Vector3)
  }

  /// The sum of the forces in m/s² since the last rate, from which a mean is computed.
  private var sum = Vector3.zero
  /// The number of forces in `sum`.
  private var count = 0.0
  /// The last force in m/s²; nil before the first.
  private var last: Vector3?
  /// The number of consecutive scans that contain only a force.
  private var forcesAlone = 0
  /// The number of consecutive scans that contain only a rate.
  private var ratesAlone = 0

  /// The number of consecutive scans of one kind after which the other sensor counts as missing.
  private static let patience = 500

  @inline(__always)
  mutating func pair(_ scan: InertialScan) -> Outcome {
    if let force = scan.specificForce, let rate = scan.rotationRate {
      (forcesAlone, ratesAlone) = (0, 0)
      return .sample(force, rate)
    }
    if let force = scan.specificForce {
      guard force.isFinite else { return .none }
      ratesAlone = 0
      sum += force
      count += 1
      last = force
      forcesAlone = min(forcesAlone + 1, Self.patience)
      guard forcesAlone == Self.patience else { return .none }
      (sum, count) = (.zero, 0)
      return .missing(.noGyroscope)
    }
    guard let rate = scan.rotationRate else { return .none }
    forcesAlone = 0
    ratesAlone = min(ratesAlone + 1, Self.patience)
    guard let last, ratesAlone < Self.patience else { return .missing(.noAccelerometer) }
    let force = count > 0 ? sum / count : last
    (sum, count) = (.zero, 0)
    return .sample(force, rate)
  }
}
