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
///
/// The pipeline is a composition of parts that share a context. This file contains the order in which the parts
/// process each input; the parts contain the decisions.
package struct AgentPipeline: Sendable {
  private var context: PipelineContext
  private var location: LocationReports
  private var plausibility = PositionPlausibility()
  /// Navigation filter; nil if it is disabled or impossible, and the receiver's positions are used without
  /// inertial sensors.
  private var navigation: VehicleNavigation?
  private var motion: MotionReports
  private var altitude: AltitudeReports
  private var odometer: OdometerReports
  private var trips: TripReports
  /// Signals of the CAN bus; nil if it is not read.
  private var vehicle: VehicleReports?
  /// Driving events; nil if none are enabled.
  private var drivingEvents: DrivingEventReports?
  /// Trace recording; nil if traces are disabled.
  private var traces: TraceReports?
  /// Coarse positions from radio beacons.
  private var coarse: CoarseReports
  private var regionReports = RegionReports()
  private var local = LocalReports()
  private var localMotion = LocalMotion()
  private var power: PowerControl
  private var status: StatusReporter
  /// State of rest or motion as last passed to the parts; nil if unknown.
  private var activity: StationaryDetector.State?

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
    context = PipelineContext(
      configuration, start: start, SystemTime(time: time, isSynchronized: isClockSynchronized))
    location = LocationReports(configuration)
    navigation = VehicleNavigation(configuration, kept: kept)
    motion = MotionReports(configuration, calibration: calibration)
    altitude = AltitudeReports(configuration)
    self.odometer = OdometerReports(configuration, kept: odometer)
    self.trips = TripReports(
      configuration, kept: trips ?? TripState(series: UInt64(bitPattern: time.nanoseconds)))
    vehicle = VehicleReports(configuration)
    drivingEvents = DrivingEventReports(configuration)
    traces = TraceReports(configuration)
    coarse = CoarseReports(configuration, map: beaconMap)
    power = PowerControl(
      figures: configuration.energy, hasReceiver: configuration.hasReceiver,
      mobility: Mobility(configuration.location.activity))
    status = StatusReporter(start: start, version: version)
    self.odometer.share(&context)
    planPower(at: start)
  }

  // MARK: The order of processing

  /// Processes an event, and passes the resulting messages to `send` in order.
  package mutating func process(_ event: SensorEvent, into send: (VehicleMessage) -> Void) {
    switch event {
    case .inertial(let block): process(block)
    case .barometer(let pressures):
      traces.process(pressures, &context)
      navigation.process(pressures, &context)
      altitude.process(pressures, &context)
    case .position(let fixes): for fix in fixes { process(fix) }
    case .vehicle(let readings): process(readings, at: event.timestamp)
    case .radio(let scans): for scan in scans where scan.isComplete { process(scan) }
    case .status(let change): process(change)
    }
    power.observe(event, &context)
    if let timestamp = event.timestamp { advance(to: timestamp) }
    publish(into: send)
  }

  /// The order for a report of the receiver.
  private mutating func process(_ fix: PositionFix) {
    var step = FixStep(fix)
    location.process(&step, &context)
    motion.process(&step, &context)
    altitude.process(&step, &context)
    step.estimate = navigation?.estimate(at: step.timely.timestamp)
    plausibility.process(&step, &context)
    drivingEvents.process(&step, &context)
    traces.process(&step, &context)
    navigation.process(&step, &context)
    local.process(&step, &context)
    pass(step.locations)
  }

  /// The order for an inertial scan.
  private mutating func process(_ scan: InertialScan) {
    var step = ScanStep(scan: scan, restSince: context.restSince)
    // Navigation processes the scan first, so that its acceleration is available to the attitude filter,
    // which must separate gravity from it. Its locations are published after the scan's events.
    navigation.process(&step, &context)
    drivingEvents.process(&step, &context)
    motion.process(&step, &context)
    traces.process(&step, &context)
    pass(step.locations)
    if var fused = step.fused {
      plausibility.process(&fused, &context)
      report(&fused)
    }
    location.process(&step, &context)
    motion.mount(context.mounting)
    if let due = motion.dueMessages(after: scan, context) {
      motion.observe(navigation?.estimate(at: scan.timestamp))
      motion.publish(due, at: scan.timestamp, &context)
    }
    if localMotion.isDue(at: scan.timestamp) { reportMotion(at: scan.timestamp) }
    passActivity(at: scan.timestamp)
  }

  /// The order for positions from any source.
  private mutating func pass(_ locations: [Location]) {
    for var location in locations {
      altitude.process(&location, &context)
      plausibility.process(&location, &context)
      context.cells.process(location, context.privacy)
      odometer.process(&location, &context)
      trips.process(&location, &context)
      traces.process(&location, &context)
      self.location.process(&location, &context)
      motion.process(&location, &context)
      regionReports.process(&location, &context)
      report(&location)
      context.lastPlace = location
      context.isPlanOutdated = true
    }
  }

  /// Reports a position to programs on this machine, with the attitude of that time.
  private mutating func report(_ location: inout Location) {
    if local.isAttitudeUsed {
      local.observe(
        navigation?.estimate(at: location.timestamp), motion: motion.localAttitude,
        declination: motion.declination)
    }
    local.process(&location, &context)
  }

  /// Reports orientation and heading to programs on this machine.
  private mutating func reportMotion(at timestamp: Timestamp) {
    var heading: Double?
    if localMotion.isHeadingDue(at: timestamp) {
      heading = navigation?.estimate(at: timestamp)?.heading ?? motion.compassHeading
    }
    localMotion.observe(motion.orientation, heading: heading, at: timestamp)
  }

  /// The order for readings of the CAN bus.
  private mutating func process(_ readings: [VehicleReading], at timestamp: Timestamp?) {
    guard var step = VehicleStep(readings, at: timestamp) else { return }
    vehicle.process(&step, &context)
    motion.process(&step, &context)
    passActivity(at: step.timestamp)
    location.process(&step, &context)
    navigation.process(&step, &context)
    plausibility.process(&step, &context)
    drivingEvents.process(&step, &context)
    traces.process(&step, &context)
    odometer.process(&step, &context)
    trips.process(&step, &context)
  }

  /// The order for a complete radio scan.
  private mutating func process(_ scan: RadioScan) {
    coarse.process(scan, needs, &context)
    pass(context.drainLocations())
  }

  /// The order for a change of a source's state.
  private mutating func process(_ change: SourceStatus) {
    motion.observe(change, &context)
    local.observe(change)
    traces.observe(change, &context)
    status.observe(change, &context)
    motion.observeCapabilities(&context)
    localMotion.observe(sensors: motion.sensors, isNavigated: motion.isNavigated)
    location.observe(change, &context)
    if case .unavailable = change.state, change.kinds.contains(.accelerometer) {
      motion.forgetActivity(&context)
      pass(ActivityChange(state: nil, since: change.timestamp, timestamp: change.timestamp))
    }
  }

  /// Passes the state of rest or motion to the parts if it has changed.
  private mutating func passActivity(at timestamp: Timestamp) {
    guard let since = context.activitySince, context.activity != activity else { return }
    pass(ActivityChange(state: context.activity, since: since, timestamp: timestamp))
  }

  /// The order for a change between rest and motion.
  private mutating func pass(_ change: ActivityChange) {
    activity = change.state
    motion.observe(change, &context)
    power.observe(change, &context)
    altitude.observe(change, &context)
    drivingEvents.observe(change, &context)
    location.observe(change, &context)
  }

  /// The order in which time passes.
  private mutating func advance(to timestamp: Timestamp) {
    context.now = max(context.now, timestamp)
    navigation.advance(to: timestamp, &context)
    pass(context.drainLocations())
    location.advance(to: timestamp, &context)
    regionReports.advance(to: timestamp, &context)
    local.advance(to: timestamp, &context)
    vehicle.advance(to: timestamp, &context)
    drivingEvents.advance(to: timestamp, &context)
    trips.publishLeftEvents(&context)
    trips.publishEvents(&context)
    if let due = traces.nextDeadline(context), due <= timestamp { processWaitingScans() }
    traces.advance(to: timestamp, &context)
    trips.advance(to: timestamp, &context)
    motion.advance(to: timestamp, &context)
    regionReports.publishStates(&context)
    planPower(at: timestamp)
    if status.isDue(at: timestamp, context) {
      status.publish(report(.online, at: timestamp), at: timestamp, &context)
    }
  }

  /// The next time at which `advance` must be called if no event arrives earlier.
  package var nextDeadline: Timestamp? {
    [
      navigation.nextDeadline(context), location.nextDeadline(context), regionReports.nextDeadline(context),
      local.nextDeadline(context),
      vehicle.nextDeadline(context), drivingEvents.nextDeadline(context), traces.nextDeadline(context),
      trips.nextDeadline(context), motion.nextDeadline(context), power.nextDeadline(context),
      status.nextDeadline(context),
    ].compactMap { $0 }.min()
  }

  /// The order in which messages are published before a stop or a change of the settings.
  private mutating func publishPending() {
    navigation.publishPending(&context)
    pass(context.drainLocations())
    location.publishPending(&context)
    vehicle.publishPending(&context)
    regionReports.publishPending(&context)
  }

  /// Changes the configuration. Clocks, states of sources and a settled attitude filter are retained; parts
  /// with unchanged settings continue without interruption. Data collected under the old configuration are
  /// published first.
  /// - Returns: true if locations are reported in another way or with another privacy. Earlier positions may be private
  ///   then, and requests for one location have ended.
  @discardableResult
  package mutating func reconfigure(
    _ new: PipelineConfiguration, into send: (VehicleMessage) -> Void
  ) -> Bool {
    let old = context.configuration
    let hasOtherLocations = new.hasOtherLocations(than: old)
    if hasOtherLocations { publishPending() }
    if new.events != old.events { finishDrivingEvents() }
    if !new.hasTrips { trips.end(&context) }
    context.configuration = new
    if hasOtherLocations { context.cells = BlurredCells() }
    if !new.location.isEnabled { (context.lastSeen, context.lastPlace) = (nil, nil) }
    location.reconfigure(from: old, &context)
    navigation.reconfigure(from: old, &context)
    motion.reconfigure(from: old, &context)
    altitude.reconfigure(from: old, &context)
    odometer.reconfigure(from: old, &context)
    trips.reconfigure(from: old, &context)
    vehicle.reconfigure(from: old, &context)
    drivingEvents.reconfigure(from: old, &context)
    traces.reconfigure(from: old, &context)
    coarse.reconfigure(from: old, &context)
    regionReports.reconfigure(from: old, &context)
    local.reconfigure(from: old, &context)
    power.reconfigure(from: old, &context)
    if old.events.kinds.isEmpty { drivingEvents?.observeEnvironment(&context) }
    // A replaced location part does not know yet whether the vehicle is at rest. The next scan reports the current
    // activity to it.
    if hasOtherLocations { activity = nil }
    replanPower()
    publish(into: send)
    return hasOtherLocations
  }

  /// Requirements of all parts for sensors. Later parts use those of earlier ones.
  private var needs: PowerNeeds {
    var needs = PowerNeeds()
    location.add(to: &needs, context)
    navigation.add(to: &needs, context)
    regionReports.add(to: &needs, context)
    altitude.add(to: &needs, context)
    motion.add(to: &needs, context)
    power.add(to: &needs, context)
    local.add(to: &needs, context)
    localMotion.add(to: &needs, context)
    coarse.add(to: &needs, context)
    return needs
  }

  /// Returns a `status` message with the current content, without publishing it.
  package func report(_ state: StatusMessage.State, at timestamp: Timestamp) -> StatusMessage {
    var message = status.message(state, at: timestamp, context)
    location.describe(in: &message, context)
    motion.describe(in: &message, context)
    altitude.describe(in: &message, context)
    navigation.describe(in: &message, context)
    odometer.describe(in: &message, context)
    coarse.describe(in: &message, context)
    message.energy = EnergyReport(energy(at: timestamp))
    return message
  }

  /// Processes a block of scans one by one, so that results do not depend on the block size.
  private mutating func process(_ block: [InertialScan]) {
    motion.admit(block)
    var deadline = nextDeadline
    while let scan = motion.nextScan {
      process(scan)
      let time = scan.timestamp
      let isDue = deadline.map { $0 <= time } ?? false
      guard isDue || power.isPlanDue(at: time, context) || !context.drivingEvents.isEmpty else { continue }
      advance(to: time)
      deadline = nextDeadline
    }
    motion.observe(block.last.flatMap { navigation?.estimate(at: $0.timestamp) })
    motion.observeCapabilities(&context)
    localMotion.observe(sensors: motion.sensors, isNavigated: motion.isNavigated)
  }

  private mutating func publish(into send: (VehicleMessage) -> Void) {
    for message in context.drainMessages() { send(message) }
  }

  // MARK: Time

  /// Advances the time without an event.
  package mutating func advance(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    advance(to: timestamp)
    publish(into: send)
  }

  /// Publishes pending messages and ends driving events, before the `status` of a clean stop.
  package mutating func finish(into send: (VehicleMessage) -> Void) {
    publishPending()
    finishDrivingEvents()
    trips.finish(&context)
    publish(into: send)
  }

  /// The latest time to which the pipeline has advanced.
  package var now: Timestamp { context.now }

  /// Updates civil time from the machine's clock, which is ignored in the replay of a recording.
  package mutating func observe(_ system: SystemTime, at timestamp: Timestamp) {
    let before = (clock, lastClockStep)
    context.timeBase.observe(system, at: timestamp)
    if (clock, lastClockStep) != before { context.isStatusOutdated = true }
  }

  /// Source of civil time.
  package var clock: StatusMessage.Clock { context.timeBase.clock }

  /// Last correction of civil time in s, positive if forward; nil if there was none.
  package var lastClockStep: Double? { context.timeBase.lastStep }

  /// Number of times that civil time jumped back. Messages need a new epoch then, because times must not
  /// decrease within an epoch.
  package var timeRegressions: Int { context.timeBase.regressions }

  /// Returns the civil time at a timestamp, by the best available clock.
  package func utc(at timestamp: Timestamp) -> UTCTime { context.timeBase.utc(at: timestamp) }

  /// Current civil time of the pipeline, by the best available clock.
  package var civilTime: UTCTime { utc(at: now) }

  /// Returns the nanoseconds to add to a timestamp for UTC; nil if no clock was set yet.
  package func utcOffset(at timestamp: Timestamp) -> Int64? { context.timeBase.knownOffset(at: timestamp) }

  /// Returns civil time by a synchronized or manually set clock; nil if there is none.
  package func trustedTime(at timestamp: Timestamp) -> UTCTime? {
    context.timeBase.trustedTime(at: timestamp)
  }

  // MARK: Location

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
    if !mustBeFresh, context.isPositionConfirmed, isExact, !context.isWithholding { return true }
    location.requestLocation(accuracy: accuracy, timeLimit: timeLimit, context)
    replanPower()
    return false
  }

  /// The newest position that may be published, even if it was not published; nil before the first.
  package var lastKnown: LocationMessage? {
    location.manager.location.map {
      LocationMessage(identity: nil, time: context.timeBase.utc(of: $0.location), location: $0)
    }
  }

  /// Accuracy in m (68 %) of the measurement from which `lastKnown` was made, before privacy reduced it; nil
  /// if unknown.
  package var lastKnownAccuracy: Double? { location.manager.measuredAccuracy }

  /// True if the vehicle has been at rest since `lastKnown` was measured, so that it is still there.
  package var isAtLastKnown: Bool { context.isAtNewestPosition && !context.isWithholding }

  /// True if the pipeline publishes locations.
  package var hasLocations: Bool { context.configuration.location.isEnabled }

  /// Returns a stored position if it may still be published; nil if it has become private.
  package func shown(stored coordinate: Coordinate) -> ShownCoordinate? {
    context.configuration.shown(stored: coordinate)
  }

  /// Configured privacy zones.
  package var privacyZones: [PrivacyPolicy.Zone] { context.privacy.zones }

  /// Navigation state to store; nil before the mounting is known. It contains no private position.
  package var navigationToKeep: StoredNavigation? { navigation?.kept.map(shown) }

  /// Returns a navigation state; its position is removed if it is private.
  package func shown(_ kept: StoredNavigation) -> StoredNavigation {
    kept.shown(context.privacy, isReduced: context.isReduced)
  }

  /// The navigation estimate; nil unless navigation is aligned and scans are recent.
  package var estimate: NavigationEstimate? { navigation?.estimate(at: now) }

  /// The position that navigation continues without the receiver; nil if it does not.
  package var carried: CarriedPosition? { navigation?.carried(at: now) }

  /// Removes and returns the radio scans with accurate fixes since the last call, from which the beacon map
  /// learns.
  package mutating func drainLearnable() -> [LearnableScan] { coarse.drainLearnable() }

  /// Removes and returns an approximate position that helps a receiver without a fix; nil if none was found
  /// since the last call.
  package mutating func drainAid() -> PositionAid? {
    guard var aid = coarse.drainAid() else { return nil }
    aid.time = trustedTime(at: aid.timestamp)
    return aid
  }

  /// Removes and returns beacons whose owners have excluded them from maps.
  package mutating func drainOptedOut() -> [Beacon] { coarse.drainOptedOut() }

  // MARK: Regions

  /// The monitored regions with their states.
  package var regions: RegionMonitor {
    get { regionReports.monitor }
    set { regionReports.monitor = newValue }
  }

  /// The origin of the regions, for `regions/state`. Set it together with `regions`.
  package var regionSource: RegionsStateMessage.Source? {
    get { regionReports.source }
    set { regionReports.source = newValue }
  }

  /// Decides undecided regions by the last valid position, and schedules `regions/state`. If no valid
  /// position decides them, the receiver is powered for a limited time.
  package mutating func requestRegionStates(into send: (VehicleMessage) -> Void) {
    regionReports.requestStates(&context)
    publish(into: send)
  }

  /// Resets all region states, and decides them by the last valid position.
  package mutating func resetRegionStates(into send: (VehicleMessage) -> Void) {
    regionReports.resetStates(&context)
    publish(into: send)
  }

  // MARK: Motion

  /// True if the accelerometer reports rest.
  package var isAtRest: Bool { context.activity == .stationary }

  /// Calibration of the motion sensors to store; it also reports whether a part of the initial calibration
  /// was discarded.
  package var calibration: MotionCalibration { motion.manager.calibration }
  package var hasDiscardedCalibration: Bool { motion.manager.hasDiscardedCalibration }

  /// State of the attitude filter.
  package var motionReport: MotionReport { motion.report }

  /// Makes the current attitude the reference: from now on, attitudes are also published relative to it.
  /// - Returns: the reference attitude and its frame; nil if no attitude is available, in which case the
  ///   previous reference remains.
  package mutating func zeroAttitude() -> AttitudeMessage? {
    var message = motion.setZero()
    message?.time = civilTime
    return message
  }

  /// Removes the reference: attitudes are only published relative to their frame.
  package mutating func clearZero() { motion.clearZero() }

  /// Starts measuring the tilt of the device in the vehicle; `lastLevel` contains the outcome later.
  package mutating func startLeveling() {
    motion.startLeveling(&context)
    planPower(at: now)
  }

  /// Removes the tilt compensation.
  package mutating func clearLevel() {
    motion.clearLevel()
    context.isStatusOutdated = true
  }

  /// The measured tilt of the device in the vehicle, which is compensated; nil if it was not measured.
  package var level: LevelCalibration? { motion.manager.level }

  /// Outcome of the last tilt measurement, nil before the first; and the number of measurements.
  package var lastLevel: (outcome: LevelOutcome?, count: Int) { motion.lastLevel }

  // MARK: Odometer, trips and vehicle

  /// State of the odometer to store; nil before the first position.
  package var odometerToKeep: OdometerState? { odometer.state(context) }

  /// Difference in m between the measured distance and the distance with which the odometer would continue
  /// after a restart; nil if no state is stored yet.
  package var odometerRisk: Double? { odometer.risk }

  /// Reports the odometer state that is now stored on disk; nil if the disk is not writable.
  package mutating func observe(odometerKept state: OdometerState?) {
    odometer.observe(kept: state, &context)
  }

  /// Sets the odometer to a reading of the vehicle's instrument panel.
  /// - Parameter reading: the reading in m.
  /// - Returns: the previous reading in m as far as privacy permits; nil if it is private, or if there is no
  ///   odometer.
  package mutating func setOdometer(reading: Double) -> Double? { odometer.set(reading: reading, &context) }

  /// True if the pipeline has an odometer, which requires locations to be enabled.
  package var hasOdometer: Bool { odometer.isEnabled }

  /// Number of times that the odometer was set by a command.
  package var odometerSetCount: Int { odometer.setCount }

  /// Relative excess of the measured distance over the distance by the vehicle's own odometer; nil if they
  /// agree.
  package var odometerDisagreement: Double? { odometer.disagreement }

  /// Newest signals of the CAN bus; nil before the first signal, and if the bus is not read.
  package var vehicleSignals: VehicleSignals? { vehicle?.shown(context.timeBase) }

  /// State of trips and event numbers to store; nil if trips and driving events are disabled.
  package var tripsToKeep: TripState? { keepsTrips ? trips.recorder.state : nil }

  /// True if trips or driving events have state to store.
  package var keepsTrips: Bool {
    trips.isEnabled || drivingEvents != nil || !trips.recorder.state.lasting.isEmpty
  }

  /// Counter that increases with every change of the trip state that must be stored immediately.
  package var tripMilestones: Int { trips.recorder.milestones }

  /// True if a trip is in progress and the vehicle moves.
  package var isTripMoving: Bool { trips.recorder.isMoving }

  /// True if trips are enabled, which requires locations to be enabled.
  package var hasTrips: Bool { trips.isEnabled }

  /// Records that the outbox has accepted a trip message, so that it is not published again after a restart.
  package mutating func confirm(_ trip: TripMessage) { trips.confirm(trip) }

  /// Records that the outbox has accepted the message of a driving event.
  package mutating func confirm(_ event: DrivingEventMessage) { trips.confirm(event) }

  /// Sets the driver of the current and all later trips; nil clears the driver.
  package mutating func setTrip(driver: String?) { trips.set(driver: driver) }

  /// Sets the purpose of the current trip, or of the next one outside of a trip; nil clears the purpose.
  package mutating func setTrip(purpose: String?) { trips.set(purpose: purpose) }

  /// Current driver and purpose, by the keys `driver` and `purpose`; a missing key means that none is set.
  package var tripLabels: [String: String] { trips.labels }

  private mutating func finishDrivingEvents() {
    drivingEvents?.finish(&context)
    trips.publishEvents(&context)
  }

  // MARK: Traces

  /// Removes and returns the actions on traces since the last call, in the order of their execution.
  package mutating func drainTraceSteps() -> [TraceStep] { traces?.drain() ?? [] }

  /// Ends traces in progress, before the pipeline stops.
  package mutating func finishTraces() {
    processWaitingScans()
    traces?.finish(context)
  }

  /// Requests that all traces are stored immediately, because power may fail.
  package mutating func saveTraces() {
    processWaitingScans()
    traces?.save(context)
  }

  /// Starts a trace on request.
  package mutating func requestTrace(_ request: TraceRequest) -> TraceRequest.Answer {
    traces?.begin(request, context) ?? .refused("traces are disabled (trace.enabled)")
  }

  /// The positions that traces may contain.
  package var exactPlaces: ExactPositions { ExactPositions(context.configuration) }

  /// Adds scans to the traces without waiting any longer for older scans of other sensors.
  private mutating func processWaitingScans() {
    traces?.processEarly(motion.manager.waitingScans, context)
  }

  // MARK: Power

  /// Current demand for each kind of sensor.
  package var demands: [SensorKind: SensorDemand] { power.demands }

  /// Maximum demand for each kind of sensor: the demand in motion, without energy saving.
  package var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: needs) }

  /// Returns the current demands if they changed since the last call; nil if unchanged.
  package mutating func drainDemands() -> [SensorKind: SensorDemand]? { power.drainDemands() }

  /// Sets the minimum sample rate of each given kind of sensor in Hz, which also applies at rest. Sensors
  /// that are not given use their configured rates.
  /// - Returns: true if the rates have changed.
  package mutating func requestSamples(_ rates: [SensorKind: Double]) -> Bool {
    guard rates != power.rawRates else { return false }
    power.rawRates = rates
    replanPower()
    return true
  }

  package mutating func planPower(at time: Timestamp) {
    // Computing the needs takes time, so they are computed only if a new plan is due.
    guard power.isPlanDue(at: time, context) else { return }
    power.plan(needs, at: time, &context)
    motion.observe(power.demands)
    let isReceiverOn = power.demands[.positioning]?.isOn ?? true
    // Navigation can continue the position while the receiver is off, so that the error bound is still
    // monitored.
    location.observe(isReceiverOn: isReceiverOn || navigation?.carried(at: time) != nil)
    navigation?.observe(isReceiverOn: isReceiverOn, at: time)
    altitude.observe(isReceiverOn: isReceiverOn)
    local.observe(isReceiverOn: isReceiverOn)
  }

  /// Sets the requirements of the programs on this machine that receive positions.
  package mutating func observe(_ demand: LocalDemand) {
    local.set(demand, &context)
    replanPower()
  }

  /// Removes and returns the reports for programs on this machine since the last call.
  package mutating func drainLocal() -> [LocalEpoch] { local.drain() }

  /// The data that programs on this machine can receive.
  package var localSources: LocalSources {
    LocalSources(
      sensors: motion.sensors.union(local.hasBarometer ? [.barometer] : []),
      isLocationEnabled: context.configuration.location.isEnabled)
  }

  /// Time in s for which programs on this machine have required the receiver to be on.
  package var localReceiverSeconds: Double { local.receiverSeconds(at: now) }

  /// Sets the requirements of the programs on this machine that receive orientation and heading.
  package mutating func observe(_ demand: LocalMotionDemand) {
    localMotion.set(demand, &context)
    replanPower()
  }

  /// Returns orientation and heading for programs on this machine if they have changed since the last call; nil if
  /// unchanged.
  package mutating func drainLocalMotion() -> LocalMotionState? { localMotion.drain() }

  private mutating func replanPower() {
    context.isPlanOutdated = true
    planPower(at: now)
  }

  /// Counts messages that were handed over for delivery, for the energy account.
  package mutating func observe(messages: Int) { power.observe(messages: messages) }

  /// Returns the energy that each component of the device has used until a time.
  package func energy(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { power.accounts(at: time) }

  // MARK: Status

  /// Runtime state from outside the pipeline. Set it before a `status` is due.
  package var environment: AgentEnvironment {
    get { context.environment }
    set {
      context.environment = newValue
      power.observe(newValue)
      drivingEvents?.observeEnvironment(&context)
    }
  }

  /// Returns why a kind of sensor is unavailable, with a remedy; nil if it is available.
  package func reason(against kind: SensorKind) -> String? { context.availability.reason(against: kind) }

  /// Sets the device nodes that this process may not open, each with the kind of its sensor; nil if the kind
  /// is unknown.
  package mutating func observe(deniedNodes: [String: SensorKind?]) {
    context.availability.deniedNodes = deniedNodes
  }

  /// The last published `status`; nil before the first.
  package var lastStatus: StatusMessage? { status.lastMessage }

  /// Number of published `status` messages.
  package var statusCount: Int { status.count }

  /// Schedules `status` immediately, because it must replace the will of the previous session. Also publishes
  /// the next attitude, because earlier live values may have been dropped while there was no session.
  /// - Parameter sessionStart: the session's start in civil time, as in its will; nil if unknown.
  package mutating func beginSession(at sessionStart: UTCTime?) {
    status.sessionStart = sessionStart ?? status.sessionStart
    status.requestNow()
    motion.beginSession()
  }

  /// Schedules `status` at the next `advance`.
  package mutating func requestStatus() { status.requestNow() }

  /// Returns the `status` message of a clean stop, with the state `offline`.
  package func farewell(at timestamp: Timestamp) -> VehicleMessage {
    .status(report(.offline, at: timestamp))
  }

  /// Requested outputs that the existing sensors do not support. An output that only lacks a first fix or the
  /// mounting is not included.
  package var limitations: [MotionCapabilities.Limitation] {
    let sensors = motion.sensors
    let canNavigate = navigation != nil && sensors.contains(.accelerometer) && sensors.contains(.gyroscope)
    return MotionCapabilities.limitations(
      context.configuration, sensors: servingSensors, isNavigated: motion.isNavigated || canNavigate,
      context.availability)
  }

  /// The limitations combined by cause: one entry for each cause.
  package var limitationsByCause: [MotionCapabilities.Limitation] {
    limitations.combined(sensors: servingSensors)
  }

  /// The available sensors, and sensors that exist but have not delivered a value yet.
  private var servingSensors: Set<SensorKind> {
    var sensors = motion.sensors.union([.positioning])
    if reason(against: .barometer) == nil { sensors.insert(.barometer) }
    return sensors
  }
}
