internal import Sensors
internal import Spatial
internal import VehicleData

/// A writer of NMEA 0183 sentences (version 4.10 with GSA and RMC as gpsd documents them).
///
/// The sentences of one epoch have the same time and a constant order, from which gpsd detects the end of an
/// epoch. gpsd treats a GGA with fewer than three satellites as one without a fix, also in dead reckoning.
/// RMC overrides it, so RMC follows GGA. ZDA is the last one, because every epoch has it, with a fix or
/// without.
///
/// In dead reckoning GGA has the quality 6 (estimated), and RMC and VTG have the mode E. The status of RMC
/// is A, as receivers with dead reckoning report it. The standard would require V, but then gpsd, GeoClue
/// and Qt discard the position.
package struct NMEAWriter: Hashable, Sendable {
  /// A type of sentence, in order of output.
  package enum Sentence: String, Hashable, Sendable, CaseIterable {
    /// Position, quality, altitude.
    case gga = "GGA"
    /// Dimensions of the fix, dilutions, and the satellites used; one sentence for each system of satellites.
    case gsa = "GSA"
    /// Satellites in view, four in a sentence; omitted if the receiver has not listed them.
    case gsv = "GSV"
    /// Course and speed.
    case vtg = "VTG"
    /// True heading; omitted if unknown.
    case hdt = "HDT"
    /// Magnetic heading with the declination; omitted if unknown.
    case hdg = "HDG"
    /// Rate of turn; omitted if unknown.
    case rot = "ROT"
    /// Heading, roll and pitch with their accuracies; omitted if roll or pitch is unknown.
    case pashr = "PASHR"
    /// Position, speed, course, date.
    case rmc = "RMC"
    /// Accuracy of the position.
    case gst = "GST"
    /// Time and date; omitted if unknown.
    case zda = "ZDA"

    /// True if the sentence contains the attitude.
    var isAttitude: Bool { [.hdt, .hdg, .rot, .pashr].contains(self) }
  }

  /// The source that the sentences name.
  package enum Talker: String, Hashable, Sendable, CaseIterable {
    /// Several satellite systems.
    case gnss = "GN"
    /// GPS, for programs that expect nothing else.
    case gps = "GP"
  }

  package var sentences: Set<Sentence>
  package var talker: Talker

  package init(sentences: Set<Sentence> = Set(Sentence.allCases), talker: Talker = .gnss) {
    self.sentences = sentences
    self.talker = talker
  }

  /// True if a selected sentence contains the attitude.
  package var usesAttitude: Bool { sentences.contains(where: \.isAttitude) }

  /// Appends the selected sentences of one epoch. Each has at most 82 characters with its end. The satellites of GSA and GSV
  /// are at most `SatelliteSky.limit`.
  package func encode(_ report: LocalReport, into bytes: inout [UInt8]) {
    let epoch = NMEAOutput(report)
    for sentence in Sentence.allCases where sentences.contains(sentence) {
      switch sentence {
      case .gsa: epoch.writeGSA(talker, into: &bytes)
      case .gsv: epoch.sky?.writeInView(into: &bytes)
      default:
        var line = NMEALine(talker: talker, sentence)
        guard epoch.write(sentence, &line) else { continue }
        line.finish(into: &bytes)
      }
    }
  }
}

/// The content of one epoch's sentences.
private struct NMEAOutput {
  private let report: LocalReport
  private let time: NMEATime?
  /// The location; nil if it is invalid.
  private let location: ShownLocation?
  /// The satellites of the fix; nil if unknown, and in dead reckoning.
  let sky: NMEASky?

  private static let knot = 1852.0 / 3600
  /// Error in m per unit of dilution, with 95 % confidence, from which gpsd computes an error that a
  /// receiver does not report.
  private static let rangeError = 19.0

  init(_ report: LocalReport) {
    self.report = report
    time = (report.location?.time ?? report.time).map(NMEATime.init)
    location = report.location.flatMap { $0.coordinate.isValid ? $0 : nil }
    sky = location == nil || report.isEstimated ? nil : report.receiver?.sky.map(NMEASky.init)
  }

  /// Writes the fields of a sentence; false if it is omitted.
  func write(_ sentence: NMEAWriter.Sentence, _ line: inout NMEALine) -> Bool {
    switch sentence {
    case .gga: writeGGA(&line)
    case .gsa, .gsv: return false
    case .vtg: writeVTG(&line)
    case .hdt: return writeHDT(&line)
    case .hdg: return writeHDG(&line)
    case .rot: return writeROT(&line)
    case .pashr: return writePASHR(&line)
    case .rmc: writeRMC(&line)
    case .gst: writeGST(&line)
    case .zda: return writeZDA(&line)
    }
    return true
  }

  // MARK: Position

  private func writeGGA(_ line: inout NMEALine) {
    line.time(time)
    line.position(location?.coordinate)
    line.text(quality)
    line.digits(location == nil || report.isEstimated ? 0 : satellites, width: 2)
    line.number(dilution, places: 2, in: 0...99.99)
    let altitude = location?.altitude?.ifFinite
    // A fifth digit before the point would exceed the length with two after it.
    line.number(altitude, places: altitude.map { abs($0) < 9999 ? 2 : 1 } ?? 2, in: -99_999...99_999)
    line.text("M")
    let geoid = location?.ellipsoidalAltitude.flatMap { height in altitude.map { height - $0 } }
    line.number(geoid, places: 1, in: -999...999)
    line.text("M")
    line.empty(2)
  }

  /// Appends the sentences of the satellites used; one without satellites if they are unknown.
  func writeGSA(_ talker: NMEAWriter.Talker, into bytes: inout [UInt8]) {
    let groups = sky?.used ?? []
    for group in groups.isEmpty ? [nil] : groups.map(Optional.init) {
      var line = NMEALine(talker: talker, .gsa)
      line.text("A")
      line.text(location == nil ? "1" : location?.altitude == nil ? "2" : "3")
      for number in group?.numbers ?? [] { line.digits(number, width: 2) }
      line.empty(NMEASky.groupSize - (group?.numbers.count ?? 0))
      line.number(sky?.dilution.position?.ifMagnitude, places: 2, in: 0...99.99)
      line.number(dilution, places: 2, in: 0...99.99)
      line.number(sky?.dilution.vertical?.ifMagnitude, places: 2, in: 0...99.99)
      line.digits(group?.system, width: 1)
      line.finish(into: &bytes)
    }
  }

  private func writeRMC(_ line: inout NMEALine) {
    line.time(time)
    line.text(location == nil ? "V" : "A")
    line.position(location?.coordinate)
    line.number(speed.map { $0 / Self.knot }, places: 2, in: 0...999.99)
    line.number(course, places: 2, in: 0...360, isAngle: true)
    line.date(time)
    let declination = location == nil ? nil : report.attitude?.declination
    line.number(
      declination.map(abs), places: declination.map { abs($0) < 99 ? 1 : 0 } ?? 1, in: 0...180)
    line.text(declination.map { $0 < 0 ? "W" : "E" } ?? "")
    line.text(mode)
    // Navigational status: not provided.
    line.text("V")
  }

  private func writeVTG(_ line: inout NMEALine) {
    line.number(course, places: 2, in: 0...360, isAngle: true)
    line.text("T")
    line.empty(1)
    line.text("M")
    line.number(speed.map { $0 / Self.knot }, places: 3, in: 0...9999)
    line.text("N")
    line.number(speed.map { $0 * 3.6 }, places: 3, in: 0...9999)
    line.text("K")
    line.text(mode)
  }

  private func writeGST(_ line: inout NMEALine) {
    line.time(time)
    line.empty(1)
    let deviation = location?.horizontalAccuracy?.ifMagnitude.map(ErrorRadius.deviation(radius:))
    // The accuracy is a radius, so both axes of the ellipse are equal.
    line.number(deviation, places: 2, in: 0...9_999_999)
    line.number(deviation, places: 2, in: 0...9_999_999)
    line.number(deviation == nil ? nil : 0, places: 1, in: 0...360)
    line.number(deviation, places: 2, in: 0...9_999_999)
    line.number(deviation, places: 2, in: 0...9_999_999)
    line.number(location?.verticalAccuracy, places: 2, in: 0...99_999)
  }

  private func writeZDA(_ line: inout NMEALine) -> Bool {
    guard let time else { return false }
    line.time(time)
    line.digits(time.day, width: 2)
    line.digits(time.month, width: 2)
    line.digits(time.year, width: 4)
    line.text("00")
    line.text("00")
    return true
  }

  // MARK: Attitude

  private func writeHDT(_ line: inout NMEALine) -> Bool {
    guard let heading = report.attitude?.trueHeading?.ifFinite else { return false }
    line.number(normalizedDegrees(heading), places: 2, in: 0...360, isAngle: true)
    line.text("T")
    return true
  }

  private func writeHDG(_ line: inout NMEALine) -> Bool {
    guard let heading = report.attitude?.magneticHeading?.ifFinite else { return false }
    line.number(normalizedDegrees(heading), places: 2, in: 0...360, isAngle: true)
    // The heading has no deviation left.
    line.empty(2)
    let declination = report.attitude?.declination
    line.number(declination.map(abs), places: 1, in: 0...180)
    line.text(declination.map { $0 < 0 ? "W" : "E" } ?? "")
    return true
  }

  private func writeROT(_ line: inout NMEALine) -> Bool {
    guard let rate = report.attitude?.yawRate?.ifFinite else { return false }
    line.number(rate * 60, places: 1, in: -99_999...99_999)
    line.text("A")
    return true
  }

  private func writePASHR(_ line: inout NMEALine) -> Bool {
    guard let attitude = report.attitude, let roll = attitude.roll?.ifFinite,
      let pitch = attitude.pitch?.ifFinite
    else { return false }
    line.time(time)
    line.number(
      attitude.trueHeading?.ifFinite.map(normalizedDegrees), places: 2, in: 0...360, isAngle: true)
    line.text("T")
    line.number(roll, places: 2, in: -180...180, isSigned: true)
    line.number(pitch, places: 2, in: -90...90, isSigned: true)
    // Heave.
    line.empty(1)
    line.number(attitude.rollAccuracy, places: 3, in: 0...180)
    line.number(attitude.pitchAccuracy, places: 3, in: 0...180)
    line.number(attitude.headingAccuracy, places: 3, in: 0...180)
    let isFixed = report.receiver?.quality == .realTimeKinematicFixed
    line.text(location == nil || report.isEstimated ? "0" : isFixed ? "2" : "1")
    // The inertial sensors are in use.
    line.text("1")
    return true
  }

  // MARK: Values

  private var speed: Double? { location?.speed?.ifMagnitude }
  private var course: Double? { location?.course?.ifFinite.map(normalizedDegrees) }
  private var satellites: Int? { report.receiver?.satellitesUsed.map { max(0, min($0, 99)) } }

  /// The receiver's dilution; in dead reckoning, and if unknown, the dilution from which gpsd computes the
  /// location's error. Programs that derive the accuracy from the dilution, as GeoClue, read an empty field
  /// as 0.
  private var dilution: Double? {
    guard let location else { return nil }
    if !report.isEstimated, let dilution = report.receiver?.horizontalDilution?.ifMagnitude {
      return dilution
    }
    return location.horizontalAccuracy?.ifMagnitude.map {
      max(0.01, min(ErrorRadius.wide(radius: $0) / Self.rangeError, 99.99))
    }
  }

  /// The quality indicator of GGA.
  private var quality: String {
    guard location != nil else { return "0" }
    guard !report.isEstimated else { return "6" }
    return switch report.receiver?.quality {
    case .differential: "2"
    case .realTimeKinematicFixed: "4"
    case .realTimeKinematicFloat: "5"
    case .notMeasured: "8"
    // The location is not estimated, so it has better sources than the receiver.
    case .deadReckoning, .autonomous, nil: "1"
    }
  }

  /// The mode indicator of RMC and VTG.
  private var mode: String {
    guard location != nil else { return "N" }
    guard !report.isEstimated else { return "E" }
    return switch report.receiver?.quality {
    case .differential: "D"
    case .realTimeKinematicFixed: "R"
    case .realTimeKinematicFloat: "F"
    case .notMeasured: "S"
    case .deadReckoning, .autonomous, nil: "A"
    }
  }
}
