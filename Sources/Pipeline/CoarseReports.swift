internal import Positioning
package import Sensors
package import Spatial

/// A scan beside a good fix, from which it can be learned where transmitters stand.
package struct LearnableScan: Hashable, Sendable {
  package var scan: RadioScan
  /// Where it was heard; outside of every privacy zone.
  package var coordinate: Coordinate
  /// Metres at 68 %, at most `LearnableScan.worstAccuracy`.
  package var accuracy: Double
  package var time: UTCTime
  /// Whether beacons that are known elsewhere say that the vehicle is not there, and others have borne the receiver out lately.
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

/// The radios' side of the pipeline: from scans and the map to coarse positions, what there is to learn, and whether the receiver
/// is contradicted.
struct CoarseReports: Sendable {
  private let map: (any BeaconMap)?
  private var settings: PipelineConfiguration.Coarse
  private var figures: EnergyFigures
  private let mobility: Mobility
  private let locator = CoarseLocator()
  private var tracker: CoarseTracker
  /// Of each radio, the newest.
  private var newest: [SensorKind: RadioScan] = [:]
  /// By all scans so far.
  private var position: CoarsePosition?
  /// When radios last answered completely, and how often in succession in vain.
  private var answered: (at: Timestamp, vain: Int)?
  /// When cells last did not do.
  private var cellsFailed: Timestamp?
  private var learnable: [LearnableScan] = []
  private var aid: PositionAid?
  private var learning: LearningSchedule
  private var learned: (at: Timestamp, place: Coordinate)?
  private var optedOut: Set<Beacon> = []
  private var contradictions = 0
  private var contradictedAt: Timestamp?
  /// Metres between the receiver's and the beacons' position at the last contradiction.
  private(set) var contradictedDistance: Double?
  private var vouchers: FixVouchers
  private var dates = DateScreen()
  /// Fixes that lay where several beacons say that the vehicle is not.
  private(set) var contradictedFixes = 0

  /// Seconds between scans of two radios that are taken for one.
  private static let together = 10.0
  /// Seconds for which access points are asked with the cells, because these did not do.
  private static let cellsPause = 600.0
  /// Metres between scans that are asked for to be learned from, and between those that are; m/s of a vehicle that is on its way.
  private static let (learningWay, shortestWay, moving) = (50.0, 10.0, 2.0)
  /// Seconds between a scan and a fix beside it.
  private static let beside = 2.0
  /// Scans that wait to be learned from.
  private static let mostLearnable = 16
  /// Beacons that wait to be taken off maps.
  private static let mostOptedOut = 256
  /// Beacons that agree, scans in succession, and metres at 95 % of positions that can contradict a receiver.
  private static let (witnesses, doubts, sharpest) = (3.0, 2, 500.0)
  /// s after which a doubt that nothing bears out is dropped.
  private static let doubtTime = 600.0
  /// Radii at 68 % of a fix, and metres, beyond which it is contradicted.
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

  /// Goes on under another configuration with what it knows.
  func reconfigured(_ new: PipelineConfiguration) -> CoarseReports {
    guard Mobility(new.location.activity) == mobility else { return CoarseReports(new, map: map) }
    var next = self
    (next.settings, next.figures) = (new.coarse, new.energy)
    next.learning.update(receiverPower: new.energy.power[.receiver] ?? 0)
    return next
  }

  /// Whether what several beacons say contradicts the receiver, twice in succession.
  var isContradicted: Bool { contradictions >= Self.doubts }

  /// What has come to be learned from since the last call, in order.
  mutating func drainLearnable() -> [LearnableScan] {
    defer { learnable = [] }
    return learnable
  }

  /// Where a receiver is about that has nothing as good itself, since the last call; without a civil time.
  mutating func drainAid() -> PositionAid? {
    defer { aid = nil }
    return aid
  }

  /// What is not to be on maps any more by what was heard since the last call.
  mutating func drainOptedOut() -> [Beacon] {
    guard !optedOut.isEmpty else { return [] }
    defer { optedOut = [] }
    return optedOut.sorted()
  }

  // MARK: What goes in

  /// What is known beside a scan.
  struct Surroundings {
    /// The receiver's newest.
    var fix: Location?
    /// The newest of any source.
    var place: Location?
    /// Nil while nothing tells.
    var isAtRest: Bool?
    var restSince: Timestamp?
    /// Whether places may be told, and so learned, as they are.
    var isShown: (Location) -> Bool
    /// What is waited for.
    var needs: PowerNeeds
    var time: UTCTime
  }

  /// Takes a scan.
  /// - Returns: a position that is better than all that is known; nil when there is none.
  mutating func process(_ scan: RadioScan, _ known: Surroundings) -> Location? {
    let kinds = settings.radios.filter { scan.contains($0) }
    guard !kinds.isEmpty else { return nil }
    for beacon in scan.optedOut where optedOut.count < Self.mostOptedOut { optedOut.insert(beacon) }
    let fresh = known.fix.flatMap {
      // At rest a fix is beside all that follows it.
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
    // A receiver that was somewhere near at its last fix knows that itself.
    let isNew =
      known.fix.map { bound(of: $0, known, at: smooth.timestamp) > smooth.horizontalAccuracy } ?? true
    if isNew {
      aid = PositionAid(
        timestamp: smooth.timestamp, coordinate: smooth.coordinate,
        horizontalAccuracy: smooth.horizontalAccuracy)
    }
    return told(smooth, known)
  }

  /// The scan with what the other radio has just heard.
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

  /// Days since 1970.
  private static func day(_ time: UTCTime) -> Int { Int(time.nanoseconds / 86_400_000_000_000) }

  private func isStill(_ known: Surroundings, since: Timestamp?) -> Bool {
    guard known.isAtRest == true, let rest = known.restSince, let since else { return false }
    return rest <= since
  }

  /// Keeps when radios have answered, and whether that was of use.
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
      // Access points are asked too, or next.
      if areAsked || !isGood { return }
    }
    answered = (timestamp, isGood ? 0 : min(100, (answered?.vain ?? 0) + 1))
  }

  // MARK: The receiver

  /// - Returns: whether the fix is contradicted.
  private mutating func judge(_ fix: Location, _ found: CoarsePosition?, _ heard: RadioScan) -> Bool {
    // Where no beacons are known nothing can take the doubt back.
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
    contradictedDistance = fix.coordinate.distance(to: found.coordinate)
    contradictions = min(Self.doubts, contradictions + 1)
    if isContradicted { contradictedFixes += 1 }
    return true
  }

  /// What is scanned while positions by radios would not do is scanned to be learned from.
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
    guard settings.isLearning, fix.suspicion == nil, let accuracy = fix.horizontalAccuracy, accuracy > 0,
      accuracy <= LearnableScan.worstAccuracy, fix.positionSource != .inertial, known.isShown(fix),
      learned.map({ $0.place.distance(to: fix.coordinate) >= Self.shortestWay }) ?? true,
      dates.process(known.time, at: scan.timestamp)
    else { return }
    learned = (scan.timestamp, fix.coordinate)
    // Whoever does not fetch them wants the newest.
    if learnable.count == Self.mostLearnable { learnable.removeFirst() }
    learnable.append(
      LearnableScan(
        scan: scan, coordinate: fix.coordinate, accuracy: accuracy, time: known.time,
        isContested: isContested))
  }

  // MARK: What comes out

  /// A position is told where a kilometre will do, or where the receiver has found none since the start; never in the place of one
  /// that is better even after all the way that the vehicle can have made since.
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

  /// Metres at 68 % that a place is still good for.
  private func bound(of place: Location, _ known: Surroundings, at now: Timestamp) -> Double {
    let age = max(0, now.seconds(since: place.timestamp))
    let way =
      isStill(known, since: place.timestamp)
      ? 0 : mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    return (place.horizontalAccuracy ?? 0) + way
  }

  /// What radios can tell, for those who plan power; nil where there are none, or no map.
  func supply(_ needs: PowerNeeds, fix: Location?, isAtRest: Bool, at now: Timestamp) -> CoarseSupply? {
    guard map != nil, !settings.radios.isEmpty, needs.location.isWanted else { return nil }
    var radios = settings.radios
    let isLearning = isLearningDue(needs, fix, isAtRest: isAtRest, at: now)
    // Cells are cheaper; and they answer before a vehicle on its way has left the place of the fix.
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

  /// Whether a scan beside the newest fix is worth its energy: on the way, where the receiver is on anyway, as `LearningSchedule` says; and
  /// where coarse positions will do and the map does not give them yet.
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
  /// Joules; 0 for what is no radio.
  fileprivate func joules(ofScan kind: SensorKind) -> Double {
    power(of: kind) * (EnergyComponent(rawValue: kind.rawValue).flatMap { scanDuration[$0] } ?? 0)
  }

  /// Watts; 0 for what is no radio.
  fileprivate func power(of kind: SensorKind) -> Double {
    EnergyComponent(rawValue: kind.rawValue).flatMap { power[$0] } ?? 0
  }
}
