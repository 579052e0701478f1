internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
package import Telemetry

// How the vehicle is driven, and what is done to it.

extension AgentPipeline {
  /// Hands scans to navigation, and each with what it knows then to those who look for events or keep traces.
  mutating func navigate(_ scans: [InertialScan]) -> [Location] {
    guard drivingEvents != nil || traces != nil else { return navigation?.process(scans, timeBase) ?? [] }
    let context = traceContext
    // Taken out, so that they are changed in place.
    var (events, traces) = (drivingEvents, self.traces)
    (drivingEvents, self.traces) = (nil, nil)
    defer { (drivingEvents, self.traces) = (events, traces) }
    guard navigation != nil else {
      for scan in scans { events?.process(scan) { nil } }
      return []
    }
    return navigation?.process(scans, timeBase) { scan, estimate in
      events?.process(scan, estimate)
      if let context { traces?.observe(at: scan.timestamp, estimate, context) }
    } ?? []
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
