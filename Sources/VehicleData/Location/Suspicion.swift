/// A contradiction between a position and other measurements. In contrast, `CLLocationSourceInformation` only
/// indicates a simulated position.
public struct Suspicion: Hashable, Sendable {
  /// The measurement that contradicts the position.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    /// The previous position: the speed between the two positions is impossible.
    case jump
    /// The receiver's own velocity.
    case velocity
    /// Inertial navigation.
    case navigation
    /// The speed of the wheels.
    case wheels
    /// Access points and cells at known positions.
    case beacons
    /// A measurement unknown to this version; occurs only in messages of other vehicles.
    case other
  }

  public var reason: Reason
  /// Distance in m between the position and the contradicting measurement. Nil in locations of other
  /// vehicles, whose `horizontalAccuracy` includes it.
  public var distance: Double?

  public init(_ reason: Reason, distance: Double? = nil) {
    (self.reason, self.distance) = (reason, distance)
  }
}
