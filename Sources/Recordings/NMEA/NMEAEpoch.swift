internal import Sensors
internal import Spatial

/// The combined content of sentences with the same time. A receiver sends several sentences about one fix.
/// Sentences with the same time of day belong together. Sentences without a time (GSA, GSV, VTG) belong to
/// the sentences around them.
struct NMEAEpoch {
  /// Nanoseconds since midnight; nil while the receiver has no time.
  private(set) var timeOfDay: Int64?
  /// Midnight of the date, from RMC or ZDA.
  private(set) var date: UTCTime?
  /// Number of satellites in view, by talker.
  private(set) var satellitesVisible: [String: Int] = [:]

  private var typesSeen: Set<String> = []
  private var hasFix: Bool?
  private var solutionMode: Int?
  private var decimals = -1
  private var geoidSeparation: Double?
  /// Position data; the timestamp is added later.
  private var parsed = PositionFix(timestamp: Timestamp(nanoseconds: 0))

  private static let positioning: Set<String> = ["RMC", "GGA", "GNS", "GLL"]
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// Returns whether a sentence belongs to a later time than the previous ones.
  func isEnded(by sentence: NMEASentence) -> Bool {
    let time: Int64?
    switch sentence.type {
    case "RMC", "GGA", "GNS", "ZDA": time = sentence.timeOfDay(1)
    case "GLL": time = sentence.timeOfDay(5)
    default: return false
    }
    if let time, let timeOfDay { return time != timeOfDay }
    // If the sentences have no times, a repeated sentence type indicates that a new epoch has begun.
    return typesSeen.contains(sentence.type)
  }

  /// True if a sentence reported a position or its absence.
  var hasPosition: Bool { !typesSeen.isDisjoint(with: Self.positioning) }

  /// Adds a sentence; types without position data are ignored.
  mutating func add(_ sentence: NMEASentence) {
    switch sentence.type {
    case "RMC": parseRMC(sentence)
    case "GGA": parseGGA(sentence)
    case "GNS": parseGNS(sentence)
    case "GLL": parseGLL(sentence)
    case "GSA": parseGSA(sentence)
    case "VTG": parseVTG(sentence)
    case "ZDA": parseZDA(sentence)
    case "GSV": if let count = sentence.integer(3) { satellitesVisible[sentence.talker] = count }
    default: return
    }
    typesSeen.insert(sentence.type)
  }

  /// Returns the report of this epoch, without its time.
  func fix(at timestamp: Timestamp) -> PositionFix {
    var fix = parsed
    fix.timestamp = timestamp
    guard parsed.coordinate != nil, hasFix == true else {
      fix = PositionFix(timestamp: timestamp, mode: hasFix == nil ? nil : .noFix)
      fix.satellitesUsed = parsed.satellitesUsed
      return fix
    }
    let isThreeDimensional = solutionMode.map { $0 >= 3 } ?? (parsed.altitudeMeanSeaLevel != nil)
    fix.mode = isThreeDimensional ? .threeDimensional : .twoDimensional
    if let altitude = parsed.altitudeMeanSeaLevel, let geoidSeparation {
      fix.altitudeEllipsoidal = altitude + geoidSeparation
    }
    return fix
  }

  private mutating func parseRMC(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    date = sentence.date(9) ?? date
    // Field 12 was added in NMEA 2.3; "not valid" there overrides an A in field 2.
    conclude(fix: sentence.letter(2) == UInt8(ascii: "A") && sentence.letter(12) != UInt8(ascii: "N"))
    keep(sentence.coordinate(3))
    parsed.quality = parsed.quality ?? sentence.letter(12).flatMap(FixQuality.init(nmeaMode:))
    parsed.speed = sentence.number(7).map { $0 * Self.metresPerSecondPerKnot } ?? parsed.speed
    parsed.course = sentence.number(8).map(normalizedDegrees) ?? parsed.course
  }

  private mutating func parseGGA(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    keep(sentence.coordinate(2))
    conclude(fix: (sentence.integer(6) ?? 0) > 0)
    // The quality in GGA is more exact than the mode in RMC, for which older receivers report only A, D or E.
    parsed.quality = sentence.integer(6).flatMap(FixQuality.init(nmeaIndicator:)) ?? parsed.quality
    parsed.satellitesUsed = sentence.integer(7) ?? parsed.satellitesUsed
    parsed.horizontalDilution = sentence.number(8) ?? parsed.horizontalDilution
    parsed.altitudeMeanSeaLevel = sentence.number(9) ?? parsed.altitudeMeanSeaLevel
    geoidSeparation = sentence.number(11) ?? geoidSeparation
  }

  private mutating func parseGNS(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    keep(sentence.coordinate(2))
    // The field contains one letter for each satellite system. Some old receivers send one GNS for each
    // system instead. The sentences of unused systems then contain N, which does not override the state from
    // the others.
    if let modes = sentence[6], modes.contains(where: { $0 != UInt8(ascii: "N") }) {
      conclude(fix: true)
    } else if hasFix == nil {
      hasFix = false
    }
    parsed.satellitesUsed = parsed.satellitesUsed ?? sentence.integer(7)
    parsed.horizontalDilution = parsed.horizontalDilution ?? sentence.number(8)
    parsed.altitudeMeanSeaLevel = parsed.altitudeMeanSeaLevel ?? sentence.number(9)
    geoidSeparation = geoidSeparation ?? sentence.number(10)
  }

  private mutating func parseGLL(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(5)
    conclude(fix: sentence.letter(6) == UInt8(ascii: "A") && sentence.letter(7) != UInt8(ascii: "N"))
    keep(sentence.coordinate(1))
  }

  private mutating func parseGSA(_ sentence: NMEASentence) {
    if let mode = sentence.integer(2), (2...3).contains(mode) { solutionMode = max(solutionMode ?? 0, mode) }
    parsed.horizontalDilution = parsed.horizontalDilution ?? sentence.number(16)
  }

  private mutating func parseVTG(_ sentence: NMEASentence) {
    guard sentence.letter(9) != UInt8(ascii: "N") else { return }
    parsed.course = parsed.course ?? sentence.number(1).map(normalizedDegrees)
    parsed.speed =
      parsed.speed ?? sentence.number(5).map { $0 * Self.metresPerSecondPerKnot }
      ?? sentence.number(7).map { $0 / 3.6 }
  }

  private mutating func parseZDA(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    guard let day = sentence.integer(2), let month = sentence.integer(3), let year = sentence.integer(4)
    else {
      return
    }
    date = UTCTime(year: year, month: month, day: day) ?? date
  }

  /// Updates the fix state. A single sentence that reports no fix overrides all other sentences of the epoch.
  /// A receiver that has just lost the fix repeats the old position in some of them.
  private mutating func conclude(fix: Bool) { hasFix = fix && hasFix != false }

  /// Stores the position with the most decimals, because many receivers shorten it in RMC.
  private mutating func keep(_ position: (coordinate: Coordinate, decimals: Int)?) {
    guard let position, position.decimals > decimals else { return }
    (parsed.coordinate, decimals) = position
  }
}

extension FixQuality {
  /// Converts the quality indicator of GGA; nil for an unknown indicator and without a fix.
  fileprivate init?(nmeaIndicator indicator: Int) {
    switch indicator {
    // 3 is the encrypted signal, which is no more accurate today.
    case 1, 3: self = .autonomous
    case 2: self = .differential
    case 4: self = .realTimeKinematicFixed
    case 5: self = .realTimeKinematicFloat
    case 6: self = .deadReckoning
    case 7, 8: self = .notMeasured
    default: return nil
    }
  }

  /// Converts the mode letter of RMC; nil for an unknown letter and without a fix.
  fileprivate init?(nmeaMode letter: UInt8) {
    switch letter {
    case UInt8(ascii: "A"), UInt8(ascii: "P"): self = .autonomous
    case UInt8(ascii: "D"): self = .differential
    case UInt8(ascii: "R"): self = .realTimeKinematicFixed
    case UInt8(ascii: "F"): self = .realTimeKinematicFloat
    case UInt8(ascii: "E"): self = .deadReckoning
    case UInt8(ascii: "M"), UInt8(ascii: "S"): self = .notMeasured
    default: return nil
    }
  }
}
