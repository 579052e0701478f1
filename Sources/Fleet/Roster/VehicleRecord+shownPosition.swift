internal import Positioning
public import Spatial
internal import Telemetry

extension VehicleRecord {
  /// Where a vehicle is shown.
  public struct ShownPosition: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Metres: the vehicle's fix is no farther away; nil when nothing is promised, as for a position that was reported and
    /// not predicted.
    public var bound: Double?
    /// Whether the vehicle promised that bound for now; false once it has withdrawn it or fallen silent, and where nothing
    /// is promised.
    public var isPromised = false
  }

  /// Where the vehicle is now by its own prediction; without one, where it was last. Nil before the first position.
  public func shownPosition(at now: Moment) -> ShownPosition? {
    if let predicted = predictedPosition(at: now) {
      return ShownPosition(
        coordinate: predicted.coordinate, bound: predicted.bound, isPromised: predicted.isPromised)
    }
    return location.map { ShownPosition(coordinate: $0.message.location.coordinate, bound: nil) }
  }
}
