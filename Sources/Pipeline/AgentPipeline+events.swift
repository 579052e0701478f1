internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

// How the vehicle is driven, and what is done to it.

extension AgentPipeline {
  /// Hands scans to navigation, and each with what it knows then to those who look for events.
  mutating func navigate(_ scans: [InertialScan]) -> [Location] {
    guard var events = drivingEvents else { return navigation?.process(scans, timeBase) ?? [] }
    // Taken out, so that it is changed in place.
    drivingEvents = nil
    defer { drivingEvents = events }
    guard navigation != nil else {
      for scan in scans { events.process(scan) { nil } }
      return []
    }
    return navigation?.process(scans, timeBase) { events.process($0, $1) } ?? []
  }

  /// Lets time pass for them, and tells what there is.
  mutating func tellDrivingEvents(at timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    drivingEvents?.advance(to: timestamp)
    let (location, privacy) = (configuration.location, configuration.privacy)
    let messages = drivingEvents?.drain(series: eventSeries, timeBase) { place in
      location.isEnabled && location.desiredAccuracy != .reduced ? privacy.shown(place) : nil
    }
    for message in messages ?? [] { send(.drivingEvent(message)) }
  }
}
