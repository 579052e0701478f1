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

  /// Merges a report of the sky. What it leaves out (some receivers' dilutions and satellites come
  /// apart) stays as it was.
  mutating func update(_ sky: GPSDSky, at timestamp: Timestamp) {
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

/// Tells an error that a receiver stated from one that gpsd made up.
///
/// For receivers that state none, gpsd's `eph` is the horizontal dilution times a constant: 19 m, or 4.75 m for a
/// differential fix (`P_UERE_NO_DGPS` and `P_UERE_WITH_DGPS` of its libgpsd_core.c). The constant is the same for a
/// receiver of 1995 and for one with centimetres, so the dilution alone is taken, for a better model to judge.
struct DilutionGuess: Sendable {
  private static let constants = (plain: 19.0, differential: 4.75)
  /// Errors in a row that a stated one would not hit by chance: one in nineteen does, if it comes in centimetres.
  private static let needed = 4

  private var lastError: Double?
  private var hits = 0

  /// The dilution behind an error of gpsd; nil for one that the receiver stated, and while that is not clear.
  ///
  /// - Parameters:
  ///   - error: metres.
  ///   - hdop: the dilution that gpsd told of the sky; nil when it told none.
  mutating func dilution(behind error: Double?, isDifferential: Bool, hdop: Double?) -> Double? {
    guard let error, error > 0 else { return nil }
    let constant = isDifferential ? Self.constants.differential : Self.constants.plain
    if let hdop, hdop > 0 { return abs(error - constant * hdop) < 0.002 ? hdop : nil }
    // Receivers give a dilution in hundredths, and gpsd an error in millimetres.
    let hundredths = error / constant * 100
    guard hundredths >= 30, abs(hundredths - hundredths.rounded()) < 0.02 else {
      hits = 0
      lastError = error
      return nil
    }
    // Parked, the same dilution comes again and again, and proves nothing more.
    if error != lastError { hits = min(hits + 1, Self.needed) }
    lastError = error
    return hits >= Self.needed ? hundredths.rounded() / 100 : nil
  }
}
