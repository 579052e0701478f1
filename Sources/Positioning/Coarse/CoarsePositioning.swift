package import Sensors
package import Spatial
package import VehicleData

/// Positioning by radios. Computes locations from scans and a map of beacons, and provides the figures from
/// which `PowerPlanner` chooses radios. Used by the agent and by `LiveLocation`. A value type without I/O.
package struct CoarsePositioning: Sendable {
  /// The state of the device at the time of a scan.
  package struct Surroundings {
    /// The receiver's newest location; nil before the first.
    package var fix: Location?
    /// The newest location of any source; nil before the first.
    package var place: Location?
    /// True if the device is at rest; nil if unknown.
    package var isAtRest: Bool?
    package var restSince: Timestamp?
    package var needs: PowerNeeds
    /// Civil time; nil if unknown.
    package var time: UTCTime?

    package init(
      fix: Location?, place: Location?, isAtRest: Bool?, restSince: Timestamp?, needs: PowerNeeds,
      time: UTCTime?
    ) {
      (self.fix, self.place) = (fix, place)
      (self.isAtRest, self.restSince) = (isAtRest, restSince)
      (self.needs, self.time) = (needs, time)
    }

    /// Days since 1970; 0 if unknown, so that no beacon counts as old.
    package var day: Int { time.map { Int($0.nanoseconds / 86_400_000_000_000) } ?? 0 }

    func isStill(since: Timestamp?) -> Bool {
      guard isAtRest == true, let restSince, let since else { return false }
      return restSince <= since
    }
  }

  /// The result of one scan.
  package struct Finding {
    /// The radios that made the scan.
    package var radios: Set<SensorKind>
    /// The scan, joined with the other radio's newest sightings if these are recent.
    package var scan: RadioScan
    /// Position of the scan; nil if the map has none of its beacons.
    package var position: CoarsePosition?
    /// The receiver's location at the time of the scan; nil if there is none.
    package var fix: Location?
  }

  package let map: (any BeaconMap)?
  package let mobility: Mobility
  package private(set) var radios: Set<SensorKind>
  private var figures: EnergyFigures
  private let locator = CoarseLocator()
  private var tracker: CoarseTracker
  /// The newest scan of each radio.
  private var newest: [SensorKind: RadioScan] = [:]
  /// The position from all scans so far.
  private var position: CoarsePosition?
  /// Time of the last complete answer of the radios, and the number of consecutive answers without a useful
  /// position. Nil before the first answer.
  package private(set) var answered: (at: Timestamp, failedScans: Int)?
  /// Time of the last scan of cells alone, if that gave no useful position; otherwise nil.
  private var cellsFailed: Timestamp?

  /// Maximum seconds between two scans of different radios that are joined to one.
  private static let together = 10.0
  /// Seconds after a failed scan of cells alone, in which access points are scanned together with cells.
  private static let cellsPause = 600.0
  /// Maximum seconds between a scan and a fix that count as measured at the same position.
  package static let beside = 2.0

  /// - Parameters:
  ///   - map: positions of beacons; nil disables coarse positions.
  ///   - radios: the available radios: `wifi`, `cellular` or both.
  ///   - figures: energy of radios and receiver; unknown by default.
  package init(
    map: (any BeaconMap)?, radios: Set<SensorKind>, figures: EnergyFigures = EnergyFigures(),
    mobility: Mobility
  ) {
    (self.map, self.radios, self.figures, self.mobility) = (map, radios, figures, mobility)
    tracker = CoarseTracker(mobility: mobility)
  }

  package mutating func reconfigure(radios: Set<SensorKind>, figures: EnergyFigures) {
    (self.radios, self.figures) = (radios, figures)
  }

  // MARK: Scans

  /// Processes a complete scan. Returns its location if that is better than the current one; otherwise nil.
  package mutating func process(_ scan: RadioScan, _ known: Surroundings) -> Location? {
    guard let finding = find(scan, known), let position = adopt(finding, known) else { return nil }
    return location(at: position, known)
  }

  /// Computes the position of a complete scan. Returns nil if no radio of the scan is in use.
  package mutating func find(_ scan: RadioScan, _ known: Surroundings) -> Finding? {
    let kinds = radios.filter { scan.contains($0) }
    guard !kinds.isEmpty else { return nil }
    let fix = known.fix.flatMap {
      // While the device is at rest, one fix applies to all later scans.
      abs($0.timestamp.seconds(since: scan.timestamp)) <= Self.beside || known.isStill(since: $0.timestamp)
        ? $0 : nil
    }
    var finding = Finding(radios: kinds, scan: joined(scan), fix: fix)
    for kind in kinds { newest[kind] = scan }
    guard let map else { return finding }
    finding.position = locator.position(
      of: finding.scan, by: map,
      speed: known.isAtRest == true ? 0 : fix?.speed ?? CoarseLocator.usualSpeed, day: known.day)
    return finding
  }

  /// Returns the scan, joined with the other radio's newest sightings if these are recent.
  private func joined(_ scan: RadioScan) -> RadioScan {
    var joined = scan
    for (_, other) in newest {
      let age = scan.timestamp.seconds(since: other.timestamp)
      guard (0...Self.together).contains(age) else { continue }
      joined.sightings += other.sightings.filter { heard in
        heard.beacon.technology.isCell && !scan.contains(.cellular)
          || !heard.beacon.technology.isCell && !scan.contains(.wifi)
      }.map {
        var heard = $0
        heard.age += age
        return heard
      }
    }
    return joined
  }

  /// Processes a finding. Returns the position from all scans so far; nil if this finding has no position.
  package mutating func adopt(_ finding: Finding, _ known: Surroundings) -> CoarsePosition? {
    note(finding, known)
    guard let found = finding.position else { return nil }
    let smooth = tracker.process(found, isAtRest: known.isStill(since: position?.timestamp))
    position = smooth
    return smooth
  }

  /// Records when radios have answered, and whether the answer was sufficient.
  private mutating func note(_ finding: Finding, _ known: Surroundings) {
    let timestamp = finding.scan.timestamp
    let limit =
      known.needs.takesCoarsePositions
      ? known.needs.coarseLimit(isAtRest: known.isAtRest == true) : CoarseLocator.worstAccuracy
    let isGood = finding.position.map { $0.horizontalAccuracy <= limit } ?? false
    if !finding.radios.contains(.wifi), radios.contains(.wifi) {
      let areAsked = !known.needs.takesCoarsePositions || areCellsTried(at: timestamp)
      cellsFailed = isGood ? nil : timestamp
      // The answer of cells alone is incomplete: access points are scanned with them, or next.
      if areAsked || !isGood { return }
    }
    answered = (timestamp, isGood ? 0 : min(100, (answered?.failedScans ?? 0) + 1))
  }

  /// Returns a location if an accuracy of a kilometre suffices, or if the receiver has had no fix since the
  /// start. It never replaces a location that is more accurate even with the possible movement since that
  /// location.
  package func location(at position: CoarsePosition, _ known: Surroundings) -> Location? {
    guard known.needs.location.isWanted, known.needs.takesCoarsePositions || known.fix == nil else {
      return nil
    }
    if let place = known.place,
      bound(of: place, known, at: position.timestamp) <= position.horizontalAccuracy
    {
      return nil
    }
    var location = Location(timestamp: position.timestamp, coordinate: position.coordinate)
    location.horizontalAccuracy = position.horizontalAccuracy
    location.time = known.time
    location.positionSource = .coarse
    return location
  }

  /// Returns the accuracy that an earlier location has at `now`, in metres at 68 %.
  package func bound(of place: Location, _ known: Surroundings, at now: Timestamp) -> Double {
    let age = max(0, now.seconds(since: place.timestamp))
    let way =
      known.isStill(since: place.timestamp)
      ? 0 : mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    return (place.horizontalAccuracy ?? 0) + way
  }

  // MARK: Power

  /// Returns the figures for the power planner; nil without radios or a map.
  /// - Parameter isLearning: true if a scan now can add enough to the map to justify its energy.
  package func supply(_ needs: PowerNeeds, isLearning: Bool, at now: Timestamp) -> CoarseSupply? {
    guard map != nil, !radios.isEmpty, needs.location.isWanted else { return nil }
    var asked = radios
    // A scan of cells costs less energy than one of access points, and it ends before a moving vehicle has
    // left the position of the fix.
    if needs.takesCoarsePositions, radios.contains(.cellular), isLearning || !areCellsTried(at: now) {
      asked = [.cellular]
    }
    return CoarseSupply(
      radios: asked, joules: joules(of: asked), receiverPower: figures.power[.receiver] ?? 0,
      timestamp: position?.timestamp, radius: position?.horizontalAccuracy ?? .infinity,
      answered: answered?.at, failedScans: answered?.failedScans ?? 0, isLearning: isLearning)
  }

  private func areCellsTried(at now: Timestamp) -> Bool {
    cellsFailed.map { now.seconds(since: $0) < Self.cellsPause } ?? false
  }

  /// Returns the energy in J of one scan with each of the radios.
  package func joules(of radios: Set<SensorKind>) -> Double {
    radios.reduce(0) { sum, radio in sum + power(of: radio) * (duration(of: radio) ?? 0) }
  }

  /// Returns the joules used by a scan.
  package func joules(of finding: Finding) -> Double {
    guard let duration = finding.scan.duration else { return joules(of: finding.radios) }
    return finding.radios.reduce(0) { $0 + duration * power(of: $1) }
  }

  private func duration(of radio: SensorKind) -> Double? {
    EnergyComponent(radio).flatMap { figures.scanDuration[$0] }
  }

  private func power(of radio: SensorKind) -> Double {
    EnergyComponent(radio).flatMap { figures.power[$0] } ?? 0
  }
}

extension Location {
  /// The location for use with regions. Errors of radio positions have longer tails than those of a receiver
  /// with the same accuracy, because transmitters move. The radius is therefore doubled.
  package var forRegions: Location {
    guard positionSource == .coarse else { return self }
    var location = self
    location.horizontalAccuracy = horizontalAccuracy.map { 2 * $0 }
    return location
  }
}
