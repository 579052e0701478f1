internal import Sensors
internal import Spatial

/// Creates a `PositionFix` from each position report of gpsd (TPV), with the satellites of the receiver's
/// last sky report (SKY).
struct GPSDFixAssembler: Sendable {
  /// Validity of a sky report in ns; receivers send one at least every few seconds.
  private static let skyLifetime: Int64 = 10_000_000_000
  /// Maximum number of devices, to limit memory; gpsd itself supports four.
  private static let mostDevices = 16

  private var skies: [String: (sky: GPSDSky, timestamp: Timestamp)] = [:]
  private var guesses: [String: DilutionGuess] = [:]
  private var speeds: [String: DerivedSpeed] = [:]

  /// Updates the receiver's sky. Values that a report lacks are unchanged, because some receivers send
  /// dilutions and satellites separately.
  mutating func update(_ sky: GPSDSky, at timestamp: Timestamp) {
    let device = sky.device ?? ""
    var merged = current(device, at: timestamp) ?? GPSDSky()
    merged.satellitesUsed = sky.satellitesUsed ?? merged.satellitesUsed
    merged.satellitesVisible = sky.satellitesVisible ?? merged.satellitesVisible
    merged.horizontalDilution = sky.horizontalDilution ?? merged.horizontalDilution
    merged.satellites = sky.satellites ?? merged.satellites
    merged.dilution = sky.dilution ?? merged.dilution
    if skies[device] == nil, skies.count >= Self.mostDevices { skies.removeAll() }
    skies[device] = (merged, timestamp)
  }

  /// Returns the report as a `PositionFix`. If the receiver has no fix, the result has neither position nor
  /// motion.
  mutating func fix(_ report: GPSDFix, at timestamp: Timestamp) -> PositionFix {
    var fix = PositionFix(timestamp: timestamp, time: report.time, mode: report.mode.flatMap(FixMode.init))
    fix.receiver = report.device
    let sky = current(report.device ?? "", at: timestamp)
    if guesses.count > Self.mostDevices { guesses.removeAll() }
    if speeds.count > Self.mostDevices { speeds.removeAll() }
    fix.satellitesUsed = sky?.satellitesUsed
    fix.satellitesVisible = sky?.satellitesVisible
    if sky?.satellites != nil || sky?.dilution != nil {
      fix.sky = SatelliteSky(
        satellites: sky?.satellites ?? [], dilution: sky?.dilution ?? DilutionOfPrecision())
    }
    guard let mode = fix.mode, mode != .noFix else { return fix }
    if let latitude = report.latitude, let longitude = report.longitude {
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
      fix.coordinate = coordinate.isValid ? coordinate : nil
    }
    fix.altitudeEllipsoidal = report.altitudeEllipsoidal
    fix.altitudeMeanSeaLevel = report.altitudeMeanSeaLevel
    let isDerived = speeds[report.device ?? "", default: DerivedSpeed()].isDerived(report)
    fix.speed = isDerived ? nil : nonNegative(report.speed)
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

/// Distinguishes horizontal errors reported by a receiver from those estimated by gpsd.
///
/// If a receiver reports no error, gpsd's `eph` is the horizontal dilution times a constant: 19 m, or 4.75 m
/// for a differential fix (`P_UERE_NO_DGPS` and `P_UERE_WITH_DGPS` of its libgpsd_core.c). The constant is
/// the same for a receiver of 1995 and for one accurate to centimetres. Such an error is therefore converted
/// back to the dilution, from which a better error model is computed elsewhere.
struct DilutionGuess: Sendable {
  private static let constants = (plain: 19.0, differential: 4.75)
  /// Number of consecutive different errors that must equal a dilution times the constant before they count
  /// as estimated by gpsd. Of errors reported in whole centimetres, one in nineteen matches by chance.
  private static let needed = 4

  private var lastError: Double?
  private var hits = 0

  /// Returns the dilution from which gpsd estimated an error; nil for an error reported by the receiver, and
  /// until there is enough evidence.
  ///
  /// - Parameters:
  ///   - error: horizontal error in m; nil if gpsd reported none.
  ///   - isDifferential: true for a differential fix.
  ///   - hdop: horizontal dilution in gpsd's sky report; nil if it has none.
  mutating func dilution(behind error: Double?, isDifferential: Bool, hdop: Double?) -> Double? {
    guard let error, error > 0 else { return nil }
    let constant = isDifferential ? Self.constants.differential : Self.constants.plain
    if let hdop, hdop > 0 { return abs(error - constant * hdop) < 0.002 ? hdop : nil }
    // Receivers report dilutions in hundredths and gpsd errors in millimetres. An error that gpsd estimated
    // is therefore almost a whole number of hundredths times the constant.
    let hundredths = error / constant * 100
    guard hundredths >= 30, abs(hundredths - hundredths.rounded()) < 0.02 else {
      hits = 0
      lastError = error
      return nil
    }
    // While the vehicle is parked, the same dilution is repeated. A repeated error is no further evidence.
    if error != lastError { hits = min(hits + 1, Self.needed) }
    lastError = error
    return hits >= Self.needed ? hundredths.rounded() / 100 : nil
  }
}

/// Distinguishes speeds measured by a receiver from those that gpsd derives from positions.
///
/// If an epoch has a position and no speed, as of a receiver that sends GGA and ZDA, gpsd divides the distance between two positions
/// by the time between them (`gpsd_error_model` of its libgpsd_core.c), and reports no course. The noise of the positions then
/// looks like a speed of metres per second at rest. Without that speed, odometer, trips and navigation use the positions and their
/// accuracy.
struct DerivedSpeed: Sendable {
  /// Number of consecutive derived speeds from which a speed of zero at an unchanged position counts as derived, too.
  private static let needed = 3
  /// Tolerance in m/s for the rounding of speeds to a thousandth, and relative tolerance for the formula of the distance.
  private static let (rounding, formula) = (0.002, 0.005)

  private struct Epoch: Sendable {
    var time: UTCTime
    var coordinate: Coordinate
  }

  /// The newest position, and the newest one with an earlier time.
  private var newest: Epoch?
  private var earlier: Epoch?
  private var hits = 0

  /// Processes a report, and returns whether gpsd derived its speed.
  mutating func isDerived(_ report: GPSDFix) -> Bool {
    if let time = report.time, let latitude = report.latitude, let longitude = report.longitude {
      // gpsd can report an epoch in several parts.
      if let newest, newest.time != time { earlier = newest.time < time ? newest : nil }
      newest = Epoch(time: time, coordinate: Coordinate(latitude: latitude, longitude: longitude))
    }
    guard report.track == nil, let speed = report.speed else {
      if report.track != nil { hits = 0 }
      return false
    }
    guard let newest, let earlier, report.time == newest.time else { return false }
    let motion =
      earlier.coordinate.distance(to: newest.coordinate) / newest.time.seconds(since: earlier.time)
    guard motion > Self.rounding || speed > Self.rounding else { return hits >= Self.needed }
    let isEqual = abs(speed - motion) <= Self.rounding + Self.formula * motion
    hits = isEqual ? hits + 1 : 0
    return isEqual
  }
}

/// Detects receivers that report positions and never a speed.
struct SpeedCheck: Sendable {
  /// Number of consecutive positions without a speed that show it. Some receivers report a speed only in some epochs.
  private static let needed = 20

  private var missing = 0

  /// The reason and the remedy for the operator; nil if the receiver reports speeds, or if that is unknown yet.
  var restriction: String? {
    missing < Self.needed
      ? nil
      : "the receiver reports positions without speed and course, which are available only while navigation is "
        + "aligned; configure it to send RMC or VTG sentences"
  }

  /// Processes a report of the chosen receiver.
  mutating func observe(_ fix: PositionFix) {
    if fix.speed != nil {
      missing = 0
    } else if fix.coordinate != nil {
      missing = min(missing + 1, Self.needed)
    }
  }
}
