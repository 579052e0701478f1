internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
package import Telemetry

// How the vehicle is driven, and what is done to it.

extension AgentPipeline {
  /// Passes a scan to navigation, and with its estimate to driving events and traces.
  mutating func navigate(_ scan: InertialScan, _ context: TraceReports.Context?) -> [Location] {
    let locations = navigation?.process(scan, timeBase) ?? []
    guard drivingEvents != nil || context != nil else { return locations }
    let estimate = navigation?.newestEstimate
    drivingEvents?.process(scan, estimate)
    if let context { traces?.observe(at: scan.timestamp, estimate, context) }
    return locations
  }

  /// Lets time pass for them, and tells what there is.
  mutating func tellDrivingEvents(at timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    drivingEvents?.observe(regions, at: timestamp)
    drivingEvents?.advance(to: timestamp)
    for message in trips.drainLeft() { send(.drivingEvent(message)) }
    sendDrivingEvents(into: send)
  }

  /// Nobody looks any longer: what goes on is told to be over.
  mutating func finishDrivingEvents(into send: (VehicleMessage) -> Void) {
    let end = now
    drivingEvents?.finish(at: end)
    sendDrivingEvents(into: send)
  }

  /// The outbox has it.
  package mutating func confirm(_ event: DrivingEventMessage) { trips.confirm(event) }

  private mutating func sendDrivingEvents(into send: (VehicleMessage) -> Void) {
    for event in drivingEvents?.drain() ?? [] {
      // Told again when it is over, it is no other.
      let isFirst = event.isOngoing || !event.kind.isLasting
      let (journal, trip) = trips.count(
        event: event.kind.rawValue, number: event.number, isFirst: isFirst)
      var message = DrivingEventReports.message(event, journal, place: shownPlace(of: event), timeBase)
      // The end of one that was parked through is not of the trip that follows.
      message.trip = isFirst ? trip : trips.trip(ofEvent: journal)
      if event.kind.isLasting { trips.keep(message) }
      send(.drivingEvent(message))
    }
  }

  /// Where it was, as far as others may know.
  private func shownPlace(of event: DrivingEvent) -> Location? {
    let location = configuration.location
    guard location.isEnabled, location.desiredAccuracy != .reduced, let coordinate = event.coordinate else {
      return nil
    }
    return configuration.privacy.shown(Location(timestamp: event.start, coordinate: coordinate))
  }
}
