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

/// Radios in the pipeline: coarse positions, scans to learn from, and whether beacons contradict the receiver.
struct CoarseReports: Sendable {
  private var positions: CoarsePositioning
  private var settings: PipelineConfiguration.Coarse
  private var learnable: [LearnableScan] = []
  private var aid: PositionAid?
  private var learning: LearningSchedule
  private var learned: (at: Timestamp, place: Coordinate)?
  private var optedOut: Set<Beacon> = []
  private var contradictions = 0
  private var contradictedAt: Timestamp?
  private var vouchers: FixVouchers
  private var dates = DateScreen()
  /// Fixes that lay where several beacons say that the vehicle is not.
  private(set) var contradictedFixes = 0

  /// Metres between scans that are asked for to be learned from, and between those that are; m/s of a vehicle that is on its way.
  private static let (learningWay, shortestWay, moving) = (50.0, 10.0, 2.0)
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
    settings = configuration.coarse
    let figures = configuration.energy
    learning = LearningSchedule(receiverPower: figures.power[.receiver] ?? 0)
    let mobility = Mobility(configuration.location.activity)
    positions = CoarsePositioning(map: map, radios: settings.radios, figures: figures, mobility: mobility)
    vouchers = FixVouchers(mobility: mobility)
  }

  /// Goes on under another configuration with what it knows.
  func reconfigured(_ new: PipelineConfiguration) -> CoarseReports {
    guard Mobility(new.location.activity) == positions.mobility else {
      return CoarseReports(new, map: positions.map)
    }
    var next = self
    next.settings = new.coarse
    next.positions.reconfigure(radios: new.coarse.radios, figures: new.energy)
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
    var device: CoarsePositioning.Surroundings
    /// Whether places may be told, and so learned, as they are.
    var isShown: (Location) -> Bool
    var time: UTCTime
  }

  /// Takes a scan.
  /// - Returns: a position that is better than all that is known; nil when there is none.
  mutating func process(_ scan: RadioScan, _ known: Surroundings) -> Location? {
    let device = known.device
    guard let finding = positions.find(scan, device) else { return nil }
    for beacon in scan.optedOut where optedOut.count < Self.mostOptedOut { optedOut.insert(beacon) }
    if let fix = finding.fix {
      if !device.needs.takesCoarsePositions { account(for: scan, finding, device.day) }
      let isContested = judge(fix, finding) || isContradicted
      if !isContested || vouchers.vouch(for: fix, against: finding.scan) {
        learn(scan, fix, known, isContested: isContested)
      }
    }
    guard let smooth = positions.adopt(finding, device) else { return nil }
    // A receiver that was somewhere near at its last fix knows that itself.
    let isNew =
      device.fix.map { positions.bound(of: $0, device, at: smooth.timestamp) > smooth.horizontalAccuracy }
      ?? true
    if isNew {
      aid = PositionAid(
        timestamp: smooth.timestamp, coordinate: smooth.coordinate,
        horizontalAccuracy: smooth.horizontalAccuracy)
    }
    return positions.location(at: smooth, device)
  }

  // MARK: The receiver

  /// - Returns: whether the fix is contradicted.
  private mutating func judge(_ fix: Location, _ finding: CoarsePositioning.Finding) -> Bool {
    // Where no beacons are known nothing can take the doubt back.
    if let contradictedAt, fix.timestamp.seconds(since: contradictedAt) > Self.doubtTime {
      (contradictions, self.contradictedAt) = (0, nil)
    }
    guard let found = finding.position, Double(found.beacons) >= Self.witnesses,
      found.radius95 <= Self.sharpest
    else {
      return false
    }
    let apart = abs(fix.timestamp.seconds(since: found.timestamp))
    let limit =
      2 * found.radius95 + Self.fixRadii * (fix.horizontalAccuracy ?? 0)
      + (fix.speed ?? positions.mobility.topSpeed)
      * apart
      + Self.slack
    guard fix.coordinate.distance(to: found.coordinate) > limit else {
      (contradictions, contradictedAt) = (0, nil)
      if let map = positions.map { vouchers.observe(fix, by: finding.scan, map, within: limit) }
      return false
    }
    contradictedAt = fix.timestamp
    contradictions = min(Self.doubts, contradictions + 1)
    if isContradicted { contradictedFixes += 1 }
    return true
  }

  /// What is scanned while positions by radios would not do is scanned to be learned from.
  private mutating func account(for scan: RadioScan, _ finding: CoarsePositioning.Finding, _ day: Int) {
    guard let map = positions.map else { return }
    learning.observe(scan, of: finding.radios, by: map, joules: positions.joules(of: finding), day: day)
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
    // Whoever does not fetch them wants the newest.
    if learnable.count == Self.mostLearnable { learnable.removeFirst() }
    learnable.append(
      LearnableScan(
        scan: scan, coordinate: fix.coordinate, accuracy: accuracy, time: known.time,
        isContested: isContested))
  }

  // MARK: What comes out

  /// What radios can tell, for those who plan power; nil where there are none, or no map.
  func supply(_ needs: PowerNeeds, fix: Location?, isAtRest: Bool, at now: Timestamp) -> CoarseSupply? {
    let isLearning = isLearningDue(needs, fix, isAtRest: isAtRest, at: now)
    return positions.supply(needs, isLearning: isLearning, at: now)
  }

  /// Whether a scan beside the newest fix is worth its energy: on the way, where the receiver is on anyway, as `LearningSchedule` says; and
  /// where coarse positions will do and the map does not give them yet.
  private func isLearningDue(
    _ needs: PowerNeeds, _ fix: Location?, isAtRest: Bool, at now: Timestamp
  ) -> Bool {
    guard settings.isLearning, let fix, abs(now.seconds(since: fix.timestamp)) <= CoarsePositioning.beside,
      let accuracy = fix.horizontalAccuracy, accuracy <= LearnableScan.worstAccuracy
    else { return false }
    let isOfUse =
      needs.takesCoarsePositions
      ? settings.radios.contains(.cellular) && positions.answered?.vain ?? 1 > 0
      : !isAtRest && fix.speed ?? 0 >= Self.moving
        && learning.isDue(joules: positions.joules(of: settings.radios), at: now)
    guard isOfUse else { return false }
    if let last = positions.answered?.at, now.seconds(since: last) < LearningSchedule.shortestPause {
      return false
    }
    return learned.map { $0.place.distance(to: fix.coordinate) >= Self.learningWay } ?? true
  }
}
