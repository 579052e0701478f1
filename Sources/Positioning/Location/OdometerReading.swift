/// How far the vehicle has come, as its odometer shows it.
public struct OdometerReading: Hashable, Sendable {
  /// Metres.
  public var distance: Double
  /// Metres of what was travelled under this device that nobody has measured: the plausible way through gaps.
  public var estimated: Double

  public init(distance: Double, estimated: Double = 0) {
    (self.distance, self.estimated) = (distance, estimated)
  }
}
