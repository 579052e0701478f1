internal import Sensors
internal import Spatial

/// Puts force and rate together where they come in separate scans. The gyroscope sets the pace.
struct ScanPairing: Hashable, Sendable {
  enum Outcome: Hashable, Sendable {
    case none
    case missing(NavigationState.Reason)
    /// m/s², rad/s.
    case sample(Vector3, Vector3)
  }

  /// m/s²: the sum of the forces since the last rate, and the last of them.
  private var sum = Vector3.zero
  private var count = 0.0
  private var last: Vector3?
  /// Scans of one kind since the last of the other.
  private var forcesAlone = 0
  private var ratesAlone = 0

  /// How many scans of one kind mean that the other sensor is missing.
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
