internal import Fleet
package import FleetProgram
internal import Glibc
internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry
internal import VehicleData

/// The details of sensors and vehicle signals.
extension DetailPane {
  package var compass: [StyledText] {
    guard record.state != .offline, let compass = record.compass else { return [] }
    var parts: [StyledText] = []
    if let field = compass.magneticField {
      parts.append(StyledText("\(QuantityText.fixed(field.length, decimals: 1) ?? "–") µT"))
    }
    if let level = compass.calibration { parts.append(StyledText("calibration \(level.name)")) }
    guard compass.isCalibrationWanted else { return parts }
    let wanted = "calibration wanted" + (compass.instruction.map { ": \($0)" } ?? "")
    return parts + [StyledText(wanted, style: TextStyle(.yellow))]
  }

  var movement: [String] {
    guard let location = record.location?.message.location, record.isMotionCurrent(at: now) else {
      return []
    }
    var parts: [String] = []
    if let speed = location.speed { parts.append(QuantityText.speed(speed)) }
    if let course = location.course { parts.append("course \(QuantityText.direction(course))") }
    if let heading { parts.append("heading \(QuantityText.direction(heading))") }
    return parts
  }

  /// The first 12 vehicle signals, each named by the last two parts of its path.
  package var bus: [StyledText] {
    guard let received = record.signals else { return [] }
    let isPast = received.isRetained || record.state == .offline
    return received.message.signals.prefix(12).map { signal in
      let name = signal.path.split(separator: ".").suffix(2).joined(separator: ".")
      let value =
        switch signal.value {
        case .number(let number): QuantityText.fixed(number, decimals: abs(number) < 100 ? 1 : 0) ?? "–"
        case .flag(let flag): flag ? "yes" : "no"
        case .text(let text): text
        }
      return StyledText("\(name) \(value)", style: isPast ? .dim : .plain)
    }
  }

  package var attitude: [String] {
    guard let attitude = record.attitude, record.state != .offline else { return [] }
    func degrees(_ radians: Double) -> String {
      (QuantityText.fixed(radians.degrees, decimals: 1) ?? "–") + "°"
    }
    guard let tilt = attitude.message.tilt else { return [] }
    return ["roll \(degrees(tilt.roll))", "pitch \(degrees(tilt.pitch))"]
      + (attitude.message.angles.map { ["yaw \(degrees($0.yaw))"] } ?? [])
  }

  /// The state of the vehicle's navigation, and the reason if it is incomplete.
  package var navigation: [StyledText] {
    guard record.state != .offline, let report = NavigationReport(json: status?["navigation"]) else {
      return []
    }
    func degrees(_ value: Double) -> String { (QuantityText.fixed(value, decimals: 1) ?? "–") + "°" }
    switch report.state {
    case .waiting: return [StyledText("waiting"), StyledText(report.reason ?? "", style: .dim)]
    case .aligning: return [StyledText("determining the mounting of the device")]
    case .aligned:
      let vehicle = report.vehicle.flatMap { $0 == "wheeled" ? nil : " (\($0))" }
      var parts = [StyledText("aligned\(vehicle ?? "")")]
      if let mounting = report.mountingAccuracy { parts.append(StyledText("mounting ±\(degrees(mounting))")) }
      if let heading = report.heading {
        let accuracy = report.headingAccuracy.map { " ±\(degrees($0))" } ?? ""
        parts.append(StyledText("front \(QuantityText.direction(heading))\(accuracy)"))
      }
      if report.positionSource == .inertial, let age = report.sinceFix {
        let text = "no receiver for \(QuantityText.age(age))"
        parts.append(StyledText(text, style: TextStyle(.yellow)))
      }
      return parts
    }
  }

  /// The floor, from the newer of the altitude message and the location, because a vehicle in a garage
  /// reports no locations. Then the altitude.
  package var height: [String] {
    let (altitude, location) = (record.altitude?.message, record.location?.message)
    let isLocationNewer = location.map { $0.time > (altitude?.time ?? $0.time) } ?? false
    var parts: [String] = []
    if let floor = isLocationNewer || altitude == nil ? location?.location.floor : altitude?.floor {
      let percent = QuantityText.fixed(floor.confidence * 100, decimals: 0) ?? "–"
      parts.append("level \(floor.level) (\(percent) %), relative to the last position with GNSS reception")
    }
    if let altitude, let meters = altitude.altitude, let accuracy = altitude.accuracy {
      let digits = (QuantityText.fixed(meters, decimals: 1), QuantityText.fixed(accuracy, decimals: 1))
      parts.append("alt \(digits.0 ?? "–") ±\(digits.1 ?? "–") m")
    }
    if let altitude { parts.append("\(QuantityText.fixed(altitude.pressure / 100, decimals: 1) ?? "–") hPa") }
    return parts
  }
}
