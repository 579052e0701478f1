/// A contradiction between a position and other measurements. `CLLocationSourceInformation` only says whether a position is simulated.
public struct Suspicion: Hashable, Sendable {
  /// The measurement that contradicts the position.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The position before: no vehicle moves so fast.
    case jump
    /// The receiver's own velocity.
    case velocity
    /// Inertial navigation.
    case navigation
    /// The speed of the wheels.
    case wheels
    /// Access points and cells at known positions.
    case beacons
    /// A measurement that this version does not know; from other vehicles only.
    case other
  }

  public var reason: Reason
  /// Metres by which the position is disputed; nil from other vehicles, whose `horizontalAccuracy` includes it.
  public var distance: Double?

  public init(_ reason: Reason, distance: Double? = nil) {
    (self.reason, self.distance) = (reason, distance)
  }
}
