internal import Positioning
package import Sensors
package import Spatial

/// A scan with an accurate fix, from which positions of transmitters can be learned.
package struct LearnableScan: Hashable, Sendable {
  package var scan: RadioScan
  /// Position of the scan, outside of all privacy zones.
  package var coordinate: Coordinate
  /// Accuracy of the position in m (68 %), at most `LearnableScan.worstAccuracy`.
  package var accuracy: Double
  package var time: UTCTime
  /// True if known beacons contradict the position, although other beacons recently confirmed the receiver.
  package var isContested: Bool

  package static let worstAccuracy = 30.0

  package init(
    scan: RadioScan, coordinate: Coordinate, accuracy: Double, time: UTCTime, isContested: Bool = false
  ) {
    self.scan = scan
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.time = time
    self.isContested = isContested
  }
}

/// The radios' part of the pipeline: derives coarse positions from scans and the map, provides scans for
/// learning, and detects contradictions of the receiver.
struct CoarseReports: Sendable {
  private let map: (any BeaconMap)?
  private var settings: PipelineConfiguration.Coarse
  private var figures: EnergyFigures
  private let mobility: Mobility
  private let locator = CoarseLocator()
  private var tracker: CoarseTracker
  /// Newest scan of each radio.
  private var newest: [SensorKind: RadioScan] = [:]
  /// Position estimate from all scans so far.
  private var position: CoarsePosition?
  /// Time of the last complete answer of the radios, and number of consecutive answers without a usable
  /// position.
  private var answered: (at: Timestamp, vain: Int)?
  /// Time at which cells were last insufficient.
  private var cellsFailed: Timestamp?
  private var learnable: [LearnableScan] = []
  private var aid: PositionAid?
  private var learning: LearningSchedule
  private var learned: (at: Timestamp, place: Coordinate)?
  private var optedOut: Set<Beacon> = []
  private var contradictions = 0
  private var contradictedAt: Timestamp?
  private var vouchers: FixVouchers
  private var dates = DateScreen()
  /// Number of fixes that several beacons contradicted.
  private(set) var contradictedFixes = 0

  /// Maximum time in s between scans of two radios that are combined.
  private static let together = 10.0
  /// Time in s for which access points are scanned together with cells, because cells alone were
  /// insufficient.
  private static let cellsPause = 600.0
  /// Distances in m between requested scans for learning, and between those used; minimum speed in m/s for
  /// learning.
  private static let (learningWay, shortestWay, moving) = (50.0, 10.0, 2.0)
  /// Maximum time in s between a scan and its fix.
  private static let beside = 2.0
  /// Maximum number of scans waiting to be learned.
  private static let mostLearnable = 16
  /// Maximum number of beacons waiting to be removed from maps.
  private static let mostOptedOut = 256
  /// Requirements for contradicting a receiver: number of agreeing beacons, number of consecutive scans, and
  /// maximum radius of the position in m (95 %).
  private static let (witnesses, doubts, sharpest) = (3.0, 2, 500.0)
  /// Time in s after which an unconfirmed doubt is dropped.
  private static let doubtTime = 600.0
  /// Distance beyond which a fix is contradicted: multiple of its radius (68 %), plus metres.
  private static let (fixRadii, slack) = (3.0, 100.0)

  init(_ configuration: PipelineConfiguration, map: (any BeaconMap)?) {
    self.map = map
    settings = configuration.coarse
    figures = configuration.energy
    learning = LearningSchedule(receiverPower: figures.power[.receiver] ?? 0)
    mobility = Mobility(configuration.location.activity)
    tracker = CoarseTracker(mobility: mobility)
    vouchers = FixVouchers(mobility: mobility)
  }

  /// Returns the same state with another configuration.
  func reconfigured(_ new: PipelineConfiguration) -> CoarseReports {
    guard Mobility(new.location.activity) == mobility else { return CoarseReports(new, map: map) }
    var next = self
    (next.settings, next.figures) = (new.coarse, new.energy)
    next.learning.update(receiverPower: new.energy.power[.receiver] ?? 0)
    return next
  }

  /// True if several beacons contradict the receiver in consecutive scans.
  var isContradicted: Bool { contradictions >= Self.doubts }

  /// Removes and returns scans for learning since the last call, in order.
  mutating func drainLearnable() -> [LearnableScan] {
    defer { learnable = [] }
    return learnable
  }

  /// Returns an approximate position for a receiver without a fix since the last call, without civil time.
  mutating func drainAid() -> PositionAid? {
    defer { aid = nil }
    return aid
  }

  /// Removes and returns beacons that must not be on maps, according to scans since the last call.
  mutating func drainOptedOut() -> [Beacon] {
    guard !optedOut.isEmpty else { return [] }
    defer { optedOut = [] }
    return optedOut.sorted()
  }

  // MARK: Inputs

  /// Context of a scan.
  struct Surroundings {
    /// The receiver's newest location.
    var fix: Location?
    /// The newest location of any source.
    var place: Location?
    /// True if the vehicle is at rest; nil if unknown.
    var isAtRest: Bool?
    var restSince: Timestamp?
    /// Returns whether a position may be published, and therefore learned, exactly.
    var isShown: (Location) -> Bool
    /// Current needs of the consumers.
    var needs: PowerNeeds
    var time: UTCTime
  }

  /// Processes a scan.
  /// - Returns: a position better than all available ones; nil if there is none.
  mutating func process(_ scan: RadioScan, _ known: Surroundings) -> Location? {
    let kinds = settings.radios.filter { scan.contains($0) }
    guard !kinds.isEmpty else { return nil }
    for beacon in scan.optedOut where optedOut.count < Self.mostOptedOut { optedOut.insert(beacon) }
    let fresh = known.fix.flatMap {
      // At rest, one fix applies to all later scans.
      abs($0.timestamp.seconds(since: scan.timestamp)) <= Self.beside || isStill(known, since: $0.timestamp)
        ? $0 : nil
    }
    let heard = joined(scan)
    let found = map.flatMap { map in
      locator.position(
        of: heard, by: map,
        speed: known.isAtRest == true ? 0 : fresh?.speed ?? CoarseLocator.usualSpeed,
        day: Self.day(known.time))
    }
    for kind in kinds { newest[kind] = scan }
    if fresh != nil, !known.needs.takesCoarsePositions { account(for: scan, kinds, known) }
    let disagrees = fresh.map { judge($0, found, heard) } ?? false
    if let fresh {
      let isContested = disagrees || isContradicted
      if !isContested || vouchers.vouch(for: fresh, against: heard) {
        learn(scan, fresh, known, isContested: isContested)
      }
    }
    note(found, kinds, known, at: scan.timestamp)
    guard let found else { return nil }
    let smooth = tracker.process(found, isAtRest: isStill(known, since: position?.timestamp))
    position = smooth
    // A receiver that was nearby at its last fix needs no aid.
    let isNew =
      known.fix.map { bound(of: $0, known, at: smooth.timestamp) > smooth.horizontalAccuracy } ?? true
    if isNew {
      aid = PositionAid(
        timestamp: smooth.timestamp, coordinate: smooth.coordinate,
        horizontalAccuracy: smooth.horizontalAccuracy)
    }
    return told(smooth, known)
  }

  /// Returns the scan combined with the other radio's recent one.
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

  /// Returns the days since 1970.
  private static func day(_ time: UTCTime) -> Int { Int(time.nanoseconds / 86_400_000_000_000) }

  private func isStill(_ known: Surroundings, since: Timestamp?) -> Bool {
    guard known.isAtRest == true, let rest = known.restSince, let since else { return false }
    return rest <= since
  }

  /// Records when radios have answered, and whether the answer was sufficient.
  private mutating func note(
    _ found: CoarsePosition?, _ kinds: Set<SensorKind>, _ known: Surroundings, at timestamp: Timestamp
  ) {
    let limit =
      known.needs.takesCoarsePositions
      ? known.needs.coarseLimit(isAtRest: known.isAtRest == true) : CoarseLocator.worstAccuracy
    let isGood = found.map { $0.horizontalAccuracy <= limit } ?? false
    if !kinds.contains(.wifi), settings.radios.contains(.wifi) {
      let areAsked = !known.needs.takesCoarsePositions || areCellsTried(at: timestamp)
      cellsFailed = isGood ? nil : timestamp
      // Access points are scanned in the same or the next step.
      if areAsked || !isGood { return }
    }
    answered = (timestamp, isGood ? 0 : min(100, (answered?.vain ?? 0) + 1))
  }

  // MARK: The receiver

  /// - Returns: true if the fix is contradicted.
  private mutating func judge(_ fix: Location, _ found: CoarsePosition?, _ heard: RadioScan) -> Bool {
    // Without known beacons no scan can withdraw the doubt.
    if let contradictedAt, fix.timestamp.seconds(since: contradictedAt) > Self.doubtTime {
      (contradictions, self.contradictedAt) = (0, nil)
    }
    guard let found, Double(found.beacons) >= Self.witnesses, found.radius95 <= Self.sharpest else {
      return false
    }
    let apart = abs(fix.timestamp.seconds(since: found.timestamp))
    let limit =
      2 * found.radius95 + Self.fixRadii * (fix.horizontalAccuracy ?? 0) + (fix.speed ?? mobility.topSpeed)
      * apart
      + Self.slack
    guard fix.coordinate.distance(to: found.coordinate) > limit else {
      (contradictions, contradictedAt) = (0, nil)
      if let map { vouchers.observe(fix, by: heard, map, within: limit) }
      return false
    }
    contradictedAt = fix.timestamp
    contradictions = min(Self.doubts, contradictions + 1)
    if isContradicted { contradictedFixes += 1 }
    return true
  }

  /// Accounts the energy of scans for learning, which are those taken while radio positions would not be
  /// sufficient.
  private mutating func account(for scan: RadioScan, _ kinds: Set<SensorKind>, _ known: Surroundings) {
    guard let map else { return }
    let joules = kinds.reduce(0) { sum, kind in
      sum + (scan.duration.map { $0 * figures.power(of: kind) } ?? figures.joules(ofScan: kind))
    }
    learning.observe(scan, of: kinds, by: map, joules: joules, day: Self.day(known.time))
  }

  private mutating func learn(
    _ scan: RadioScan, _ fix: Location, _ known: Surroundings, isContested: Bool
  ) {
    guard settings.isLearning, let accuracy = fix.horizontalAccuracy, accuracy > 0,
      accuracy <= LearnableScan.worstAccuracy, fix.positionSource != .inertial, known.isShown(fix),
      learned.map({ $0.place.distance(to: fix.coordinate) >= Self.shortestWay }) ?? true,
      dates.process(known.time, at: scan.timestamp)
    else { return }
    learned = (scan.timestamp, fix.coordinate)
    // A consumer that does not drain them needs the newest.
    if learnable.count == Self.mostLearnable { learnable.removeFirst() }
    learnable.append(
      LearnableScan(
        scan: scan, coordinate: fix.coordinate, accuracy: accuracy, time: known.time,
        isContested: isContested))
  }

  // MARK: Outputs

  /// Returns a coarse position to publish. It is published if a kilometre of accuracy is sufficient, or if
  /// the receiver has had no fix since the start. It never replaces a position that is still better after all
  /// possible motion.
  private func told(_ found: CoarsePosition, _ known: Surroundings) -> Location? {
    guard known.needs.location.isWanted, known.needs.takesCoarsePositions || known.fix == nil else {
      return nil
    }
    if let place = known.place,
      bound(of: place, known, at: found.timestamp) <= found.horizontalAccuracy
    {
      return nil
    }
    var location = Location(timestamp: found.timestamp, coordinate: found.coordinate)
    location.horizontalAccuracy = found.horizontalAccuracy
    location.time = known.time
    location.positionSource = .coarse
    return location
  }

  /// Returns the accuracy in m (68 %) of a position after possible motion.
  private func bound(of place: Location, _ known: Surroundings, at now: Timestamp) -> Double {
    let age = max(0, now.seconds(since: place.timestamp))
    let way =
      isStill(known, since: place.timestamp)
      ? 0 : mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    return (place.horizontalAccuracy ?? 0) + way
  }

  /// Returns the radios' possible contribution for the power plan; nil without radios or a map.
  func supply(_ needs: PowerNeeds, fix: Location?, isAtRest: Bool, at now: Timestamp) -> CoarseSupply? {
    guard map != nil, !settings.radios.isEmpty, needs.location.isWanted else { return nil }
    var radios = settings.radios
    let isLearning = isLearningDue(needs, fix, isAtRest: isAtRest, at: now)
    // Cells cost less energy, and answer before a moving vehicle has left the position of the fix.
    if needs.takesCoarsePositions, radios.contains(.cellular), isLearning || !areCellsTried(at: now) {
      radios = [.cellular]
    }
    return CoarseSupply(
      radios: radios, joules: radios.reduce(0) { $0 + figures.joules(ofScan: $1) },
      receiverPower: figures.power[.receiver] ?? 0, timestamp: position?.timestamp,
      radius: position?.horizontalAccuracy ?? .infinity, answered: answered?.at, vain: answered?.vain ?? 0,
      isLearning: isLearning)
  }

  private func areCellsTried(at now: Timestamp) -> Bool {
    cellsFailed.map { now.seconds(since: $0) < Self.cellsPause } ?? false
  }

  /// Returns whether a scan together with the newest fix is worth its energy. This is the case on the road
  /// while the receiver is on anyway, as `LearningSchedule` decides, and where coarse positions are
  /// sufficient but the map does not provide them yet.
  private func isLearningDue(
    _ needs: PowerNeeds, _ fix: Location?, isAtRest: Bool, at now: Timestamp
  ) -> Bool {
    guard settings.isLearning, let fix, abs(now.seconds(since: fix.timestamp)) <= Self.beside,
      let accuracy = fix.horizontalAccuracy, accuracy <= LearnableScan.worstAccuracy
    else { return false }
    let isOfUse =
      needs.takesCoarsePositions
      ? settings.radios.contains(.cellular) && answered?.vain ?? 1 > 0
      : !isAtRest && fix.speed ?? 0 >= Self.moving
        && learning.isDue(joules: settings.radios.reduce(0) { $0 + figures.joules(ofScan: $1) }, at: now)
    guard isOfUse else { return false }
    if let last = answered?.at, now.seconds(since: last) < LearningSchedule.shortestPause { return false }
    return learned.map { $0.place.distance(to: fix.coordinate) >= Self.learningWay } ?? true
  }
}

extension EnergyFigures {
  /// Returns the energy of a scan in J; 0 for other kinds.
  fileprivate func joules(ofScan kind: SensorKind) -> Double {
    power(of: kind) * (EnergyComponent(rawValue: kind.rawValue).flatMap { scanDuration[$0] } ?? 0)
  }

  /// Returns the power in W; 0 for other kinds.
  fileprivate func power(of kind: SensorKind) -> Double {
    EnergyComponent(rawValue: kind.rawValue).flatMap { power[$0] } ?? 0
  }
}
