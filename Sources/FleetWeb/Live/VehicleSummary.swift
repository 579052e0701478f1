package import Fleet
internal import FleetConsole
package import JSON
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

extension VehicleRecord {
  /// Where the vehicle is and how it is now, as the members of a JSON object: all that somebody with a link is told of it. What
  /// is not known is left out.
  package func writeCurrent(to json: inout JSONWriter, at now: Moment) {
    json.field("fleet", key.fleet)
    json.field("vehicle", key.vehicle)
    json.field("state", state.rawValue)
    json.field("heard", (lastHeard?.time ?? newestTime)?.rfc3339)
    if isOverdue(at: now) { json.field("overdue", true) }
    if let location { json.field("position") { writePosition(location.message, to: &$0) } }
    if let heading, state != .offline, !heading.isRetained {
      json.field("heading", heading.message.trueHeading ?? heading.message.magneticHeading, decimals: 1)
    }
    if state == .online || state == .asleep, let prediction = location?.message.prediction {
      json.field("prediction") { json in
        json.field("velocityEast", prediction.velocity.x, decimals: 3)
        json.field("velocityNorth", prediction.velocity.y, decimals: 3)
        json.field("bound", prediction.bound, decimals: 3)
        json.field("delay", prediction.delay, decimals: 3)
        json.field("validity", prediction.validity, decimals: 3)
        if prediction.validity != nil { json.field("growth", prediction.growth, decimals: 3) }
      }
    }
    if let battery = status?.message.device?.battery, battery.level != nil || battery.isCharging != nil {
      json.field("battery") { json in
        json.field("level", battery.level, decimals: 3)
        json.field("charging", battery.isCharging)
      }
    }
  }

  /// What else the list and the map show of the vehicle, as the members behind those of `writeCurrent`.
  /// - Parameter hasTrip: false leaves out the trip, for whoever tells more of it.
  package func writeDuties(to json: inout JSONWriter, hasTrip: Bool = true) {
    json.field("queue", backlog)
    if missing > 0 { json.field("missing", missing) }
    if !insideRegions.isEmpty { json.field("inside", texts: insideRegions) }
    if let event {
      json.field("event") { json in
        json.field("summary", event.message.summary)
        json.field("time", (event.message.time ?? (event.isRetained ? nil : event.receivedAt.time))?.rfc3339)
      }
    }
    if hasTrip, let trip = trip?.message {
      json.field("trip") { json in
        json.field("number", trip.trip.number)
        json.field("distance", trip.distance, decimals: 0)
        json.field("moving", trip.phase != .ended)
      }
    }
  }

  /// When the newest was written that the broker had kept, of a vehicle that was not heard itself; nil for nothing.
  private var newestTime: UTCTime? {
    [status?.message.time, location?.message.time].compactMap { $0 }.max()
  }

  private func writePosition(_ message: LocationMessage, to json: inout JSONWriter) {
    let location = message.location
    json.field("latitude", location.coordinate.latitude, decimals: 7)
    json.field("longitude", location.coordinate.longitude, decimals: 7)
    json.field("time", message.time.rfc3339)
    json.field("accuracy", location.horizontalAccuracy, decimals: 1)
    json.field("altitude", location.altitude, decimals: 1)
    json.field("speed", location.speed, decimals: 2)
    json.field("course", location.course, decimals: 1)
    json.field("source", location.positionSource?.rawValue)
    if isLocationStale { json.field("stale", true) }
  }
}
