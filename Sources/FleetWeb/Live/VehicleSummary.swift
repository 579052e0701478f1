package import Fleet
package import JSON
internal import Sensors
internal import Spatial
internal import Telemetry
internal import VehicleData

extension VehicleRecord {
  /// Writes position and current state as the members of a JSON object: everything that the holder of a link
  /// sees. Unknown values are omitted, and so is the predicted position: see `PredictedPosition.member`.
  ///
  /// - Returns: the offset of the end of the position's members in `json`; nil without a position.
  package func writeCurrent(to json: inout JSONWriter, at now: Moment) -> Int? {
    var positionEnd: Int?
    json.field("fleet", key.fleet)
    json.field("vehicle", key.vehicle)
    json.field("state", state.rawValue)
    json.field("heard", (lastHeard?.time ?? newestTime)?.rfc3339)
    if isOverdue(at: now) { json.field("overdue", true) }
    if let location {
      json.field("position") { json in
        writePosition(location, to: &json, at: now)
        positionEnd = json.bytes.count
      }
    }
    if let heading, state != .offline, !heading.isRetained {
      json.field("heading", heading.message.trueHeading ?? heading.message.magneticHeading, decimals: 1)
    }
    writePrediction(to: &json)
    if let battery = status?.message.device?.battery, battery.level != nil || battery.isCharging != nil {
      json.field("battery") { json in
        json.field("level", battery.level, decimals: 3)
        json.field("charging", battery.isCharging)
      }
    }
    return positionEnd
  }

  /// Writes further members for list and map, after those of `writeCurrent`.
  /// - Parameter hasTrip: false omits the trip, for callers that write it in more detail.
  package func writeDuties(to json: inout JSONWriter, at now: Moment, hasTrip: Bool = true) {
    json.field("queue", backlog)
    if missing > 0 { json.field("missing", missing) }
    if hasRecentGap(at: now) { json.field("gap", true) }
    json.field("clockLead", clockLead, decimals: 0)
    json.field("clockLag", clockLag, decimals: 0)
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

  /// The maximum number of earlier reports in a summary: the fleet's display delay is a few seconds, in which
  /// a vehicle sends few reports.
  private static let mostReports = 16

  /// Writes the newest report, to which the position belongs, and the earlier reports, which apply until the
  /// newest one is `delay` old.
  private func writePrediction(to json: inout JSONWriter) {
    guard location?.message.prediction != nil else { return }
    let reports = promisedReports
    guard let newest = reports.last else { return }
    json.field("prediction") { json in
      newest.writePromise(to: &json)
      json.field("delay", newest.delay, decimals: 3)
      guard reports.count > 1 else { return }
      json.field("before", objects: reports.dropLast().suffix(Self.mostReports)) { json, report in
        json.field("time", UTCTime(nanoseconds: report.moment.nanoseconds).rfc3339)
        json.field("latitude", report.coordinate.latitude, decimals: 8)
        json.field("longitude", report.coordinate.longitude, decimals: 8)
        json.field("accuracy", report.accuracy, decimals: 1)
        report.writePromise(to: &json)
      }
    }
  }

  private func writePosition(
    _ received: Received<LocationMessage>, to json: inout JSONWriter, at now: Moment
  ) {
    let (message, location) = (received.message, received.message.location)
    json.field("latitude", location.coordinate.latitude, decimals: 7)
    json.field("longitude", location.coordinate.longitude, decimals: 7)
    json.field("time", message.time.rfc3339)
    json.field("accuracy", location.horizontalAccuracy, decimals: 1)
    json.field("altitude", location.altitude, decimals: 1)
    json.field("speed", location.speed, decimals: 2)
    json.field("course", location.course, decimals: 1)
    json.field("source", location.positionSource?.rawValue)
    json.field("suspect", location.suspicion?.reason.rawValue)
    if isLocationStale(at: now) { json.field("stale", true) }
    if !isLocationOfOurTime {
      json.field("received", received.receivedAt.time.rfc3339)
    }
  }
}

extension PredictedPosition {
  /// The member `now` of a summary's position, with the comma before it. It changes by time alone, so it is
  /// added when the summary is sent.
  var member: [UInt8] {
    let object = JSONWriter.object { json in
      json.field("time", time.rfc3339)
      writePlace(to: &json)
    }
    return Array(#","now":"#.utf8) + object
  }

  /// The content of `member` without its time. It is constant for a vehicle at rest.
  var place: [UInt8] { JSONWriter.object { json in writePlace(to: &json) } }

  private func writePlace(to json: inout JSONWriter) {
    json.field("latitude", coordinate.latitude, decimals: 7)
    json.field("longitude", coordinate.longitude, decimals: 7)
    json.field("radius", radius, decimals: 1)
    if !isPromised { json.field("expired", true) }
  }
}

extension ReportPredictor {
  fileprivate func writePromise(to json: inout JSONWriter) {
    json.field("velocityEast", velocity.x, decimals: 3)
    json.field("velocityNorth", velocity.y, decimals: 3)
    json.field("bound", bound, decimals: 3)
    json.field("validity", validity, decimals: 3)
    if validity != nil { json.field("growth", growth, decimals: 3) }
  }
}
