package import Fleet
package import Spatial
package import Telemetry

extension Recording {
  /// Returns, for each trip in progress, its way since its last message. A trip whose last message is more
  /// than a day old, or that a later trip of the vehicle follows, is not in progress.
  package func continuations(
    _ selection: TripSelection, at now: UTCTime
  ) throws(FleetError) -> [VehicleKey: [JournalNumber: TripContinuation]] {
    let limit = now.advanced(bySeconds: -86_400)
    var open: [ReportedTrip] = []
    try readTrips(selection) { told in
      if told.trip.phase != .ended, told.trip.end.time > limit { open.append(told) }
      return true
    }
    var continuations: [VehicleKey: [JournalNumber: TripContinuation]] = [:]
    for told in open where try !hasLaterTrip(than: told) {
      var part = RecordingSelection()
      (part.fleets, part.vehicles) = ([told.vehicle.fleet], [told.vehicle.vehicle])
      part.from = told.trip.end.time
      var last = told.trip.end.coordinate
      var continuation = TripContinuation(distance: 0, end: told.trip.end.time)
      try readPositions(part, isByDay: false) { position in
        guard position.source.isOnPath, (position.accuracy ?? 0) <= TripContinuation.leastAccuracy else {
          return true
        }
        continuation.distance += last?.distance(to: position.coordinate) ?? 0
        continuation.end = max(continuation.end, position.time)
        last = position.coordinate
        return true
      }
      continuations[told.vehicle, default: [:]][told.trip.trip] = continuation
    }
    return continuations
  }

  /// Returns true if a later trip of the vehicle is recorded, selected or not.
  private func hasLaterTrip(than told: ReportedTrip) throws(FleetError) -> Bool {
    var selection = TripSelection()
    (selection.part.fleets, selection.part.vehicles) = ([told.vehicle.fleet], [told.vehicle.vehicle])
    selection.part.from = told.trip.start.time
    var isFollowed = false
    try readTrips(selection) { other in
      isFollowed = other.trip.start.time > told.trip.start.time
      return !isFollowed
    }
    return isFollowed
  }

  /// Returns the driving events of a trip.
  package func drivingEvents(of told: ReportedTrip) throws(FleetError) -> [ReportedDrivingEvent] {
    var selection = DrivingEventSelection()
    (selection.part.fleets, selection.part.vehicles) = ([told.vehicle.fleet], [told.vehicle.vehicle])
    selection.trip = told.trip.trip
    var events: [ReportedDrivingEvent] = []
    try readDrivingEvents(selection) { event in
      events.append(event)
      return true
    }
    return events
  }
}
