internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
package import Telemetry

// Driving events.

extension AgentPipeline {
  /// Processes a scan in the navigation filter, and passes the resulting estimate to driving events and
  /// traces.
  /// - Returns: the locations that navigation publishes.
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

  /// Ends driving events in progress, because they cannot be observed any more.
  mutating func finishDrivingEvents(into send: (VehicleMessage) -> Void) {
    let end = now
    drivingEvents?.finish(at: end)
    sendDrivingEvents(into: send)
  }

  /// Records that the outbox has accepted the message of a driving event.
  package mutating func confirm(_ event: DrivingEventMessage) { trips.confirm(event) }

  private mutating func sendDrivingEvents(into send: (VehicleMessage) -> Void) {
    for event in drivingEvents?.drain() ?? [] {
      // An event that lasts has two messages, at its start and at its end, with the same number. Only the
      // first is counted.
      let isFirst = event.isOngoing || !event.kind.isLasting
      let (journal, trip) = trips.count(
        event: event.kind.rawValue, number: event.number, isFirst: isFirst)
      var message = DrivingEventReports.message(event, journal, place: shownPlace(of: event), timeBase)
      // An event can last while the vehicle is parked; its end then belongs to the trip in which it started,
      // not to the next one.
      message.trip = isFirst ? trip : trips.trip(ofEvent: journal)
      if event.kind.isLasting { trips.keep(message) }
      send(.drivingEvent(message))
    }
  }

  /// Returns the position of an event as far as privacy permits; nil if it is private or unknown.
  private func shownPlace(of event: DrivingEvent) -> Location? {
    let location = configuration.location
    guard location.isEnabled, location.desiredAccuracy != .reduced, let coordinate = event.coordinate else {
      return nil
    }
    return configuration.privacy.shown(Location(timestamp: event.start, coordinate: coordinate))
  }
}
