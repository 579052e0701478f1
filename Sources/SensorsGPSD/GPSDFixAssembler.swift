internal import Sensors
internal import Spatial

/// Makes a `PositionFix` of each TPV, with the satellites of the receiver's last SKY.
struct GPSDFixAssembler: Sendable {
  /// How long a SKY holds, ns; receivers give one at least every few seconds.
  private static let skyLifetime: Int64 = 10_000_000_000
  /// gpsd has room for four devices; a stranger that names ever new ones must not fill the memory.
  private static let mostDevices = 16

  private var skies: [String: (sky: GPSDSky, timestamp: Timestamp)] = [:]
  private var guesses: [String: DilutionGuess] = [:]

  /// Takes what is said of the sky. What this report leaves out (some receivers' dilutions and satellites come
  /// apart) stays as it was.
  mutating func take(_ sky: GPSDSky, at timestamp: Timestamp) {
    let device = sky.device ?? ""
    var merged = current(device, at: timestamp) ?? GPSDSky()
    merged.satellitesUsed = sky.satellitesUsed ?? merged.satellitesUsed
    merged.satellitesVisible = sky.satellitesVisible ?? merged.satellitesVisible
    merged.horizontalDilution = sky.horizontalDilution ?? merged.horizontalDilution
    if skies[device] == nil, skies.count >= Self.mostDevices { skies.removeAll() }
    skies[device] = (merged, timestamp)
  }

  /// The report as the rest of the program knows it. Without a fix it has neither position nor motion.
  mutating func fix(_ report: GPSDFix, at timestamp: Timestamp) -> PositionFix {
    var fix = PositionFix(timestamp: timestamp, time: report.time, mode: report.mode.flatMap(FixMode.init))
    fix.receiver = report.device
    let sky = current(report.device ?? "", at: timestamp)
    if guesses.count > Self.mostDevices { guesses.removeAll() }
    fix.satellitesUsed = sky?.satellitesUsed
    fix.satellitesVisible = sky?.satellitesVisible
    guard let mode = fix.mode, mode != .noFix else { return fix }
    if let latitude = report.latitude, let longitude = report.longitude {
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
      fix.coordinate = coordinate.isValid ? coordinate : nil
    }
    fix.altitudeEllipsoidal = report.altitudeEllipsoidal
    fix.altitudeMeanSeaLevel = report.altitudeMeanSeaLevel
    fix.speed = nonNegative(report.speed)
    fix.course = report.track.map(normalizedDegrees)
    fix.climb = report.climb
    fix.quality = FixQuality(gpsdStatus: report.status)
    fix.horizontalError = nonNegative(report.eph)
    fix.verticalError = nonNegative(report.epv)
    fix.speedError = nonNegative(report.eps)
    fix.courseError = nonNegative(report.epd)
    fix.horizontalDilution = nonNegative(sky?.horizontalDilution)
    if let dilution = guesses[report.device ?? "", default: DilutionGuess()].dilution(
      behind: report.eph, isDifferential: fix.quality == .differential, hdop: sky?.horizontalDilution)
    {
      fix.isHorizontalErrorFromDilution = true
      fix.horizontalDilution = dilution
    }
    return fix
  }

  private func current(_ device: String, at timestamp: Timestamp) -> GPSDSky? {
    guard let (sky, since) = skies[device],
      timestamp.nanoseconds &- since.nanoseconds <= Self.skyLifetime
    else { return nil }
    return sky
  }

  private func nonNegative(_ value: Double?) -> Double? { value.flatMap { $0 >= 0 ? $0 : nil } }
}

extension FixQuality {
  fileprivate init?(gpsdStatus status: Int?) {
    switch status {
    case 1, 9: self = .autonomous
    case 2: self = .differential
    case 3: self = .realTimeKinematicFixed
    case 4: self = .realTimeKinematicFloat
    case 5, 6: self = .deadReckoning
    case 7, 8: self = .notMeasured
    default: return nil
    }
  }
}
