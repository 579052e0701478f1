internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
package import Telemetry

// Driving events.

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

  /// Advances the time for driving events, and publishes new ones.
  mutating func tellDrivingEvents(at timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    drivingEvents?.observe(regions, at: timestamp)
    drivingEvents?.advance(to: timestamp)
    for message in trips.drainLeft() { send(.drivingEvent(message)) }
    sendDrivingEvents(into: send)
  }

  /// Ends driving events in progress, because they are no longer observed.
  mutating func finishDrivingEvents(into send: (VehicleMessage) -> Void) {
    let end = now
    drivingEvents?.finish(at: end)
    sendDrivingEvents(into: send)
  }

  /// Records that the outbox has accepted an event.
  package mutating func confirm(_ event: DrivingEventMessage) { trips.confirm(event) }

  private mutating func sendDrivingEvents(into send: (VehicleMessage) -> Void) {
    for event in drivingEvents?.drain() ?? [] {
      // The end of an event has the same number.
      let isFirst = event.isOngoing || !event.kind.isLasting
      let (journal, trip) = trips.count(
        event: event.kind.rawValue, number: event.number, isFirst: isFirst)
      var message = DrivingEventReports.message(event, journal, place: shownPlace(of: event), timeBase)
      // The end of an event that lasted while parked does not belong to the next trip.
      message.trip = isFirst ? trip : trips.trip(ofEvent: journal)
      if event.kind.isLasting { trips.keep(message) }
      send(.drivingEvent(message))
    }
  }

  /// Returns the event's position as far as privacy permits.
  private func shownPlace(of event: DrivingEvent) -> Location? {
    let location = configuration.location
    guard location.isEnabled, location.desiredAccuracy != .reduced, let coordinate = event.coordinate else {
      return nil
    }
    return configuration.privacy.shown(Location(timestamp: event.start, coordinate: coordinate))
  }
}
