internal import Motion
package import Navigation
internal import Positioning
internal import Spatial
package import Telemetry

extension AgentPipeline {
  /// State of trips and event numbers to store; nil if trips and driving events are disabled.
  package var tripsToKeep: TripState? { keepsTrips ? trips.recorder.state : nil }

  /// True if trips or driving events have state to store.
  package var keepsTrips: Bool {
    trips.isEnabled || drivingEvents != nil || !trips.recorder.state.lasting.isEmpty
  }

  /// Counter that increases with every change of the trip state that must be stored immediately.
  package var tripMilestones: Int { trips.recorder.milestones }

  /// True if a trip is in progress and the vehicle moves.
  package var isTripMoving: Bool { trips.recorder.isMoving }

  /// True if trips are enabled, which requires locations to be enabled.
  package var hasTrips: Bool { trips.isEnabled }

  /// Records that the outbox has accepted a trip message, so that it is not published again after a restart.
  package mutating func confirm(_ trip: TripMessage) { trips.confirm(trip) }

  /// Sets the driver of the current and all later trips; nil clears the driver.
  package mutating func setTrip(driver: String?) { trips.set(driver: driver) }

  /// Sets the purpose of the current trip, or of the next one outside of a trip; nil clears the purpose.
  package mutating func setTrip(purpose: String?) { trips.set(purpose: purpose) }

  /// Current driver and purpose, by the keys `driver` and `purpose`; a missing key means that none is set.
  package var tripLabels: [String: String] {
    var labels: [String: String] = [:]
    labels["driver"] = trips.recorder.state.driver
    labels["purpose"] = trips.recorder.state.purpose
    return labels
  }

  /// Passes a position to the trips, with privacy applied.
  mutating func observeTrips(_ location: Location) {
    let isReduced = configuration.location.desiredAccuracy == .reduced
    var shown = configuration.privacy.shown(location)
    if isReduced { shown = shown?.reduced }
    trips.process(
      location, shown: shown, isExact: shown?.coordinate == location.coordinate,
      time: utc(of: location), odometer)
  }

  /// Advances the time for trips, and publishes trip messages that are due.
  mutating func advanceTrips(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    trips.advance(
      to: timestamp, isAtRest: motion.activity.map { $0 == .stationary }, time: utc(at: timestamp), odometer)
    for message in trips.drain(odometer, configuration.privacy) { send(.trip(message)) }
  }
}
