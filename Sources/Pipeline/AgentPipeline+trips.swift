internal import Motion
package import Navigation
internal import Positioning
internal import Spatial
package import Telemetry

extension AgentPipeline {
  /// What to keep of trips and of the numbers of driving events; nil where there are neither.
  package var tripsToKeep: TripState? { keepsTrips ? trips.recorder.state : nil }

  /// Whether there is anything to keep of trips and driving events.
  package var keepsTrips: Bool {
    trips.isEnabled || drivingEvents != nil || !trips.recorder.state.lasting.isEmpty
  }

  /// Grows with what of trips should be kept at once.
  package var tripMilestones: Int { trips.recorder.milestones }

  /// Whether a trip is under way and the vehicle moves.
  package var isTripMoving: Bool { trips.recorder.isMoving }

  /// Whether there are trips: not where they or locations are switched off.
  package var hasTrips: Bool { trips.isEnabled }

  /// The outbox has a statement: it need not be told again after a restart.
  package mutating func confirm(_ trip: TripMessage) { trips.confirm(trip) }

  /// Says who drives, from the trip under way on; nil is nobody who is known.
  package mutating func setTrip(driver: String?) { trips.set(driver: driver) }

  /// Says what the trip under way is for, or the next one; nil takes it back.
  package mutating func setTrip(purpose: String?) { trips.set(purpose: purpose) }

  /// As they are set now.
  package var tripLabels: [String: String] {
    var labels: [String: String] = [:]
    labels["driver"] = trips.recorder.state.driver
    labels["purpose"] = trips.recorder.state.purpose
    return labels
  }

  /// Takes a place on to the trips.
  mutating func observeTrips(_ location: Location) {
    let isReduced = configuration.location.desiredAccuracy == .reduced
    var shown = configuration.privacy.shown(location)
    if isReduced { shown = shown?.reduced }
    trips.process(
      location, shown: shown, isExact: shown?.coordinate == location.coordinate,
      time: utc(of: location), odometer)
  }

  /// Lets time pass for trips, and tells what there is to tell.
  mutating func advanceTrips(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    trips.advance(
      to: timestamp, isAtRest: motion.activity.map { $0 == .stationary }, time: utc(at: timestamp), odometer)
    for message in trips.drain(odometer, configuration.privacy) { send(.trip(message)) }
  }
}
