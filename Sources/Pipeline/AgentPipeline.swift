package import Motion
package import Navigation
package import Positioning
package import Sensors
package import Spatial
package import Telemetry

/// The agent's decisions, from sensor events to messages, as a value without I/O.
///
/// Events and their times are the input, messages the output. The same value therefore runs live, in a replay
/// at maximum speed, and in tests with exact results.
package struct AgentPipeline: Sendable {
  private(set) var configuration: PipelineConfiguration
  var timeBase: TimeBase
  /// The latest time to which the pipeline has advanced.
  package private(set) var now: Timestamp
  var location: LocationReports
  /// Navigation filter; nil if it is disabled or impossible, and the receiver's positions are used without
  /// inertial sensors.
  var navigation: VehicleNavigation?
  var odometer: OdometerReports
  var trips: TripReports
  var altitude: AltitudeReports
  /// The newest accepted position of the receiver, before privacy; it need not have been published.
  var lastSeen: Location?
  /// The newest position from any source (receiver, navigation or radios), before privacy.
  var lastPlace: Location?
  var power: PowerControl
  var motion: MotionReports
  /// Signals of the CAN bus; nil if it is not read.
  var vehicle: VehicleReports?
  /// Driving events; nil if none are enabled.
  var drivingEvents: DrivingEventReports?
  /// Detects contradictions between the receiver, inertial navigation and the wheels.
  private var contradiction = PositionContradiction()
  /// Trace recording; nil if traces are disabled.
  var traces: TraceReports?
  /// Coarse positions from radio beacons.
  var coarse: CoarseReports
  /// State of rest or motion as last passed to other parts of the pipeline; nil if unknown.
  private(set) var activity: StationaryDetector.State?
  var status: StatusReporter
  /// Available sensors and navigation at the last check for changes of the motion services.
  var knownCapability: MotionCapability?
  /// Sample rates in Hz of the raw samples that a command has requested, by kind of sensor.
  var rawRates: [SensorKind: Double] = [:]
  /// The monitored regions with their states.
  package var regions = RegionMonitor()
  /// Where the regions come from, for `regions/state`. Set it together with `regions`.
  package var regionSource: RegionsStateMessage.Source?
  private var regionReporter = RegionReporter()
  /// Revision of the regions when undecided ones were last evaluated with the newest position.
  private var evaluatedRevision: Int?
  /// Time until which the receiver is powered because a region is undecided; nil if the receiver is not
  /// powered for this reason.
  private(set) var regionSearchEnd: Timestamp?
  /// Runtime state from outside the pipeline. Set it before a `status` is due.
  package var environment = AgentEnvironment() {
    didSet {
      power.observe(environment)
      drivingEvents?.observe(environment.device, at: now)
    }
  }

  /// - Parameters:
  ///   - configuration: the settings.
  ///   - start: current time by the device's monotonic clock.
  ///   - time: civil time at the start by the machine's clock.
  ///   - isClockSynchronized: true if the machine's clock is synchronized.
  ///   - version: version of the program, for `status`.
  ///   - calibration: calibration of the motion sensors from an earlier run.
  ///   - kept: navigation state of an earlier run.
  ///   - odometer: odometer state of an earlier run.
  ///   - trips: trip state of an earlier run; nil starts a new series of trip numbers, named by the start
  ///     time.
  ///   - beaconMap: positions of radio beacons; nil for none.
  package init(
    configuration: PipelineConfiguration, start: Timestamp, time: UTCTime,
    isClockSynchronized: Bool = true, version: String,
    calibration: MotionCalibration? = nil, navigation kept: StoredNavigation? = nil,
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

  /// Changes the configuration. Clocks, states of sources and a settled attitude filter are retained; parts
  /// with unchanged settings continue without interruption. Data collected under the old configuration are
  /// published first.
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
    next.contradiction = contradiction
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
    // A replaced location part does not know yet whether the vehicle is at rest. `activity` then stays nil,
    // so that the next scan reports the current activity to it.
    if !hasOtherLocations { next.activity = activity }
    self = next
    power.needsChanged()
    planPower(at: now)
  }

  /// Requests one location. `lastKnown` answers the request if rest confirms that the vehicle is still there,
  /// and if it is accurate enough. Otherwise the receiver, or a radio that is accurate enough, is powered
  /// until a location answers the request or the time limit is over.
  /// - Parameters:
  ///   - accuracy: required accuracy in m (68 %).
  ///   - timeLimit: time limit in s.
  ///   - mustBeFresh: true to require a new measurement even if rest confirms the last position.
  /// - Returns: true if `lastKnown` answers the request.
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

  /// Sets the minimum sample rate of each given kind of sensor in Hz, which also applies at rest. Sensors
  /// that are not given use their configured rates.
  /// - Returns: true if the rates have changed.
  package mutating func requestSamples(_ rates: [SensorKind: Double]) -> Bool {
    guard rates != rawRates else { return false }
    rawRates = rates
    power.needsChanged()
    planPower(at: now)
    return true
  }

  /// Returns why a kind of sensor is unavailable, with a remedy; nil if it is available.
  package func reason(against kind: SensorKind) -> String? { location.availability.reason(against: kind) }

  /// The newest position that may be published, even if it was not published; nil before the first.
  package var lastKnown: LocationMessage? {
    location.manager.location.map {
      LocationMessage(identity: nil, time: timeBase.utc(of: $0), location: $0)
    }
  }

  /// Accuracy in m (68 %) of the measurement from which `lastKnown` was made, before privacy reduced it; nil
  /// if unknown.
  package var lastKnownAccuracy: Double? { location.manager.measuredAccuracy }

  /// Processes an event, and passes the resulting messages to `send` in order.
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
      for speed in speeds {
        navigation?.process(speed)
        contradiction.observe(wheelSpeed: speed.speed, at: speed.timestamp)
      }
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

  /// Newest signals of the CAN bus; nil before the first signal, and if the bus is not read.
  package var vehicleSignals: VehicleSignals? { vehicle?.shown(timeBase) }

  /// Calibration of the motion sensors to store; it also reports whether a part of the initial calibration
  /// was discarded.
  package var calibration: MotionCalibration { motion.manager.calibration }
  package var hasDiscardedCalibration: Bool { motion.manager.hasDiscardedCalibration }

  /// Navigation state to store; nil before the mounting is known. It contains no private position.
  package var navigationToKeep: StoredNavigation? { navigation?.kept.map(shown) }

  /// Returns a navigation state; its position is removed if it is private.
  package func shown(_ kept: StoredNavigation) -> StoredNavigation {
    kept.shown(configuration.privacy, isReduced: configuration.location.desiredAccuracy == .reduced)
  }

  /// Configured privacy zones.
  package var privacyZones: [PrivacyPolicy.Zone] { configuration.privacy.zones }

  /// Outcome of the last tilt measurement, nil before the first; and the number of measurements.
  package internal(set) var lastLevel: (outcome: LevelOutcome?, count: Int) = (nil, 0)

  /// Updates civil time from the machine's clock, which is ignored in the replay of a recording.
  package mutating func observe(_ system: SystemTime, at timestamp: Timestamp) {
    let before = (timeBase.clock, timeBase.lastStep)
    timeBase.observe(system, at: timestamp)
    if (timeBase.clock, timeBase.lastStep) != before { status.setNeedsUpdate() }
  }

  /// Source of civil time.
  package var clock: StatusMessage.Clock { timeBase.clock }

  /// Last correction of civil time in s, positive if forward; nil if there was none.
  package var lastClockStep: Double? { timeBase.lastStep }

  /// Number of times that civil time jumped back. Messages need a new epoch then, because times must not
  /// decrease within an epoch.
  package var timeRegressions: Int { timeBase.regressions }

  /// Returns the civil time at a timestamp, by the best available clock.
  package func utc(at timestamp: Timestamp) -> UTCTime { timeBase.utc(at: timestamp) }

  /// Returns the civil time of a position, by the best available clock.
  func utc(of location: Location) -> UTCTime { timeBase.utc(of: location) }

  /// Current civil time of the pipeline, by the best available clock.
  package var civilTime: UTCTime { timeBase.utc(at: now) }

  /// Returns the nanoseconds to add to a timestamp for UTC; nil if no clock was set yet.
  package func utcOffset(at timestamp: Timestamp) -> Int64? { timeBase.knownOffset(at: timestamp) }

  /// Returns civil time by a synchronized or manually set clock; nil if there is none.
  package func trustedTime(at timestamp: Timestamp) -> UTCTime? { timeBase.trustedTime(at: timestamp) }

  /// Advances the time without an event.
  package mutating func advance(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    now = max(now, timestamp)
    // The power plan depends on these deadlines, and must be renewed when one has expired.
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

  /// The next time at which `advance` must be called if no event arrives earlier.
  package var nextDeadline: Timestamp? {
    [
      status.nextDeadline, location.nextDeadline, regions.nextDeadline, power.nextDeadline, regionSearchEnd,
      regionReporter.nextDeadline,
      motion.levelDeadline, navigation?.nextDeadline, vehicle?.nextDeadline, trips.nextDeadline,
      drivingEvents?.nextDeadline, traces?.nextDeadline,
    ].compactMap { $0 }.min()
  }

  /// Publishes pending messages and ends driving events, before the `status` of a clean stop.
  package mutating func finish(into send: (VehicleMessage) -> Void) {
    publishPending(into: send)
    finishDrivingEvents(into: send)
    trips.finish()
    for message in trips.drain(odometer, configuration.privacy) { send(.trip(message)) }
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

  /// Sets the device nodes that this process may not open, each with the kind of its sensor; nil if the kind
  /// is unknown.
  package mutating func observe(deniedNodes: [String: SensorKind?]) {
    location.observe(deniedNodes: deniedNodes)
  }

  /// True if the accelerometer reports rest.
  package var isAtRest: Bool { motion.activity == .stationary }

  /// True if the vehicle has been at rest since `lastKnown` was measured, so that it is still there.
  package var isAtLastKnown: Bool { isAtNewestPosition && !location.isWithholding }

  /// True if the vehicle has been at rest since its newest position was measured; that position need not be
  /// published.
  private var isAtNewestPosition: Bool {
    guard isAtRest, let since = motion.activitySince, let place = lastPlace else { return false }
    return place.suspicion == nil && place.timestamp >= since
      && (place.speed ?? 0) < PowerPlanner.restSpeed
  }

  /// True if the newest position is still valid: it was measured during the present rest, and at most
  /// `PowerPlanner.longestSleep` ago, when the receiver must measure again.
  var isPositionConfirmed: Bool {
    guard isAtNewestPosition, let place = lastPlace else { return false }
    return now.seconds(since: place.timestamp) <= PowerPlanner.longestSleep
  }

  /// The last published `status`; nil before the first.
  package private(set) var lastStatus: StatusMessage?
  /// Number of published `status` messages.
  package private(set) var statusCount = 0

  /// State of the attitude filter.
  package var motionReport: MotionReport { motion.report }

  /// Decides undecided regions by the last valid position, and schedules `regions/state`. If no valid
  /// position decides them, the receiver is powered for a limited time.
  package mutating func requestRegionStates(into send: (VehicleMessage) -> Void) {
    decideRegions(into: send)
    if regions.hasUndecided, !isPositionConfirmed { searchForRegions() }
    regionReporter.requestNow(at: now)
  }

  /// Resets all region states, and decides them by the last valid position.
  package mutating func resetRegionStates(into send: (VehicleMessage) -> Void) {
    regions.forgetStates()
    evaluateRegions(into: send)
  }

  /// Decides undecided regions by the last valid position, once after each change of the regions. If that
  /// position does not decide all regions, the receiver is powered for a limited time.
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

  /// The newest position that may be published, as valid for the current time. Unless rest confirms the
  /// position, the distance that the vehicle may have moved since is added to its accuracy. Nil without a
  /// position, and while positions are private.
  private var placeNow: Location? {
    guard let newest = lastPlace, newest.suspicion == nil, !location.isWithholding,
      var place = shownForRegions(newest)
    else {
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

  /// Returns a position in the form that regions use; nil if it is private.
  private func shownForRegions(_ location: Location) -> Location? {
    configuration.privacy.shown(location)?.forRegions
  }

  private mutating func process(_ fix: PositionFix, into send: (VehicleMessage) -> Void) {
    let fix = location.withoutNullIsland(fix)
    let clock = (timeBase.clock, timeBase.lastStep)
    motion.observe(fix)
    let locations = location.process(fix, &timeBase, into: send)
    for location in locations { altitude.observe(location) }
    if (timeBase.clock, timeBase.lastStep) != clock { status.setNeedsUpdate() }
    // The power plan uses the receiver's own positions, not those of navigation. The receiver can then sleep
    // without waiting for scans, and stays on while navigation bridges a tunnel.
    lastSeen = locations.last ?? lastSeen
    power.needsChanged()
    let timely = timeBase.withoutDelay(fix)
    let estimate = navigation?.estimate(at: timely.timestamp)
    contradiction.process(timely, estimate)
    location.observe(
      timely,
      speeds: [
        estimate.map { $0.speed - 3 * $0.velocityDeviation }, contradiction.wheelSpeed(at: timely.timestamp),
        fix.speed,
      ], fastest: estimate.map { $0.speed + 3 * $0.velocityDeviation })
    let isPlausible = locations.last.map { $0.timestamp == fix.timestamp && $0.suspicion == nil } ?? false
    drivingEvents?.process(timely, estimate, isPlausible: isPlausible || !configuration.location.isEnabled)
    if let context = traceContext { traces?.process(fix, context) }
    if estimate != nil, location.isReceiverFrozen {
      // Navigation bridges repeated positions like an outage.
      let silent = PositionFix(timestamp: timely.timestamp, time: timely.time, mode: .noFix)
      tell(navigation?.process(silent, []) ?? [], into: send)
    } else {
      tell(navigation?.process(timely, locations) ?? locations, into: send)
    }
  }

  /// Removes and returns the radio scans with accurate fixes since the last call, from which the beacon map
  /// learns.
  package mutating func drainLearnable() -> [LearnableScan] { coarse.drainLearnable() }

  /// Removes and returns an approximate position that helps a receiver without a fix; nil if none was found
  /// since the last call.
  package mutating func drainAid() -> PositionAid? {
    guard var aid = coarse.drainAid() else { return nil }
    aid.time = timeBase.trustedTime(at: aid.timestamp)
    return aid
  }

  /// Removes and returns beacons whose owners have excluded them from maps.
  package mutating func drainOptedOut() -> [Beacon] { coarse.drainOptedOut() }

  private mutating func process(_ scan: RadioScan, into send: (VehicleMessage) -> Void) {
    guard scan.isComplete else { return }
    let (privacy, isReduced) = (
      configuration.privacy, configuration.location.desiredAccuracy == .reduced
    )
    let time = timeBase.utc(at: scan.timestamp)
    let known = CoarseReports.Surroundings(
      device: CoarsePositioning.Surroundings(
        fix: lastSeen, place: lastPlace, isAtRest: motion.activity.map { $0 == .stationary },
        restSince: motion.activitySince, needs: powerNeeds, time: time),
      isShown: { !isReduced && privacy.shown($0) == $0 }, time: time)
    let wasContradicted = coarse.isContradicted
    if let place = coarse.process(scan, known) { tell([place], into: send) }
    if coarse.isContradicted != wasContradicted { status.setNeedsUpdate() }
    power.needsChanged()
  }

  /// Passes positions to all parts of the pipeline that use positions.
  private mutating func tell(_ locations: [Location], into send: (VehicleMessage) -> Void) {
    for var location in locations.map({ self.location.withDistanceDriven(altitude.improved($0)) }) {
      location.suspicion = suspicion(against: location)
      location.contradictsBeacons = coarse.isContradicted && location.positionSource != .coarse
      odometer.process(location, visibility(of: location))
      location.odometer = odometer.reading
      // Positions suspected of a jump are not used for trips. Other contradictions can last for a whole trip,
      // so their positions are used.
      if location.suspicion?.reason != .jump { observeTrips(location) }
      traces?.observe(location)
      self.location.process(location, timeBase, into: send)
      lastPlace = location
      power.needsChanged()
      motion.observe(location, time: timeBase.utc(of: location))
      if location.suspicion == nil, let shown = shownForRegions(location) {
        publish(regions.process(shown), into: send)
      } else {
        regions.interrupt()
      }
    }
  }

  /// Returns the contradiction that makes a position suspect; nil if there is none, or if the position does
  /// not use the receiver.
  private func suspicion(against location: Location) -> Suspicion? {
    switch location.positionSource {
    case .coarse, .inertial: return nil
    case .gnss, .fused, nil: break
    }
    if let own = location.suspicion { return own }
    if location.positionSource == .fused, let received = lastSeen?.suspicion { return received }
    if let dispute = contradiction.dispute {
      return Suspicion(dispute.source == .wheels ? .wheels : .navigation, distance: dispute.distance)
    }
    return coarse.isContradicted ? Suspicion(.beacons, distance: coarse.contradictedDistance) : nil
  }

  private func visibility(of location: Location) -> OdometerReports.Visibility {
    guard let shown = configuration.privacy.shown(location) else { return .withheld }
    let isReduced = configuration.location.desiredAccuracy == .reduced
    return isReduced || shown.coordinate != location.coordinate ? .reduced : .exact
  }

  /// Processes a block of scans one by one, so that results do not depend on the block size.
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
    // Navigation processes the scan first, so that its acceleration is available to the attitude filter,
    // which must separate gravity from it. Its locations are published after the scan's events.
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
    // The retained attitude message would otherwise contain the rotation rates of the drive while the vehicle
    // is parked.
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
