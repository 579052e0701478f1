/// A reading of the vehicle's odometer.
public struct OdometerReading: Hashable, Sendable {
  /// Distance in m.
  public var distance: Double
  /// Part of the distance in m, with this device, that was not measured but estimated for gaps.
  public var estimated: Double

  public init(distance: Double, estimated: Double = 0) {
    (self.distance, self.estimated) = (distance, estimated)
  }
}
