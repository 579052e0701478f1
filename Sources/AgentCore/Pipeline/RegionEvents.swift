internal import Positioning
internal import Spatial
internal import Telemetry

/// The regions' side of the pipeline: from locations to `region` messages.
struct RegionEvents: Sendable {
  var monitor = RegionMonitor()

  /// When `advance` has something to do, if no location comes before.
  var nextDeadline: Timestamp? { monitor.nextDeadline }

  /// - Parameter location: as it may be known: what is told has places in it.
  mutating func process(_ location: Location, _ timeBase: TimeBase, into send: (VehicleMessage) -> Void) {
    var location = location
    location.time = location.time ?? timeBase.utc(at: location.timestamp)
    tell(monitor.process(location), timeBase, into: send)
  }

  mutating func advance(to timestamp: Timestamp, _ timeBase: TimeBase, into send: (VehicleMessage) -> Void) {
    guard let deadline = monitor.nextDeadline, timestamp >= deadline else { return }
    tell(monitor.advance(to: timestamp), timeBase, into: send)
  }

  private func tell(_ events: [RegionEvent], _ timeBase: TimeBase, into send: (VehicleMessage) -> Void) {
    for event in events {
      let time = event.time ?? timeBase.utc(at: event.timestamp)
      send(.region(RegionMessage(time: time, event: event)))
    }
  }
}
