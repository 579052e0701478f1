internal import Motion
package import Positioning
package import Sensors
package import Spatial
internal import Telemetry

/// A radio scan with an accurate fix, from which positions of radio beacons can be learned.
package struct LearnableScan: Hashable, Sendable {
  package var scan: RadioScan
  /// Position of the scan, which is outside of all privacy zones.
  package var coordinate: ShownCoordinate
  /// Accuracy of the position in m (68 %), at most `LearnableScan.worstAccuracy`.
  package var accuracy: Double
  package var time: UTCTime
  /// True if beacons of the map contradict the position, but other beacons have recently confirmed the
  /// receiver.
  package var isContested: Bool

  package static let worstAccuracy = 30.0

  package init(
    scan: RadioScan, coordinate: ShownCoordinate, accuracy: Double, time: UTCTime, isContested: Bool = false
  ) {
    self.scan = scan
    self.coordinate = coordinate
    self.accuracy = accuracy
    self.time = time
    self.isContested = isContested
  }
}

/// The radios' part of the pipeline. It derives coarse positions from radio scans and the beacon map,
/// provides scans for learning the map, and detects receivers whose fixes contradict the beacons.
struct CoarseReports: PipelinePart {
  private var positions: CoarsePositioning
  private var learnable: [LearnableScan] = []
  private var aid: PositionAid?
  private var learning: LearningSchedule
  private var learned: (at: Timestamp, place: Coordinate)?
  private var optedOut: Set<Beacon> = []
  private var contradictions = 0
  private var contradictedAt: Timestamp?
  /// Distance in m between the receiver's and the beacons' position at the last contradiction; nil if there
  /// was none.
  private var contradictedDistance: Double?
  private var vouchers: FixCorroboration
  private var dates = DateScreen()
  /// Number of fixes that several beacons contradicted.
  private var contradictedFixes = 0

  /// Minimum distance in m between scans requested for learning, and between scans accepted for learning; and
  /// minimum speed in m/s for learning.
  private static let (learningWay, shortestWay, moving) = (50.0, 10.0, 2.0)
  /// Maximum number of scans that wait to be returned by `drainLearnable`.
  private static let mostLearnable = 16
  /// Maximum number of excluded beacons that wait to be returned by `drainOptedOut`.
  private static let mostOptedOut = 256
  /// Requirements for a contradiction: number of agreeing beacons, number of consecutive contradicting scans,
  /// and maximum radius in m (95 %) of the beacons' position.
  private static let (witnesses, doubts, sharpest) = (3.0, 2, 500.0)
  /// Time in s after the last contradicting scan from which the contradiction counts as ended.
  private static let doubtTime = 600.0
  /// A fix contradicts the beacons if its distance exceeds this multiple of its radius (68 %), plus these
  /// metres.
  private static let (fixRadii, slack) = (3.0, 100.0)

  init(_ configuration: PipelineConfiguration, map: (any BeaconMap)?) {
    let figures = configuration.energy
    learning = LearningSchedule(receiverPower: figures.power[.receiver] ?? 0)
    let mobility = Mobility(configuration.location.activity)
    positions = CoarsePositioning(
      map: map, radios: configuration.coarse.radios, figures: figures, mobility: mobility)
    vouchers = FixCorroboration(mobility: mobility)
  }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    let new = context.configuration
    guard Mobility(new.location.activity) == positions.mobility else {
      self = CoarseReports(new, map: positions.map)
      context.beaconContradiction = nil
      return
    }
    positions.reconfigure(radios: new.coarse.radios, figures: new.energy)
    learning.update(receiverPower: new.energy.power[.receiver] ?? 0)
  }

  /// True if several beacons have contradicted the receiver in consecutive scans.
  private var isContradicted: Bool { contradictions >= Self.doubts }

  /// Removes and returns the scans for learning since the last call, in order of time.
  mutating func drainLearnable() -> [LearnableScan] {
    defer { learnable = [] }
    return learnable
  }

  /// Removes and returns an approximate position, without civil time, that helps a receiver without a fix;
  /// nil if none was found since the last call.
  mutating func drainAid() -> PositionAid? {
    defer { aid = nil }
    return aid
  }

  /// Removes and returns beacons whose owners have excluded them from maps, as received since the last call.
  mutating func drainOptedOut() -> [Beacon] {
    guard !optedOut.isEmpty else { return [] }
    defer { optedOut = [] }
    return optedOut.sorted()
  }

  // MARK: Inputs

  /// Processes a scan, and passes on a position if it is better than all available positions.
  /// - Parameter needs: the requirements of all parts for sensors.
  mutating func process(_ scan: RadioScan, _ needs: PowerNeeds, _ context: inout PipelineContext) {
    let device = CoarsePositioning.Surroundings(
      fix: context.lastSeen, place: context.lastPlace, isAtRest: context.isAtRest,
      restSince: context.activitySince, needs: needs, time: context.timeBase.utc(at: scan.timestamp))
    if let location = locate(scan, device, context) { context.locations.append(location) }
    let contradiction = isContradicted ? contradictedDistance : nil
    if (contradiction == nil) != (context.beaconContradiction == nil) { context.isStatusOutdated = true }
    context.beaconContradiction = contradiction
    context.isPlanOutdated = true
  }

  private mutating func locate(
    _ scan: RadioScan, _ device: CoarsePositioning.Surroundings, _ context: PipelineContext
  ) -> Location? {
    guard let finding = positions.find(scan, device) else { return nil }
    for beacon in scan.optedOut where optedOut.count < Self.mostOptedOut { optedOut.insert(beacon) }
    if let fix = finding.fix {
      if !device.needs.takesCoarsePositions { account(for: scan, finding, device.day) }
      let isContested = judge(fix, finding) || isContradicted
      if !isContested || vouchers.corroborates(for: fix, against: finding.scan) {
        learn(scan, fix, context, isContested: isContested)
      }
    }
    guard let smooth = positions.adopt(finding, device) else { return nil }
    // A receiver whose last fix was near already has a better position than this one.
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

  /// Updates the contradictions with a fix and the beacons' position.
  /// - Returns: true if the beacons contradict the fix.
  private mutating func judge(_ fix: Location, _ finding: CoarsePositioning.Finding) -> Bool {
    // Only a scan with beacons of the map can refute the contradiction; without such a scan it ends by time.
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

  /// Adds the energy of a scan that is only used for learning to the learning schedule.
  private mutating func account(for scan: RadioScan, _ finding: CoarsePositioning.Finding, _ day: Int) {
    guard let map = positions.map else { return }
    learning.observe(scan, of: finding.radios, by: map, joules: positions.joules(of: finding), day: day)
  }

  private mutating func learn(
    _ scan: RadioScan, _ fix: Location, _ context: PipelineContext, isContested: Bool
  ) {
    let time = context.timeBase.utc(at: scan.timestamp)
    guard context.configuration.coarse.isLearning, fix.suspicion == nil,
      let accuracy = fix.horizontalAccuracy, accuracy > 0,
      accuracy <= LearnableScan.worstAccuracy, fix.positionSource != .inertial,
      context.isExact(fix), let shown = context.privacy.exact(fix.coordinate),
      learned.map({ $0.place.distance(to: fix.coordinate) >= Self.shortestWay }) ?? true,
      dates.process(time, at: scan.timestamp)
    else { return }
    learned = (scan.timestamp, fix.coordinate)
    // The oldest scan is dropped if `drainLearnable` is not called in time.
    if learnable.count == Self.mostLearnable { learnable.removeFirst() }
    learnable.append(
      LearnableScan(
        scan: scan, coordinate: shown, accuracy: accuracy, time: time,
        isContested: isContested))
  }

  // MARK: Outputs

  /// Adds the positions that radios can provide. The requirements of the other parts must be complete.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    needs.coarse = positions.supply(needs, isLearning: isLearningDue(needs, context), at: context.now)
  }

  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    if contradictedFixes > 0 { status.counters["fixes.contradicted"] = contradictedFixes }
  }

  /// Returns whether a radio scan together with the newest fix is worth its energy for learning. In motion,
  /// `LearningSchedule` decides while the receiver is on for other reasons. Where coarse positions would be
  /// sufficient, a scan is worth its energy if the map does not provide a position yet.
  private func isLearningDue(_ needs: PowerNeeds, _ context: PipelineContext) -> Bool {
    let (settings, now) = (context.configuration.coarse, context.now)
    guard settings.isLearning, let fix = context.lastSeen,
      abs(now.seconds(since: fix.timestamp)) <= CoarsePositioning.beside,
      let accuracy = fix.horizontalAccuracy, accuracy <= LearnableScan.worstAccuracy
    else { return false }
    let isOfUse =
      needs.takesCoarsePositions
      ? settings.radios.contains(.cellular) && positions.answered?.failedScans ?? 1 > 0
      : context.activity != .stationary && fix.speed ?? 0 >= Self.moving
        && learning.isDue(joules: positions.joules(of: settings.radios), at: now)
    guard isOfUse else { return false }
    if let last = positions.answered?.at, now.seconds(since: last) < LearningSchedule.shortestPause {
      return false
    }
    return learned.map { $0.place.distance(to: fix.coordinate) >= Self.learningWay } ?? true
  }
}
