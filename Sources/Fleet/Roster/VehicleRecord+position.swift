internal import Sensors
public import Spatial
internal import Telemetry
package import VehicleData

extension VehicleRecord {
  /// The position at which a vehicle is displayed.
  public struct ShownPosition: Hashable, Sendable {
    public var coordinate: Coordinate
    /// The maximum distance in m to the vehicle's fix; nil if the position is the last reported one, without
    /// a prediction.
    public var bound: Double?
    /// The radius in m that contains the vehicle: the stated accuracy, plus `bound` for a predicted position.
    /// Nil if the accuracy is unknown.
    public var radius: Double?
    /// True if the vehicle currently guarantees the bound. False after the guarantee was withdrawn or has
    /// ended, and for a position without a bound.
    public var isPromised = false
  }

  /// Returns the vehicle's predicted position, or its last reported one if there is no prediction. Nil before
  /// the first position.
  public func shownPosition(at now: Moment) -> ShownPosition? {
    if let predicted = predictedPosition(at: now) {
      return ShownPosition(
        coordinate: predicted.coordinate, bound: predicted.bound, radius: predicted.radius,
        isPromised: predicted.isPromised)
    }
    return (location?.message.location).map {
      ShownPosition(coordinate: $0.coordinate, bound: nil, radius: $0.horizontalAccuracy)
    }
  }
}

extension VehicleRecord {
  /// The maximum age in s at which a retained position without an error bound counts as current: a few
  /// intervals of a vehicle with a distance filter.
  private static let storedDuration = 30.0

  /// Returns whether the position is only the last known one, and must not be displayed as live. This is the
  /// case:
  /// - for an offline vehicle;
  /// - with bounded reporting, from the end of the guarantee until the next position;
  /// - without, after the vehicle has reported that positions are unavailable, until the next position;
  /// - for a position without an error bound that is older than `storedDuration`, if it was retained or its
  ///   vehicle is asleep;
  /// - for a retained position whose vehicle has no status.
  ///
  /// A live position of an online vehicle without an error bound does not age: a vehicle with a distance filter
  /// is silent at rest.
  public func isLocationStale(at now: Moment) -> Bool {
    guard let location else { return false }
    if state == .offline { return true }
    if let prediction = validPrediction { return prediction.hasLapsed(at: now) }
    if hasLocationFailed { return true }
    guard location.isRetained || state == .asleep else { return false }
    guard state == .online || state == .asleep else { return true }
    let age = now.time.seconds(since: location.message.time)
    return age >= Self.storedDuration || age < -Self.futureLimit
  }

  /// The next time at which `isLocationStale(at:)` can change without a message; nil if it cannot.
  package func nextStaleChange(after now: Moment) -> UTCTime? {
    guard let location, state != .offline else { return nil }
    if let prediction = validPrediction { return prediction.nextChange(after: now) }
    guard !hasLocationFailed, location.isRetained || state == .asleep, !isLocationStale(at: now) else {
      return nil
    }
    return location.message.time.advanced(bySeconds: Self.storedDuration)
  }

  /// True if the vehicle has reported that positions are unavailable, and has sent no position since.
  private var hasLocationFailed: Bool {
    guard let failure = locationEvent?.message, failure.event == .failed else { return false }
    return location.map { $0.message.time <= failure.time } ?? true
  }
}

extension VehicleRecord {
  /// Returns the predicted position with its error bound. Nil without bounded reporting, before the first
  /// report takes effect, and for an offline vehicle. Also nil when the error bound has not been guaranteed
  /// for two minutes.
  public func predictedPosition(at now: Moment) -> PredictedPosition? {
    validPrediction?.position(at: now)
  }

  /// The prediction of a vehicle that is online or asleep. Nil for other vehicles, whose guarantee is
  /// withdrawn.
  package var validPrediction: VehiclePrediction? {
    state == .online || state == .asleep ? prediction : nil
  }

  /// The reports from which a client can predict the position itself, in order of their time. Empty if there
  /// is no prediction.
  package var promisedReports: [ReportPredictor] {
    validPrediction?.reports ?? []
  }

  /// The number of messages that the vehicle has accepted and the broker has not acknowledged; nil if
  /// unknown.
  package var backlog: Int? { status?.message.counters["queue.records"] }

  /// True if the time of the last position is plausible by the local clock. In the replay of an old recording
  /// it is not; the age of a position is then measured from its arrival.
  package var isLocationOfOurTime: Bool {
    guard let location else { return true }
    return Self.isOfOurTime(location.message, at: location.receivedAt)
  }

  private static func isOfOurTime(_ message: LocationMessage, at moment: Moment) -> Bool {
    VehicleMessage.location(message).delay(at: moment).map { $0 >= -futureLimit } ?? false
  }

  /// Updates the prediction with a location. The prediction ends if the location contains none, or if the
  /// location is a retained one from days ago.
  mutating func predict(from message: LocationMessage, _ arrival: Arrival) {
    let agrees = Self.isOfOurTime(message, at: arrival.moment)
    guard let report = message.predictor, agrees || !arrival.isRetained else {
      prediction = nil
      return
    }
    prediction = prediction ?? VehiclePrediction()
    prediction?.receive(report, at: arrival.moment, clocksAgree: agrees)
  }
}
