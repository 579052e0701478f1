public import Sensors

/// The reason why motion sensors deliver no samples. Delivery resumes automatically when the cause is removed.
public struct MotionFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The sensors that are unavailable.
  public var kinds: Set<SensorKind>
  /// The reason with its remedy, as a sentence for the operator.
  public var reason: String

  public init(kinds: Set<SensorKind>, reason: String) {
    (self.kinds, self.reason) = (kinds, reason)
  }

  public var description: String {
    "\(kinds.sorted().map(\.rawValue).joined(separator: ", ")) unavailable: \(reason)"
  }
}
