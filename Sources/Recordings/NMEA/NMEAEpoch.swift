internal import Sensors
internal import Spatial

/// What the sentences of one moment say together.
///
/// A receiver speaks several sentences about one fix; those with the same time of day belong together, and those
/// without a time (GSA, GSV, VTG) to the ones around them.
struct NMEAEpoch {
  /// Nanoseconds since midnight; nil while the receiver has no time.
  private(set) var timeOfDay: Int64?
  /// Midnight of the date, from RMC or ZDA.
  private(set) var date: UTCTime?
  /// How many satellites are in view, by talker.
  private(set) var satellitesVisible: [String: Int] = [:]

  private var typesSeen: Set<String> = []
  private var hasFix: Bool?
  private var solutionMode: Int?
  private var coordinate: Coordinate?
  private var decimals = -1
  private var altitudeMeanSeaLevel: Double?
  private var geoidSeparation: Double?
  private var speed: Double?
  private var course: Double?
  private var horizontalDilution: Double?
  private var satellitesUsed: Int?
  private var quality: FixQuality?

  private static let positioning: Set<String> = ["RMC", "GGA", "GNS", "GLL"]
  private static let metresPerSecondPerKnot = 1852.0 / 3600

  /// Whether the sentence belongs to a later moment than those taken in.
  func isEnded(by sentence: NMEASentence) -> Bool {
    let time: Int64?
    switch sentence.type {
    case "RMC", "GGA", "GNS", "ZDA": time = sentence.timeOfDay(1)
    case "GLL": time = sentence.timeOfDay(5)
    default: return false
    }
    if let time, let timeOfDay { return time != timeOfDay }
    // Without a time to tell moments apart, a receiver that repeats itself has gone on to the next.
    return typesSeen.contains(sentence.type)
  }

  /// Whether anything was said about a position, be it that there is none.
  var speaksOfPosition: Bool { !typesSeen.isDisjoint(with: Self.positioning) }

  /// Takes in a sentence; kinds that say nothing about a position are passed over.
  mutating func take(_ sentence: NMEASentence) {
    switch sentence.type {
    case "RMC": takeRMC(sentence)
    case "GGA": takeGGA(sentence)
    case "GNS": takeGNS(sentence)
    case "GLL": takeGLL(sentence)
    case "GSA": takeGSA(sentence)
    case "VTG": takeVTG(sentence)
    case "ZDA": takeZDA(sentence)
    case "GSV": if let count = sentence.integer(3) { satellitesVisible[sentence.talker] = count }
    default: return
    }
    typesSeen.insert(sentence.type)
  }

  /// The report of this moment, without its time.
  func fix(at timestamp: Timestamp) -> PositionFix {
    var fix = PositionFix(timestamp: timestamp)
    guard let coordinate, hasFix == true else {
      fix.mode = hasFix == nil ? nil : .noFix
      fix.satellitesUsed = satellitesUsed
      return fix
    }
    let isThreeDimensional = solutionMode.map { $0 >= 3 } ?? (altitudeMeanSeaLevel != nil)
    fix.mode = isThreeDimensional ? .threeDimensional : .twoDimensional
    fix.coordinate = coordinate
    fix.altitudeMeanSeaLevel = altitudeMeanSeaLevel
    if let altitudeMeanSeaLevel, let geoidSeparation {
      fix.altitudeEllipsoidal = altitudeMeanSeaLevel + geoidSeparation
    }
    fix.speed = speed
    fix.course = course
    fix.horizontalDilution = horizontalDilution
    fix.satellitesUsed = satellitesUsed
    fix.quality = quality
    return fix
  }

  private mutating func takeRMC(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    date = sentence.date(9) ?? date
    // Field 12 came with NMEA 2.3; "not valid" there outweighs an A in field 2.
    note(fix: sentence.letter(2) == UInt8(ascii: "A") && sentence.letter(12) != UInt8(ascii: "N"))
    note(sentence.coordinate(3))
    quality = quality ?? sentence.letter(12).flatMap(FixQuality.init(nmeaMode:))
    speed = sentence.number(7).map { $0 * Self.metresPerSecondPerKnot } ?? speed
    course = sentence.number(8).map(normalizedDegrees) ?? course
  }

  private mutating func takeGGA(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    note(sentence.coordinate(2))
    note(fix: (sentence.integer(6) ?? 0) > 0)
    // GGA is the more exact of the two: older receivers say no more than A, D or E in RMC.
    quality = sentence.integer(6).flatMap(FixQuality.init(nmeaIndicator:)) ?? quality
    satellitesUsed = sentence.integer(7) ?? satellitesUsed
    horizontalDilution = sentence.number(8) ?? horizontalDilution
    altitudeMeanSeaLevel = sentence.number(9) ?? altitudeMeanSeaLevel
    geoidSeparation = sentence.number(11) ?? geoidSeparation
  }

  private mutating func takeGNS(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    note(sentence.coordinate(2))
    // One letter for each satellite system; an old receiver speaks one GNS for each system instead, and those
    // of systems that are not used say N, which is no word against the others.
    if let modes = sentence[6], modes.contains(where: { $0 != UInt8(ascii: "N") }) {
      note(fix: true)
    } else if hasFix == nil {
      hasFix = false
    }
    satellitesUsed = satellitesUsed ?? sentence.integer(7)
    horizontalDilution = horizontalDilution ?? sentence.number(8)
    altitudeMeanSeaLevel = altitudeMeanSeaLevel ?? sentence.number(9)
    geoidSeparation = geoidSeparation ?? sentence.number(10)
  }

  private mutating func takeGLL(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(5)
    note(fix: sentence.letter(6) == UInt8(ascii: "A") && sentence.letter(7) != UInt8(ascii: "N"))
    note(sentence.coordinate(1))
  }

  private mutating func takeGSA(_ sentence: NMEASentence) {
    if let mode = sentence.integer(2), (2...3).contains(mode) { solutionMode = max(solutionMode ?? 0, mode) }
    horizontalDilution = horizontalDilution ?? sentence.number(16)
  }

  private mutating func takeVTG(_ sentence: NMEASentence) {
    guard sentence.letter(9) != UInt8(ascii: "N") else { return }
    course = course ?? sentence.number(1).map(normalizedDegrees)
    speed =
      speed ?? sentence.number(5).map { $0 * Self.metresPerSecondPerKnot }
      ?? sentence.number(7).map { $0 / 3.6 }
  }

  private mutating func takeZDA(_ sentence: NMEASentence) {
    timeOfDay = timeOfDay ?? sentence.timeOfDay(1)
    guard let day = sentence.integer(2), let month = sentence.integer(3), let year = sentence.integer(4)
    else {
      return
    }
    date = UTCTime(year: year, month: month, day: day) ?? date
  }

  /// One sentence that says there is no fix outweighs the others: a receiver that has just lost it goes on
  /// repeating the old position in some of them.
  private mutating func note(fix: Bool) { hasFix = fix && hasFix != false }

  /// The sentence with the most decimals gives the position: many receivers shorten it in RMC.
  private mutating func note(_ position: (coordinate: Coordinate, decimals: Int)?) {
    guard let position, position.decimals > decimals else { return }
    (coordinate, decimals) = position
  }
}

extension FixQuality {
  /// The quality indicator of GGA.
  fileprivate init?(nmeaIndicator indicator: Int) {
    switch indicator {
    // 3 is the encrypted signal, which is no more exact today.
    case 1, 3: self = .autonomous
    case 2: self = .differential
    case 4: self = .realTimeKinematicFixed
    case 5: self = .realTimeKinematicFloat
    case 6: self = .deadReckoning
    case 7, 8: self = .notMeasured
    default: return nil
    }
  }

  /// The mode letter of RMC.
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
