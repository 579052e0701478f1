package import Motion
package import Navigation
package import Positioning
package import Sensors
package import Spatial
package import Telemetry

/// From sensor events to messages: the whole of the agent's decisions, as a value without I/O.
///
/// Events go in with their time, messages come out. The same value therefore runs live, in a replay as fast as
/// the machine can, and in a test with exact answers.
package struct AgentPipeline: Sendable {
  private(set) var configuration: PipelineConfiguration
  var timeBase: TimeBase
  /// The latest time that it has advanced to.
  package private(set) var now: Timestamp
  var location: LocationReports
  /// Nil where motion and position stay apart.
  var navigation: VehicleNavigation?
  var odometer: OdometerReports
  var trips: TripReports
  var altitude: AltitudeReports
  /// The newest of the receiver's positions that was believed, as it came, told or not.
  var lastSeen: Location?
  /// The newest position of any source, as exact as it is known.
  var lastPlace: Location?
  var power: PowerControl
  var motion: MotionReports
  /// Nil where the vehicle's bus is not read.
  var vehicle: VehicleReports?
  /// Nil where no driving events are wanted.
  var drivingEvents: DrivingEventReports?
  /// Nil where no traces are kept.
  var traces: TraceReports?
  /// What radios hear and what it tells.
  var coarse: CoarseReports
  /// As it was told to those who plan by it, and since when.
  private(set) var activity: StationaryDetector.State?
  var status: StatusReporter
  /// What the motion side had to work with when it was last asked what it can tell.
  var knownCapability: MotionCapability?
  /// Hz of each kind of sensor that raw samples are wanted of.
  var rawRates: [SensorKind: Double] = [:]
  /// The regions that are watched, and what is known of each.
  package var regions = RegionMonitor()
  /// Where they come from; to be set with them.
  package var regionSource: RegionsStateMessage.Source?
  private var regionReporter = RegionReporter()
  /// Revision of the regions that were last compared with the newest position, outside of `process`.
  private var evaluatedRevision: Int?
  /// Until when the receiver is powered because a region is undecided; nil if it is not.
  private(set) var regionSearchEnd: Timestamp?
  /// What the pipeline cannot see. To be set before a `status` is due.
  package var environment = AgentEnvironment() {
    didSet {
      power.observe(environment)
      drivingEvents?.observe(environment.device, at: now)
    }
  }

  /// - Parameters:
  ///   - start: where the device's time line stands now.
  ///   - time: the civil time then by the machine's clock, as far as that knows.
  ///   - isClockSynchronized: whether something keeps that clock right.
  ///   - version: of the program, for `status`.
  ///   - calibration: of the motion sensors, from an earlier run.
  ///   - kept: what navigation has kept of an earlier run.
  ///   - odometer: what was kept of it in an earlier run.
  ///   - trips: what was kept of them in an earlier run; nil begins a series that is named by the start.
  ///   - beaconMap: what knows where transmitters stand; nil where nothing does.
  package init(
    configuration: PipelineConfiguration, start: Timestamp, time: UTCTime,
    isClockSynchronized: Bool = true, version: String,
    calibration: MotionCalibration? = nil, navigation kept: KeptNavigation? = nil,
    odometer: OdometerState? = nil, trips: TripState? = nil, beaconMap: (any BeaconMap)? = nil
  ) {
    self.configuration = configuration
    now = start
    timeBase = TimeBase(
      timestamp: start, system: SystemTime(time: time, isSynchronized: isClockSynchronized),
      isVirtual: configuration.isVirtual)
    location = LocationReports(configuration)
    navigation = VehicleNavigation(configuration, kept: kept)
    self.odometer = OdometerReports(configuration, kept: odometer)
    self.trips = TripReports(
      configuration, kept: trips ?? TripState(series: UInt64(bitPattern: time.nanoseconds)))
    altitude = AltitudeReports(configuration)
    coarse = CoarseReports(configuration, map: beaconMap)
    motion = MotionReports(configuration, calibration: calibration)
    vehicle = VehicleReports(configuration)
    drivingEvents = DrivingEventReports(configuration)
    traces = TraceReports(configuration)
    status = StatusReporter(start: start, interval: configuration.statusInterval, version: version)
    power = PowerControl(
      figures: configuration.energy, hasReceiver: configuration.hasReceiver,
      mobility: Mobility(configuration.location.activity))
    planPower(at: start)
  }

  /// Goes on under another configuration: times, sources and a settled attitude filter stay, and what has not changed goes on
  /// as if nothing were. What was collected under the old one is published first.
  package mutating func reconfigure(_ new: PipelineConfiguration, into send: (VehicleMessage) -> Void) {
    let hasOtherLocations =
      new.location != configuration.location || new.privacy != configuration.privacy
    if hasOtherLocations { publishPending(into: send) }
    if new.events != configuration.events { finishDrivingEvents(into: send) }
    var next = AgentPipeline(configuration: new, start: now, time: timeBase.utc(at: now), version: "")
    (next.timeBase, next.status, next.environment) = (timeBase, status, environment)
    next.status.interval = new.statusInterval
    (next.lastStatus, next.statusCount, next.lastLevel) = (lastStatus, statusCount, lastLevel)
    (next.regions, next.regionSource, next.regionReporter) = (regions, regionSource, regionReporter)
    next.regionSearchEnd = regionSearchEnd
    next.rawRates = rawRates
    (next.power, next.lastSeen, next.lastPlace) = (power, lastSeen, lastPlace)
    next.location.adopt(location)
    if !hasOtherLocations { next.location = location }
    next.navigation = navigation?.reconfigured(new) ?? next.navigation
    next.motion = motion.reconfigured(new)
    if next.navigation == nil { next.motion.mount(nil) }
    next.vehicle = vehicle?.reconfigured(new) ?? next.vehicle
    next.drivingEvents = drivingEvents.map { $0.reconfigured(new) } ?? next.drivingEvents
    next.traces = traces.map { $0.reconfigured(new) } ?? next.traces
    next.odometer = odometer.reconfigured(new)
    next.trips = trips.reconfigured(new)
    if drivingEvents == nil { next.trips.beginEvents() }
    next.altitude = altitude.reconfigured(new)
    next.coarse = coarse.reconfigured(new)
    // What has been told of rest is told again where nobody knows it yet.
    if !hasOtherLocations { next.activity = activity }
    self = next
    power.needsChanged()
    planPower(at: now)
  }

  /// Requests one location. `lastKnown` answers it if rest confirms that position and it is accurate enough; otherwise the
  /// receiver, or a radio that is accurate enough, is powered until a location answers the request or the time limit is over.
  /// - Parameters:
  ///   - accuracy: metres at 68 %.
  ///   - timeLimit: seconds.
  ///   - mustBeFresh: whether a position that rest confirms is no answer.
  /// - Returns: whether `lastKnown` answers it.
  @discardableResult
  package mutating func requestLocation(
    accuracy: Double, timeLimit: Double, mustBeFresh: Bool = false
  ) -> Bool {
    let isExact = (lastKnownAccuracy ?? .infinity) <= accuracy
    if !mustBeFresh, isPositionConfirmed, isExact, !location.isWithholding { return true }
    location.requestLocation(accuracy: accuracy, timeLimit: timeLimit, at: now)
    power.needsChanged()
    planPower(at: now)
    return false
  }

  /// Has sensors deliver at least at these rates (Hz), at rest, too; others are as they were configured.
  /// - Returns: whether they were others before.
  package mutating func requestSamples(_ rates: [SensorKind: Double]) -> Bool {
    guard rates != rawRates else { return false }
    rawRates = rates
    power.needsChanged()
    planPower(at: now)
    return true
  }

  /// Why a kind of sensor cannot be had, and what would help; nil when it can.
  package func reason(against kind: SensorKind) -> String? { location.availability.reason(against: kind) }

  /// The newest position that may be published, whether it was or not; nil before the first.
  package var lastKnown: LocationMessage? {
    location.manager.location.map {
      LocationMessage(identity: nil, time: timeBase.utc(of: $0), location: $0)
    }
  }

  /// Metres at 68 % of the position behind `lastKnown` as it was measured, before anything was blurred; nil when the receiver
  /// did not say.
  package var lastKnownAccuracy: Double? { location.manager.measuredAccuracy }

  /// Takes one event in; hands out the messages that follow from it, in order.
  package mutating func process(_ event: SensorEvent, into send: (VehicleMessage) -> Void) {
    switch event {
    case .inertial(let block): process(block, into: send)
    case .barometer(let block):
      for pressure in block { traces?.process(pressure) }
      guard configuration.isAltitudeWanted else { break }
      for pressure in block { navigation?.process(pressure) }
      altitude.process(block, timeBase, into: send)
    case .position(let fixes): for fix in fixes { process(fix, into: send) }
    case .vehicle(let readings):
      vehicle?.process(readings)
      let speeds = vehicle?.wheelSpeeds(readings) ?? []
      for speed in speeds { navigation?.process(speed) }
      drivingEvents?.process(readings, speeds)
      traces?.process(readings, speeds)
      let disagreement = odometer.disagreement
      odometer.process(speeds)
      odometer.process(readings)
      if let timestamp = event.timestamp {
        trips.process(readings, speeds, time: timeBase.utc(at: timestamp), odometer)
      }
      if odometer.disagreement != disagreement { status.setNeedsUpdate() }
    case .radio(let scans): for scan in scans { process(scan, into: send) }
    case .status(let change):
      motion.observe(change)
      traces?.observe(change)
      status.observe(change)
      observeCapabilities()
      location.observe(change, timeBase, into: send)
      if case .unavailable = change.state, change.kinds.contains(.accelerometer) {
        motion.forgetActivity()
        altitude.observe(isAtRest: nil)
        power.observe(nil, since: change.timestamp)
        activity = nil
        drivingEvents?.observe(isStanding: nil, at: change.timestamp)
        location.observe(nil, since: change.timestamp, at: change.timestamp, timeBase, into: send)
      }
    }
    power.observe(event)
    if let timestamp = event.timestamp { advance(to: timestamp, into: send) }
  }

  /// The newest of what the vehicle's bus told; nil before it told anything, and where it is not read.
  package var vehicleSignals: VehicleSignals? { vehicle?.shown(timeBase) }

  /// What to preserve of the motion sensors, and whether some of what was given at the start no longer fits.
  package var calibration: MotionCalibration { motion.manager.calibration }
  package var hasDiscardedCalibration: Bool { motion.manager.hasDiscardedCalibration }

  /// What to preserve of navigation; nil before it knows how the device sits in the vehicle. A place that may not be told as it
  /// is, is not preserved.
  package var navigationToKeep: KeptNavigation? { navigation?.kept.map(shown) }

  /// What may be kept of it: without the place where that may not be told as it is.
  package func shown(_ kept: KeptNavigation) -> KeptNavigation {
    kept.shown(configuration.privacy, isReduced: configuration.location.desiredAccuracy == .reduced)
  }

  /// Where positions are nobody's business.
  package var privacyZones: [PrivacyPolicy.Zone] { configuration.privacy.zones }

  /// How the last measurement of it ended, and how many have.
  package internal(set) var lastLevel: (outcome: LevelOutcome?, count: Int) = (nil, 0)

  /// Looks at the machine's clock, whose time is not the recording's while one is played.
  package mutating func observe(_ system: SystemTime, at timestamp: Timestamp) {
    let before = (timeBase.clock, timeBase.lastStep)
    timeBase.observe(system, at: timestamp)
    if (timeBase.clock, timeBase.lastStep) != before { status.setNeedsUpdate() }
  }

  /// Which clock civil time is taken from.
  package var clock: StatusMessage.Clock { timeBase.clock }

  /// Seconds by which civil time was last set; nil when it was not.
  package var lastClockStep: Double? { timeBase.lastStep }

  /// How often civil time went back by more than could be waited for, so that messages need another epoch.
  package var timeRegressions: Int { timeBase.regressions }

  /// Civil time, as far as it is known.
  package func utc(at timestamp: Timestamp) -> UTCTime { timeBase.utc(at: timestamp) }

  /// Civil time of a place, as far as it is known.
  func utc(of location: Location) -> UTCTime { timeBase.utc(of: location) }

  /// Civil time where the pipeline stands, as far as it is known.
  package var civilTime: UTCTime { timeBase.utc(at: now) }

  /// Nanoseconds to add to a timestamp for UTC; nil while no clock was set.
  package func utcOffset(at timestamp: Timestamp) -> Int64? { timeBase.knownOffset(at: timestamp) }

  /// Civil time by a clock that somebody keeps right or has set; nil while there is none.
  package func trustedTime(at timestamp: Timestamp) -> UTCTime? { timeBase.trustedTime(at: timestamp) }

  /// Lets time pass without an event.
  package mutating func advance(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    now = max(now, timestamp)
    // An expired deadline changes the plan.
    for due in [location.nextDeadline, navigation?.nextDeadline] {
      if let due, due <= timestamp { power.needsChanged() }
    }
    tell(navigation?.advance(to: timestamp) ?? [], into: send)
    location.advance(to: timestamp, timeBase, into: send)
    evaluateRegions(into: send)
    if let deadline = regions.nextDeadline, timestamp >= deadline {
      publish(regions.advance(to: timestamp), into: send)
    }
    if let report = vehicle?.due(at: timestamp, timeBase) { send(.vehicle(report)) }
    tellDrivingEvents(at: timestamp, into: send)
    if let due = traces?.nextDeadline, due <= timestamp { processWaitingScans() }
    traces?.advance(to: timestamp)
    advanceTrips(to: timestamp, into: send)
    motion.advanceLeveling(to: timestamp)
    finishLeveling()
    regionReporter.observe(regions, at: now)
    if let message = regionReporter.due(regions, source: regionSource, at: now, utc: timeBase.utc(at: now)) {
      send(.regionsState(message))
    }
    planPower(at: timestamp)
    guard var message = status.due(at: timestamp, timeBase: timeBase, environment: shown) else { return }
    describeServices(&message)
    message.energy = EnergyReport(energy(at: timestamp))
    lastStatus = message
    statusCount += 1
    send(.status(message))
  }

  /// When `advance` has something to do, if no event comes before.
  package var nextDeadline: Timestamp? {
    [
      status.nextDeadline, location.nextDeadline, regions.nextDeadline, power.nextDeadline, regionSearchEnd,
      regionReporter.nextDeadline,
      motion.levelDeadline, navigation?.nextDeadline, vehicle?.nextDeadline, trips.nextDeadline,
      drivingEvents?.nextDeadline, traces?.nextDeadline,
    ].compactMap { $0 }.min()
  }

  /// Publishes what is pending, before the farewell of a clean stop. Driving events that go on are over then.
  package mutating func finish(into send: (VehicleMessage) -> Void) {
    publishPending(into: send)
    finishDrivingEvents(into: send)
  }

  private mutating func publishPending(into send: (VehicleMessage) -> Void) {
    tell(navigation?.finish() ?? [], into: send)
    location.finish(at: now, timeBase, into: send)
    if let report = vehicle?.pending(timeBase) { send(.vehicle(report)) }
    regionReporter.observe(regions, at: now)
    if let message = regionReporter.pending(
      regions, source: regionSource, at: now, utc: timeBase.utc(at: now))
    {
      send(.regionsState(message))
    }
  }

  /// Learns which device nodes may not be opened, with the kind of sensor behind each where that is known.
  package mutating func observe(deniedNodes: [String: SensorKind?]) {
    location.observe(deniedNodes: deniedNodes)
  }

  /// Whether the accelerometer reports rest.
  package var isAtRest: Bool { motion.activity == .stationary }

  /// Whether the vehicle has been at rest since `lastKnown` was measured.
  package var isAtLastKnown: Bool { isAtNewestPosition && !location.isWithholding }

  /// Whether the vehicle has been at rest since its newest position was measured, published or not.
  private var isAtNewestPosition: Bool {
    guard isAtRest, let since = motion.activitySince, let place = lastPlace else { return false }
    return place.timestamp >= since && (place.speed ?? 0) < PowerPlanner.restSpeed
  }

  /// Whether the newest position is still valid: it was measured during the rest that the accelerometer reports, and not so
  /// long ago that the planner would look again.
  var isPositionConfirmed: Bool {
    guard isAtNewestPosition, let place = lastPlace else { return false }
    return now.seconds(since: place.timestamp) <= PowerPlanner.longestSleep
  }

  /// The last `status` that came out; nil before the first.
  package private(set) var lastStatus: StatusMessage?
  /// How often a `status` came out.
  package private(set) var statusCount = 0

  /// Where the attitude filter stands.
  package var motionReport: MotionReport { motion.report }

  /// Decides undecided regions by the last valid position, or powers the receiver for a limited time if there is none, and
  /// makes `regions/state` due at the next `advance`.
  package mutating func requestRegionStates(into send: (VehicleMessage) -> Void) {
    decideRegions(into: send)
    if regions.hasUndecided, !isPositionConfirmed { searchForRegions() }
    regionReporter.requestNow(at: now)
  }

  /// Resets all region states and decides them again by the last valid position.
  package mutating func resetRegionStates(into send: (VehicleMessage) -> Void) {
    regions.forgetStates()
    evaluateRegions(into: send)
  }

  /// Decides undecided regions by the last valid position, once after each change of the regions. Powers the receiver for a
  /// limited time if that position does not decide them all.
  private mutating func evaluateRegions(into send: (VehicleMessage) -> Void) {
    if regions.hasUndecided, regions.revision != evaluatedRevision {
      decideRegions(into: send)
      if regions.hasUndecided { searchForRegions() }
    }
    if let end = regionSearchEnd, end <= now || !regions.hasUndecided {
      regionSearchEnd = nil
      power.needsChanged()
    }
  }

  private mutating func decideRegions(into send: (VehicleMessage) -> Void) {
    if let place = placeNow { publish(regions.evaluateUndecided(at: place), into: send) }
    evaluatedRevision = regions.revision
  }

  private mutating func searchForRegions() {
    guard configuration.location.isEnabled, !location.isWithholding else { return }
    regionSearchEnd = now.advanced(bySeconds: PowerPlanner.searchLimit)
    power.needsChanged()
  }

  /// The newest position that may be shown, as of now: unless rest confirms it, its accuracy includes what the vehicle may have
  /// moved since. Nil without a position, and while positions are withheld.
  private var placeNow: Location? {
    guard let newest = lastPlace, !location.isWithholding, var place = shownForRegions(newest) else {
      return nil
    }
    if !isPositionConfirmed {
      let mobility = Mobility(configuration.location.activity)
      let age = max(0, now.seconds(since: place.timestamp))
      let accuracy = place.horizontalAccuracy ?? regions.settings.unknownAccuracy
      place.horizontalAccuracy =
        accuracy + mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    }
    (place.timestamp, place.time) = (now, timeBase.utc(at: now))
    return place
  }

  /// A position as regions may use it; nil where it is withheld.
  private func shownForRegions(_ location: Location) -> Location? {
    guard var shown = configuration.privacy.shown(location) else { return nil }
    // Errors of positions by radios have longer tails than a receiver's of the same accuracy: transmitters move.
    if shown.positionSource == .coarse { shown.horizontalAccuracy = shown.horizontalAccuracy.map { 2 * $0 } }
    return shown
  }

  private mutating func process(_ fix: PositionFix, into send: (VehicleMessage) -> Void) {
    let clock = (timeBase.clock, timeBase.lastStep)
    motion.observe(fix)
    let locations = location.process(fix, &timeBase, into: send)
    for location in locations { altitude.observe(location) }
    if (timeBase.clock, timeBase.lastStep) != clock { status.setNeedsUpdate() }
    // Power is planned by what the receiver has shown: it need not wait for scans to sleep, and must not sleep because a tunnel
    // is bridged.
    lastSeen = locations.last ?? lastSeen
    power.needsChanged()
    let timely = timeBase.withoutDelay(fix)
    drivingEvents?.process(timely, navigation?.estimate(at: timely.timestamp))
    if let context = traceContext { traces?.process(fix, context) }
    tell(navigation?.process(timely, locations) ?? locations, into: send)
  }

  /// Scans beside good fixes since the last call, for who learns from them where transmitters stand.
  package mutating func drainLearnable() -> [LearnableScan] { coarse.drainLearnable() }

  /// Where a receiver is about that has nothing as good itself, where that was found since the last call; nil else.
  package mutating func drainAid() -> PositionAid? {
    guard var aid = coarse.drainAid() else { return nil }
    aid.time = timeBase.trustedTime(at: aid.timestamp)
    return aid
  }

  /// Beacons that are not to be on maps any more, for who keeps one.
  package mutating func drainOptedOut() -> [Beacon] { coarse.drainOptedOut() }

  private mutating func process(_ scan: RadioScan, into send: (VehicleMessage) -> Void) {
    guard scan.isComplete else { return }
    let (privacy, isReduced) = (
      configuration.privacy, configuration.location.desiredAccuracy == .reduced
    )
    let known = CoarseReports.Surroundings(
      fix: lastSeen, place: lastPlace, isAtRest: motion.activity.map { $0 == .stationary },
      restSince: motion.activitySince,
      isShown: { !isReduced && privacy.shown($0) == $0 }, needs: powerNeeds,
      time: timeBase.utc(at: scan.timestamp))
    let wasContradicted = coarse.isContradicted
    if let place = coarse.process(scan, known) { tell([place], into: send) }
    if coarse.isContradicted != wasContradicted { status.setNeedsUpdate() }
    power.needsChanged()
  }

  /// Hands a place on to all that go by it.
  private mutating func tell(_ locations: [Location], into send: (VehicleMessage) -> Void) {
    for var location in locations.map({ altitude.improved($0) }) {
      location.contradictsBeacons = coarse.isContradicted && location.positionSource != .coarse
      odometer.process(location, visibility(of: location))
      location.odometer = odometer.reading
      observeTrips(location)
      traces?.observe(location)
      self.location.process(location, timeBase, into: send)
      lastPlace = location
      power.needsChanged()
      motion.observe(location, time: timeBase.utc(of: location))
      if let shown = shownForRegions(location) {
        publish(regions.process(shown), into: send)
      } else {
        regions.interrupt()
      }
    }
  }

  private func visibility(of location: Location) -> OdometerReports.Visibility {
    guard let shown = configuration.privacy.shown(location) else { return .withheld }
    let isReduced = configuration.location.desiredAccuracy == .reduced
    return isReduced || shown.coordinate != location.coordinate ? .reduced : .exact
  }

  /// Processes a block scan by scan, so that results do not depend on its size.
  private mutating func process(_ block: [InertialScan], into send: (VehicleMessage) -> Void) {
    motion.admit(block)
    var deadline = nextDeadline
    while let scan = motion.nextScan {
      process(scan, into: send)
      let time = scan.timestamp
      let isDue = deadline.map { $0 <= time } ?? false
      guard isDue || power.isPlanDue(at: time) || drivingEvents?.hasPending == true else { continue }
      advance(to: time, into: send)
      deadline = nextDeadline
    }
    motion.observe(block.last.flatMap { navigation?.estimate(at: $0.timestamp) })
    observeCapabilities()
  }

  private mutating func process(_ scan: InertialScan, into send: (VehicleMessage) -> Void) {
    let context = traceContext
    let wasAligned = navigation?.isAligned
    // First, so that its acceleration is available for finding gravity; its locations are published after the events.
    let places = navigate(scan, context)
    motion.process(scan, navigation?.drainAcceleration(), timeBase, into: send)
    if let context { traces?.process(scan, mounting: navigation?.mounting, context) }
    tell(places, into: send)
    if let wasAligned {
      if let way = navigation?.drainCorrection(timeBase) { location.correct(way, timeBase, into: send) }
      if navigation?.isAligned != wasAligned {
        status.setNeedsUpdate()
        power.needsChanged()
      }
      motion.mount(navigation?.mounting)
    }
    if let due = motion.dueMessages(after: scan) {
      motion.observe(navigation?.estimate(at: scan.timestamp))
      motion.publish(due, at: scan.timestamp, timeBase, into: send)
    }
    guard let since = motion.activitySince, motion.activity != activity else { return }
    activity = motion.activity
    // The retained attitude must not have the rates of the drive.
    if activity == .stationary { motion.reopenAttitude() }
    power.observe(activity, since: since)
    altitude.observe(isAtRest: activity.map { $0 == .stationary })
    drivingEvents?.observe(isStanding: activity.map { $0 == .stationary }, at: scan.timestamp)
    location.observe(activity, since: since, at: scan.timestamp, timeBase, into: send)
  }

  private func publish(_ events: [RegionEvent], into send: (VehicleMessage) -> Void) {
    for event in events {
      send(.region(RegionMessage(time: event.time ?? timeBase.utc(at: event.timestamp), event: event)))
    }
  }
}
