package import Fleet
package import FleetProgram
internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry
internal import VehicleData

/// A row of the table for one vehicle.
package struct VehicleRow: Sendable {
  /// The seconds after which a periodic value is shown as outdated.
  private static let fadesAfter = 10.0

  package let record: VehicleRecord
  package let now: Moment
  /// True if several fleets are shown, so that names include the fleet.
  var namesFleet = false

  private static let absent = StyledText("–", style: .dim)

  /// Returns the text of a column.
  ///
  /// - Parameter width: the available width; the caller cuts longer texts.
  package func text(_ column: WatchColumn, width: Int) -> StyledText {
    switch column {
    case .vehicle: StyledText(Self.name(record.key, withFleet: namesFleet), style: .bold)
    case .state: Self.state(record.state)
    case .age: age
    case .position: position
    case .within: within
    case .speed: moving(record.location?.message.location.speed.map(QuantityText.speed))
    case .course: moving(record.location?.message.location.course.map(QuantityText.direction))
    case .heading: heading
    case .attitude: attitude
    case .region: region
    case .battery: told(battery)
    case .backlog: told(record.backlog.map(QuantityText.count))
    case .temperature:
      told(
        record.status?.message.device?.temperature.flatMap { QuantityText.fixed($0, decimals: 0) }.map {
          "\($0) °C"
        })
    case .energy: told((record.status?.message.energy?.total).map(QuantityText.energy))
    case .version: told(record.status?.message.version)
    case .event: event(width: width)
    }
  }

  /// Returns a value of the last status, dimmed if it is retained.
  private func told(_ text: String?) -> StyledText {
    guard let text else { return Self.absent }
    return StyledText(text, style: record.status?.isRetained == true ? .dim : .plain)
  }

  private var battery: String? {
    guard let battery = record.status?.message.device?.battery else { return nil }
    let level = battery.level.flatMap { QuantityText.fixed($0 * 100, decimals: 0) }.map { "\($0) %" }
    let volts = battery.voltage.flatMap { QuantityText.fixed($0, decimals: 1) }.map { "\($0) V" }
    return (level ?? volts).map { $0 + (battery.isCharging == true ? " +" : "") }
  }

  /// The regions that the vehicle is in; nothing for a vehicle that has no regions, or that does not publish their states.
  private var region: StyledText {
    let style: TextStyle = record.state == .offline ? .dim : .plain
    guard record.insideRegions.isEmpty else {
      return StyledText(record.insideRegions.joined(separator: ", "), style: style)
    }
    let states = record.regionStates?.regions
    guard let states, !states.isEmpty, !states.contains(where: { $0.state == .unknown }) else {
      return Self.absent
    }
    return StyledText("outside", style: .dim)
  }

  package static func name(_ key: VehicleKey, withFleet: Bool) -> String {
    withFleet ? key.description : key.vehicle
  }

  /// Returns the width of `name(_:withFleet:)` in columns.
  static func nameWidth(_ key: VehicleKey, withFleet: Bool) -> Int {
    StyledText.width(of: key.vehicle) + (withFleet ? StyledText.width(of: key.fleet) + 1 : 0)
  }

  /// Each state has its own sign, so that it is visible without colours.
  package static func state(_ state: VehicleState) -> StyledText {
    let (sign, style): (String, TextStyle) =
      switch state {
      case .online: ("●", TextStyle(.green))
      case .asleep: ("◐", TextStyle(.blue))
      case .offline: ("○", TextStyle(.red))
      case .unknown: ("·", .dim)
      }
    var text = StyledText(sign, style: style)
    text.append(" \(state.rawValue)", style: state == .online ? .plain : style)
    return text
  }

  private var age: StyledText {
    guard let age = record.age(at: now) else { return Self.absent }
    let style: TextStyle = record.lastHeard == nil || record.state == .offline ? .dim : .plain
    return StyledText(QuantityText.age(age), style: style)
  }

  /// A position that is only the last known one, or from radio beacons, has a tilde; a suspect one has a
  /// question mark.
  private var position: StyledText {
    guard let location = record.location?.message.location else { return Self.absent }
    if let predicted { return StyledText(QuantityText.position(predicted.coordinate)) }
    let text = QuantityText.position(location.coordinate)
    if location.suspicion != nil { return StyledText("?" + text, style: TextStyle(.yellow)) }
    let isCertain = !record.isLocationStale(at: now) && location.positionSource != .coarse
    return isCertain ? StyledText(text) : StyledText("~" + text, style: .dim)
  }

  /// The radius that contains the vehicle: the accuracy of the last position, plus the bound of a predicted
  /// position, with a tilde if its guarantee has expired. A position that is only the last known one has its
  /// age instead.
  private var within: StyledText {
    if let predicted {
      guard let radius = predicted.radius else { return Self.absent }
      let text = QuantityText.distance(radius)
      return predicted.isPromised ? StyledText(text) : StyledText("~" + text, style: .dim)
    }
    if let location = record.location, record.isLocationStale(at: now) {
      let age = location.age(at: now, time: location.message.time)
      return StyledText("~" + QuantityText.age(age), style: .dim)
    }
    guard let accuracy = record.location?.message.location.horizontalAccuracy else { return Self.absent }
    return StyledText(QuantityText.distance(accuracy), style: .dim)
  }

  private var predicted: PredictedPosition? { record.predictedPosition(at: now) }

  /// Returns speed or course; outdated and suspect values are omitted.
  private func moving(_ text: String?) -> StyledText {
    guard let text, record.isMotionCurrent(at: now) else { return Self.absent }
    return StyledText(text)
  }

  private var heading: StyledText {
    guard let heading = record.heading, record.state != .offline, !heading.isRetained else {
      return Self.absent
    }
    let degrees = heading.message.trueHeading ?? heading.message.magneticHeading
    return StyledText(QuantityText.direction(degrees), style: fading(since: heading.receivedAt))
  }

  private var attitude: StyledText {
    guard let attitude = record.attitude, record.state != .offline,
      let text = QuantityText.attitude(attitude.message)
    else { return Self.absent }
    return StyledText(text, style: fading(since: attitude.receivedAt))
  }

  /// Returns the last event, with its age if there is space.
  private func event(width: Int) -> StyledText {
    guard let event = record.event else { return Self.absent }
    let text = StyledText(event.message.summary)
    guard !event.isRetained else { return text }
    var dated = text
    dated.append(" \(QuantityText.age(max(0, now.seconds(since: event.receivedAt))))", style: .dim)
    return dated.width <= width ? dated : text
  }

  private func fading(since moment: Moment) -> TextStyle {
    now.seconds(since: moment) > Self.fadesAfter ? .dim : .plain
  }
}

extension VehicleRecord {
  /// True if speed and course of the last position are current: it is neither only the last known one nor
  /// suspect.
  func isMotionCurrent(at now: Moment) -> Bool {
    !isLocationStale(at: now) && location?.message.location.suspicion == nil
  }

  /// Returns the state of the vehicle as a JSON object. `stale` marks a position that is only the last known
  /// one.
  package func json(at now: Moment) -> [UInt8] {
    JSONWriter.object { json in
      json.field("fleet", key.fleet)
      json.field("vehicle", key.vehicle)
      json.field("state", state.rawValue)
      json.field("age", age(at: now), decimals: 1)
      json.field("messages", messageCount)
      json.field("missing", missing)
      json.field("unreadable", unreadable)
      json.field("clockLead", clockLead, decimals: 0)
      json.field("clockLag", clockLag, decimals: 0)
      if let location = location?.message.location, let shown = shownPosition(at: now) {
        json.field("latitude", shown.coordinate.latitude, decimals: 7)
        json.field("longitude", shown.coordinate.longitude, decimals: 7)
        json.field("bound", shown.bound, decimals: 1)
        if shown.bound != nil { json.field("promised", shown.isPromised) }
        json.field("radius", shown.radius, decimals: 1)
        json.field("stale", isLocationStale(at: now))
        json.field("time", self.location?.message.time.rfc3339)
        json.field("horizontalAccuracy", location.horizontalAccuracy, decimals: 2)
        json.field("positionSource", location.positionSource?.rawValue)
        json.field("suspect", location.suspicion?.reason.rawValue)
        if location.contradictsBeacons { json.field("contradictsBeacons", true) }
        json.field("altitude", location.altitude, decimals: 1)
        json.field("speed", location.speed, decimals: 2)
        json.field("course", location.course, decimals: 1)
      }
      if let heading = heading?.message {
        json.field("heading", heading.trueHeading ?? heading.magneticHeading, decimals: 1)
      }
      json.field("calibration", compass?.calibration?.name)
      if compass?.isCalibrationWanted == true { json.field("calibrationWanted", true) }
      if let attitude = attitude?.message, let tilt = attitude.tilt {
        json.field("roll", tilt.roll, decimals: 4)
        json.field("pitch", tilt.pitch, decimals: 4)
        json.field("yaw", attitude.angles?.yaw, decimals: 4)
      }
      if !insideRegions.isEmpty { json.field("regions", texts: insideRegions) }
      if let status = status?.message {
        json.field("battery", status.device?.battery?.level, decimals: 3)
        json.field("voltage", status.device?.battery?.voltage, decimals: 3)
        json.field("charging", status.device?.battery?.isCharging)
        json.field("backlog", backlog)
        json.field("temperature", status.device?.temperature, decimals: 1)
        json.field("energy", status.energy?.total, decimals: 1)
        json.field("version", status.version)
      }
      if let trip = trip?.message {
        json.field("trip") { json in
          json.field("number", trip.trip.number)
          json.field("phase", trip.phase.rawValue)
          json.field("kind", trip.kind.name)
          json.field("start", trip.start.time.rfc3339)
          json.field("end", trip.end.time.rfc3339)
          json.field("distance", trip.distance, decimals: 1)
          json.field("driver", trip.driver)
          json.field("purpose", trip.purpose)
        }
      }
      if let driving = drivingEvent?.message {
        json.field("drivingEvent") { json in
          json.field("event", driving.event.name)
          json.field("time", driving.time.rfc3339)
          json.field("severity", driving.severity.rawValue)
          json.field("ongoing", driving.isOngoing)
        }
      }
      json.field("event", event?.message.summary)
    }
  }
}
