package import Fleet
package import JSON
internal import Sensors
internal import Spatial
internal import Telemetry
internal import VehicleData

extension VehicleRecord {
  /// The maximum size in bytes of a status message that is included; an agent's status has a few kilobytes.
  private static let largestStatus = 256 << 10

  /// Returns all details of the vehicle as one line of JSON: the summary with the position predicted for a time,
  /// and further members.
  /// - Parameter isLink: true for the holder of a link, who sees neither earlier positions nor regions.
  package func details(revision: UInt64, at now: Moment, forLink isLink: Bool) -> [UInt8] {
    var json = JSONWriter(capacity: 4096)
    json.openObject()
    json.field("revision", revision)
    let positionEnd = writeCurrent(to: &json, at: now)
    json.field("overdueAt", nextContact?.rfc3339)
    if isLink {
      json.closeObject()
      return withPrediction(json.bytes, at: positionEnd, now)
    }
    writeDuties(to: &json, at: now, hasTrip: false)
    if !statusPayload.isEmpty, statusPayload.count <= Self.largestStatus {
      // The status is embedded unchanged if it has no line breaks, which would break the event stream.
      switch JSONScan(statusPayload.span) {
      case .valid:
        json.key("status")
        json.raw(statusPayload)
      case .validAfterEscaping:
        if let status = try? JSONValue(parsing: statusPayload) {
          json.key("status")
          json.value(status)
        }
      case .invalid, .stopped: break
      }
    }
    if let location {
      json.key("location")
      json.raw(location.message.payload)
    }
    if let attitude, state != .offline { write(attitude.message, to: &json) }
    if let altitude {
      json.key("altitude")
      json.raw(altitude.message.payload)
    }
    if let signals {
      json.key("signals")
      json.raw(signals.message.payload)
    }
    if let compass {
      json.field("compass") { json in
        json.field("calibration", compass.calibration?.name)
        if compass.isCalibrationWanted { json.field("calibrationWanted", true) }
        json.field("instruction", compass.instruction)
      }
    }
    json.field("recentEvents", objects: recentEvents) { json, event in
      json.field("summary", event.message.summary)
      json.field("time", (event.message.time ?? (event.isRetained ? nil : event.receivedAt.time))?.rfc3339)
      json.field("remedy", event.message.remedy)
      json.field("region", event.message.region)
    }
    json.key("regions")
    writeRegions(to: &json)
    json.key("trail")
    json.openArray()
    for place in trail.coordinates {
      json.openArray()
      json.value(place.longitude, decimals: 6)
      json.value(place.latitude, decimals: 6)
      json.closeArray()
    }
    json.closeArray()
    if let trip {
      json.key("trip")
      json.raw(trip.message.payload)
    }
    if let drivingEvent {
      json.key("drivingEvent")
      json.raw(drivingEvent.message.payload)
    }
    json.field("messages", messageCount)
    if missing == 0 { json.field("missing", 0) }
    json.field("unreadable", unreadable)
    json.closeObject()
    return withPrediction(json.bytes, at: positionEnd, now)
  }

  /// Returns the details with the predicted position as the last member of the position.
  private func withPrediction(_ details: [UInt8], at offset: Int?, _ now: Moment) -> [UInt8] {
    guard let offset, let predicted = predictedPosition(at: now) else { return details }
    var details = details
    details.insert(contentsOf: predicted.member, at: offset)
    return details
  }

  /// Writes the attitude.
  ///
  /// - Parameter json: the writer of the details.
  private func write(_ attitude: AttitudeMessage, to json: inout JSONWriter) {
    json.field("attitude") { json in
      json.field("time", attitude.time.rfc3339)
      json.field("roll", attitude.tilt?.roll, decimals: 4)
      json.field("pitch", attitude.tilt?.pitch, decimals: 4)
      json.field("yaw", attitude.angles?.yaw, decimals: 4)
      json.field("frame", attitude.frame?.rawValue)
      json.field("axes", attitude.axes?.rawValue)
      json.field("degradation", attitude.degradation)
    }
  }

  /// Writes the vehicle's desired regions as a GeoJSON FeatureCollection; circles as polygons of 36 corners
  /// with centre and radius.
  package func writeRegions(to json: inout JSONWriter) {
    let states = Dictionary(
      (regionStates?.regions ?? []).map { ($0.identifier, $0.state.rawValue) }, uniquingKeysWith: { $1 })
    json.openObject()
    json.field("type", "FeatureCollection")
    json.field("features", objects: wantedRegions) { json, region in
      json.field("type", "Feature")
      json.field("id", region.identifier)
      json.field("geometry") { json in
        // The region does not store which hole belongs to which ring.
        json.field("type", region.lines.count == 1 ? "Polygon" : "MultiLineString")
        json.key("coordinates")
        json.openArray()
        for line in region.lines {
          json.openArray()
          for corner in line {
            json.openArray()
            json.value(corner.longitude, decimals: 7)
            json.value(corner.latitude, decimals: 7)
            json.closeArray()
          }
          json.closeArray()
        }
        json.closeArray()
      }
      json.field("properties") { json in
        json.field("accepted", acceptedRegions.map { $0.contains(region.identifier) })
        json.field("state", states[region.identifier])
        if case .circle(let center, let radius) = region.outline {
          json.field("latitude", center.latitude, decimals: 7)
          json.field("longitude", center.longitude, decimals: 7)
          json.field("radius", radius, decimals: 1)
        }
      }
    }
    json.closeObject()
  }
}
