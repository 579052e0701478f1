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
  private var positions: CoarsePositioning
  private var settings: PipelineConfiguration.Coarse
  private var learnable: [LearnableScan] = []
  private var aid: PositionAid?
  private var learning: LearningSchedule
  private var learned: (at: Timestamp, place: Coordinate)?
  private var optedOut: Set<Beacon> = []
  private var contradictions = 0
  private var contradictedAt: Timestamp?
  /// Metres between the receiver's and the beacons' position at the last contradiction.
  private(set) var contradictedDistance: Double?
  private var vouchers: FixCorroboration
  private var dates = DateScreen()
  /// Number of fixes that several beacons contradicted.
  private(set) var contradictedFixes = 0

  /// Metres between requested scans for learning, and between accepted ones; speed in m/s of a moving
  /// vehicle.
  private static let (learningWay, shortestWay, moving) = (50.0, 10.0, 2.0)
  /// Maximum number of scans waiting to be learned from.
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
    settings = configuration.coarse
    let figures = configuration.energy
    learning = LearningSchedule(receiverPower: figures.power[.receiver] ?? 0)
    let mobility = Mobility(configuration.location.activity)
    positions = CoarsePositioning(map: map, radios: settings.radios, figures: figures, mobility: mobility)
    vouchers = FixCorroboration(mobility: mobility)
  }

  /// Returns the same state with another configuration.
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
    var device: CoarsePositioning.Surroundings
    /// True if positions may be published, and therefore learned, unchanged.
    var isShown: (Location) -> Bool
    var time: UTCTime
  }

  /// Processes a scan.
  /// - Returns: a position better than all available ones; nil if there is none.
  mutating func process(_ scan: RadioScan, _ known: Surroundings) -> Location? {
    let device = known.device
    guard let finding = positions.find(scan, device) else { return nil }
    for beacon in scan.optedOut where optedOut.count < Self.mostOptedOut { optedOut.insert(beacon) }
    if let fix = finding.fix {
      if !device.needs.takesCoarsePositions { account(for: scan, finding, device.day) }
      let isContested = judge(fix, finding) || isContradicted
      if !isContested || vouchers.corroborates(for: fix, against: finding.scan) {
        learn(scan, fix, known, isContested: isContested)
      }
    }
    guard let smooth = positions.adopt(finding, device) else { return nil }
    // A receiver whose last fix was near does not need this position.
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

  /// - Returns: true if the fix is contradicted.
  private mutating func judge(_ fix: Location, _ finding: CoarsePositioning.Finding) -> Bool {
    // Without known beacons nothing else can end the doubt.
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
    contradictedDistance = fix.coordinate.distance(to: found.coordinate)
    contradictions = min(Self.doubts, contradictions + 1)
    if isContradicted { contradictedFixes += 1 }
    return true
  }

  /// Updates the learning schedule with the energy of a scan that is not needed for positions.
  private mutating func account(for scan: RadioScan, _ finding: CoarsePositioning.Finding, _ day: Int) {
    guard let map = positions.map else { return }
    learning.observe(scan, of: finding.radios, by: map, joules: positions.joules(of: finding), day: day)
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
    // A consumer that does not drain them needs the newest.
    if learnable.count == Self.mostLearnable { learnable.removeFirst() }
    learnable.append(
      LearnableScan(
        scan: scan, coordinate: fix.coordinate, accuracy: accuracy, time: known.time,
        isContested: isContested))
  }

  // MARK: Outputs

  /// Returns the possible radio positions for the power planner; nil without radios or a map.
  func supply(_ needs: PowerNeeds, fix: Location?, isAtRest: Bool, at now: Timestamp) -> CoarseSupply? {
    let isLearning = isLearningDue(needs, fix, isAtRest: isAtRest, at: now)
    return positions.supply(needs, isLearning: isLearning, at: now)
  }

  /// Returns whether a scan together with the newest fix is worth its energy. This is the case on the road
  /// while the receiver is on anyway, as `LearningSchedule` decides, and where coarse positions are
  /// sufficient but the map does not provide them yet.
  private func isLearningDue(
    _ needs: PowerNeeds, _ fix: Location?, isAtRest: Bool, at now: Timestamp
  ) -> Bool {
    guard settings.isLearning, let fix, abs(now.seconds(since: fix.timestamp)) <= CoarsePositioning.beside,
      let accuracy = fix.horizontalAccuracy, accuracy <= LearnableScan.worstAccuracy
    else { return false }
    let isOfUse =
      needs.takesCoarsePositions
      ? settings.radios.contains(.cellular) && positions.answered?.failedScans ?? 1 > 0
      : !isAtRest && fix.speed ?? 0 >= Self.moving
        && learning.isDue(joules: positions.joules(of: settings.radios), at: now)
    guard isOfUse else { return false }
    if let last = positions.answered?.at, now.seconds(since: last) < LearningSchedule.shortestPause {
      return false
    }
    return learned.map { $0.place.distance(to: fix.coordinate) >= Self.learningWay } ?? true
  }
}
