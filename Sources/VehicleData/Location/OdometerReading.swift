/// A reading of the vehicle's odometer.
public struct OdometerReading: Hashable, Sendable {
  /// Distance travelled in m.
  public var distance: Double
  /// Part of `distance` in m that was driven with this device and estimated for gaps, not measured.
  public var estimated: Double

  public init(distance: Double, estimated: Double = 0) {
    (self.distance, self.estimated) = (distance, estimated)
  }
}
