internal import Positioning
public import Spatial
internal import Telemetry

extension VehicleRecord {
  /// Where a vehicle is taken to be.
  public struct ShownPosition: Hashable, Sendable {
    public var coordinate: Coordinate
    /// Metres: the vehicle's fix is no farther away; nil when nothing is promised, as for a position that was reported and
    /// not predicted.
    public var bound: Double?
  }

  /// Where the vehicle is now: by its error-bounded reports, predicted as the vehicle itself predicts; without them,
  /// where it was last. Nil before the first position.
  public func shownPosition(at now: Moment) -> ShownPosition? {
    guard let message = location?.message else { return nil }
    let reported = ShownPosition(coordinate: message.location.coordinate, bound: nil)
    // A promise ends with the connection: a vehicle that is gone, or asleep, is where it was.
    guard state == .online, !isLocationStale, let predictor = message.predictor else { return reported }
    let moment = Timestamp(nanoseconds: now.time.nanoseconds).advanced(bySeconds: -predictor.delay)
    // A clock that is an hour off makes no prediction, but nonsense.
    guard abs(moment.seconds(since: predictor.moment)) < 3600 else { return reported }
    return ShownPosition(coordinate: predictor.coordinate(at: moment), bound: predictor.bound)
  }
}
