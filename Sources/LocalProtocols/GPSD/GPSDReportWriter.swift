internal import JSON
internal import Sensors
internal import Spatial
internal import VehicleData

/// Writes the reports of gpsd's protocol 3.14 (gpsd 3.22), `class` first and without blanks, because libgps
/// compares these bytes.
///
/// gpsd documents its error estimates as "guessed to be 95 % confidence", so all have 95 % here: `eph` is
/// the radius that contains the true position, the others are intervals of one axis.
struct GPSDReportWriter: Hashable {
  /// gpsd's name of the device.
  let device: String

  /// Writes a time, position and velocity (TPV).
  func writePosition(_ report: LocalReport, to json: inout JSONWriter) {
    json.field("class", "TPV")
    json.field("device", device)
    guard let location = report.location, location.coordinate.isValid else {
      json.field("mode", FixMode.noFix.rawValue)
      json.field("time", report.time?.rfc3339)
      return
    }
    json.field("status", status(of: location, report))
    let (mean, ellipsoidal) = (location.altitude?.ifFinite, location.ellipsoidalAltitude?.ifFinite)
    let mode = mean == nil && ellipsoidal == nil ? FixMode.twoDimensional : .threeDimensional
    json.field("mode", mode.rawValue)
    json.field("time", (location.time ?? report.time)?.rfc3339)
    json.field("lat", location.coordinate.latitude, decimals: 9)
    json.field("lon", location.coordinate.longitude, decimals: 9)
    json.field("altHAE", ellipsoidal, decimals: 4)
    json.field("altMSL", mean, decimals: 4)
    // The name until gpsd 3.20.
    json.field("alt", mean ?? ellipsoidal, decimals: 4)
    let radius = location.horizontalAccuracy?.ifMagnitude
    let axis = radius.map { ErrorRadius.wide(deviation: ErrorRadius.deviation(radius: $0)) }
    json.field("epx", axis, decimals: 3)
    json.field("epy", axis, decimals: 3)
    let vertical = location.verticalAccuracy?.ifMagnitude.map(ErrorRadius.wide(deviation:))
    json.field("epv", vertical, decimals: 3)
    json.field("track", location.course?.ifFinite.map(normalizedDegrees), decimals: 4)
    json.field("speed", location.speed?.ifMagnitude, decimals: 3)
    json.field("eps", location.speedAccuracy?.ifMagnitude.map(ErrorRadius.wide(deviation:)), decimals: 3)
    json.field("epd", location.courseAccuracy?.ifMagnitude.map(ErrorRadius.wide(deviation:)), decimals: 3)
    if let mean, let ellipsoidal { json.field("geoidSep", ellipsoidal - mean, decimals: 3) }
    let horizontal = radius.map(ErrorRadius.wide(radius:))
    json.field("eph", horizontal, decimals: 3)
    if let horizontal, let vertical {
      json.field("sep", (horizontal * horizontal + vertical * vertical).squareRoot(), decimals: 3)
    }
  }

  /// Writes a TPV with two members of Swift clients: the time since boot in ns, and the origin of the position.
  func writeFused(_ report: LocalReport, to json: inout JSONWriter) {
    writePosition(report, to: &json)
    guard let location = report.location else { return }
    json.field("clock", location.timestamp.nanoseconds)
    json.field("source", location.positionSource?.rawValue)
  }

  /// Writes the orientation (ATT).
  func writeAttitude(_ attitude: LocalAttitude, at time: UTCTime?, to json: inout JSONWriter) {
    json.field("class", "ATT")
    json.field("device", device)
    json.field("time", time?.rfc3339)
    json.field("heading", attitude.trueHeading?.ifFinite.map(normalizedDegrees), decimals: 3)
    json.field("pitch", attitude.pitch, decimals: 3)
    json.field("roll", attitude.roll, decimals: 3)
  }

  /// Writes the satellites and the dilutions (SKY). Without a list of the receiver, the report has the numbers of
  /// satellites only.
  func writeSky(_ receiver: LocalReceiver, at time: UTCTime?, to json: inout JSONWriter) {
    json.field("class", "SKY")
    json.field("device", device)
    json.field("time", time?.rfc3339)
    let dilution = receiver.sky?.dilution
    json.field("xdop", dilution?.longitude?.ifMagnitude, decimals: 2)
    json.field("ydop", dilution?.latitude?.ifMagnitude, decimals: 2)
    json.field("vdop", dilution?.vertical?.ifMagnitude, decimals: 2)
    json.field("tdop", dilution?.time?.ifMagnitude, decimals: 2)
    json.field("hdop", receiver.horizontalDilution?.ifMagnitude, decimals: 2)
    json.field("gdop", dilution?.geometric?.ifMagnitude, decimals: 2)
    json.field("pdop", dilution?.position?.ifMagnitude, decimals: 2)
    json.field("nSat", receiver.satellitesVisible)
    json.field("uSat", receiver.satellitesUsed)
    guard let satellites = receiver.sky?.satellites, !satellites.isEmpty else { return }
    json.key("satellites")
    json.openArray()
    for satellite in satellites.prefix(SatelliteSky.limit) { write(satellite, to: &json) }
    json.closeArray()
  }

  private func write(_ satellite: Satellite, to json: inout JSONWriter) {
    json.openObject()
    json.field("PRN", satellite.identifier)
    json.field("el", satellite.elevation?.ifFinite, decimals: 1)
    json.field("az", satellite.azimuth?.ifFinite, decimals: 1)
    json.field("ss", satellite.signal?.ifMagnitude, decimals: 1)
    json.field("used", satellite.isUsed)
    json.field("gnssid", satellite.system?.rawValue)
    json.field("svid", satellite.number)
    json.closeObject()
  }

  /// Writes the device. It is active if `since` is known.
  func writeDevice(since: UTCTime?, interval: Double, to json: inout JSONWriter) {
    json.field("class", "DEVICE")
    json.field("path", device)
    guard let since else { return }
    json.field("driver", "Odograph")
    json.field("activated", since.rfc3339)
    // The device sends positions (SEEN_GPS).
    json.field("flags", 1)
    json.field("native", 0)
    json.field("cycle", interval, decimals: 2)
  }

  /// The method of positioning as a number of gps.h: 2 differential, 3 and 4 real-time kinematic, 5 dead
  /// reckoning, 6 satellites and dead reckoning, 8 simulated; nil for satellites alone, which gpsd omits.
  private func status(of location: ShownLocation, _ report: LocalReport) -> Int? {
    guard !report.isEstimated else { return 5 }
    switch report.receiver?.quality {
    case .differential: return 2
    case .realTimeKinematicFixed: return 3
    case .realTimeKinematicFloat: return 4
    case .notMeasured: return 8
    case .autonomous, .deadReckoning, nil: return location.positionSource == .fused ? 6 : nil
    }
  }
}
