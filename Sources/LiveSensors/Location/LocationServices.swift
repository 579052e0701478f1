internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial

/// The state and the logic of `LiveLocation` as one value, which `LiveLocation` protects with a lock. It
/// accepts reports of sources and attitudes, and returns elements for the consumers and demands on the
/// sensors.
struct LocationServices: Sendable {
  /// A service of the shared managers that can have consumers.
  enum Service: Hashable, Sendable, CaseIterable { case updates, significantChanges, headings, regions }

  enum Output: Hashable, Sendable {
    /// Updates of one event, in order. `consumer` is nil for all consumers of the shared manager.
    case updates([LocationUpdate], consumer: Int?)
    case significantChange(Location)
    case heading(Heading, consumer: Int?)
    case region(RegionEvent)
    case failure(LocationFailure)
    case answer(Result<Location, LocationFailure>, consumer: Int)
  }

  /// A consumer with a manager of its own.
  private struct Individual: Sendable {
    let consumer: Int
    var manager: LocationManager
    /// A one-shot request; nil for a consumer of updates. `isStarted` is true after the manager has received
    /// the request. The time limit starts as soon as a time is known.
    var request: (accuracy: Double, timeLimit: Double, isStarted: Bool)?
  }

  var manager: LocationManager
  var monitor: RegionMonitor
  var heading: HeadingManager
  /// Result of the discovery, updated by the states that sources have reported since.
  private(set) var availability = ServiceAvailability()
  private(set) var wanted: Set<Service> = []
  private var individuals: [Individual] = []
  private var individualHeadings: [(consumer: Int, manager: HeadingManager)] = []

  private var screen: FixScreen
  private var planner: PowerPlanner
  private var rest = StationaryDetector()
  private var activity: StationaryDetector.State?
  /// The receiver's newest location.
  private var lastSeen: Location?
  /// The newest location of any source.
  private var place: Location?
  private var coarse: CoarsePositioning
  private var demands: [SensorKind: SensorDemand] = [:]
  /// True if the demands must be computed again.
  private var hasNews = true

  /// Latency of the motion sensors for headings, as required by fusion.
  private static let headingLatency = Duration.milliseconds(100)

  /// - Parameters:
  ///   - beacons: the map for radio positions; nil for none.
  ///   - radios: the radios that can be powered.
  init(
    manager: LocationManager, monitor: RegionMonitor, heading: HeadingManager,
    beacons: (any BeaconMap)? = nil, radios: Set<SensorKind> = []
  ) {
    (self.manager, self.monitor, self.heading) = (manager, monitor, heading)
    // Recordings may have any age, so no earliest time applies.
    screen = FixScreen(activity: manager.activityType, clock: ReceiverClock(earliest: nil))
    let mobility = Mobility(manager.activityType)
    planner = PowerPlanner(mobility: mobility)
    coarse = CoarsePositioning(map: beacons, radios: radios, mobility: mobility)
  }

  // MARK: Consumers

  var hasConsumers: Bool { !wanted.isEmpty || !individuals.isEmpty || !individualHeadings.isEmpty }

  var isHeadingWanted: Bool { wanted.contains(.headings) || !individualHeadings.isEmpty }

  /// Adds a consumer of locations with settings of its own.
  mutating func add(_ consumer: Int, manager: LocationManager) {
    var manager = manager
    manager.startUpdatingLocation()
    individuals.append(Individual(consumer: consumer, manager: manager))
    hasNews = true
  }

  /// Adds a consumer of headings with settings of its own.
  mutating func add(_ consumer: Int, heading manager: HeadingManager) {
    var manager = manager
    manager.declination = manager.declination ?? heading.declination
    individualHeadings.append((consumer, manager))
    hasNews = true
  }

  /// Adds a one-shot request.
  /// - Parameter now: nil starts its time limit with the next event.
  mutating func add(_ consumer: Int, accuracy: Double, timeLimit: Double, at now: Timestamp?) {
    // The copy contains what the shared manager has observed about rest and position.
    var copy = manager
    _ = copy.stopUpdatingLocation()
    copy.stopMonitoringSignificantLocationChanges()
    if copy.needs.isWanted {
      // One-shot requests of the shared manager have other recipients, so the copy must not contain them.
      copy = LocationManager(
        desiredAccuracy: manager.desiredAccuracy, activityType: manager.activityType)
    }
    individuals.append(
      Individual(consumer: consumer, manager: copy, request: (accuracy, timeLimit, false)))
    if let now { startRequests(at: now) }
    hasNews = true
  }

  /// Removes all consumers with their own settings.
  mutating func removeIndividuals() {
    guard !individuals.isEmpty || !individualHeadings.isEmpty else { return }
    (individuals, individualHeadings) = ([], [])
    hasNews = true
  }

  /// Removes a consumer with settings of its own.
  mutating func remove(_ consumer: Int) {
    individuals.removeAll { $0.consumer == consumer }
    individualHeadings.removeAll { $0.consumer == consumer }
    hasNews = true
  }

  private mutating func startRequests(at now: Timestamp) {
    for index in individuals.indices {
      guard let request = individuals[index].request, !request.isStarted else { continue }
      individuals[index].request?.isStarted = true
      individuals[index].manager.requestLocation(
        accuracy: request.accuracy, timeLimit: request.timeLimit, at: now)
      hasNews = true
    }
  }

  /// Sets which consumers the shared managers have.
  mutating func want(_ services: Set<Service>) {
    guard services != wanted else { return }
    wanted = services
    hasNews = true
    if services.contains(.updates) {
      manager.startUpdatingLocation()
    } else {
      // The returned events are dropped, because no consumer is left for the fixes of a deferral.
      _ = manager.stopUpdatingLocation()
    }
    if services.contains(.significantChanges) {
      manager.startMonitoringSignificantLocationChanges()
    } else {
      manager.stopMonitoringSignificantLocationChanges()
    }
  }

  /// Applies a changed activity to the screen, and marks the demands as outdated.
  mutating func settingsChanged() {
    screen.activity = manager.activityType
    hasNews = true
  }

  // MARK: Input

  /// Processes an event of a source.
  /// - Parameter utcOffset: nanoseconds to add to a timestamp for UTC; nil if unknown.
  /// - Returns: the event's plausible locations, and the elements for the consumers, both in order.
  mutating func process(
    _ event: SensorEvent, utcOffset: Int64? = nil
  ) -> (locations: [Location], outputs: [Output]) {
    if let timestamp = event.timestamp { startRequests(at: timestamp) }
    switch event {
    case .position(let fixes):
      var (locations, outputs): ([Location], [Output]) = ([], [])
      for fix in fixes { process(fix, &locations, &outputs) }
      hasNews = true
      return (locations, outputs)
    case .inertial(let block): return ([], block.flatMap { observeRest($0) })
    case .status(let status): return ([], observe(status))
    case .vehicle(let readings):
      for reading in readings { observe(reading) }
      return ([], [])
    case .radio(let scans):
      var (locations, outputs): ([Location], [Output]) = ([], [])
      for scan in scans where scan.isComplete {
        guard let location = locate(scan, utcOffset) else { continue }
        locations.append(location)
        outputs += adopt(location)
      }
      hasNews = true
      return (locations, outputs)
    case .barometer: return ([], [])
    }
  }

  /// Returns the location of a scan if it is better than the current one; otherwise nil.
  private mutating func locate(_ scan: RadioScan, _ utcOffset: Int64?) -> Location? {
    let known = CoarsePositioning.Surroundings(
      fix: lastSeen, place: place, isAtRest: activity.map { $0 == .stationary }, restSince: rest.since,
      needs: needs, time: utcOffset.map { UTCTime(nanoseconds: scan.timestamp.nanoseconds &+ $0) })
    return coarse.process(scan, known)
  }

  /// Uses the vehicle's speed signal (in km/h) to detect standstill.
  private mutating func observe(_ reading: VehicleReading) {
    guard reading.path == "Vehicle.Speed", case .number(let speed)? = reading.value else { return }
    rest.observe(speed: speed / 3.6, accuracy: nil, at: reading.timestamp)
  }

  /// Applies an event to the shared manager and to all individual managers.
  private mutating func tell(
    at timestamp: Timestamp, _ body: (inout LocationManager) -> [LocationEvent]
  ) -> [Output] {
    var outputs = told(body(&manager), at: timestamp)
    var answered: [Int] = []
    for index in individuals.indices {
      let consumer = individuals[index].consumer
      for event in body(&individuals[index].manager) {
        if individuals[index].request == nil {
          outputs.append(.updates(LocationUpdate.updates(from: event, at: timestamp), consumer: consumer))
          continue
        }
        switch event {
        case .requested(let shown): outputs.append(.answer(.success(shown.location), consumer: consumer))
        case .failed(.requestTimedOut(let limit)):
          // Report the failure that prevented a fix, if there is one, rather than the exceeded time limit.
          let failure = individuals[index].manager.failure ?? manager.failure
          outputs.append(
            .answer(.failure(failure ?? .requestTimedOut(seconds: limit)), consumer: consumer))
        default: continue
        }
        answered.append(consumer)
      }
    }
    if !answered.isEmpty {
      individuals.removeAll { answered.contains($0.consumer) }
      hasNews = true
    }
    return outputs
  }

  private mutating func process(
    _ fix: PositionFix, _ locations: inout [Location], _ outputs: inout [Output]
  ) {
    let fix = fix.positionSource == nil ? screen.withoutNullIsland(fix) : fix
    if fix.coordinate == nil {
      outputs += tell(at: fix.timestamp) { $0.observeNoPosition(at: fix.timestamp) }
    }
    for location in Location(fused: fix).map({ [$0] }) ?? screen.process(fix) {
      locations.append(location)
      lastSeen = location
      if let speed = location.speed {
        rest.observe(speed: speed, accuracy: location.speedAccuracy, at: location.timestamp)
      }
      outputs += adopt(location)
    }
  }

  /// Passes a location of any source to headings, consumers and regions.
  private mutating func adopt(_ location: Location) -> [Output] {
    place = location
    if let time = location.time,
      let field = MagneticModel.wmm2025.field(
        at: location.coordinate, altitude: location.ellipsoidalAltitude ?? 0, time: time)
    {
      heading.declination = field.declination
      for index in individualHeadings.indices {
        individualHeadings[index].manager.declination = field.declination
      }
    }
    heading.process(location)
    for index in individualHeadings.indices { individualHeadings[index].manager.process(location) }
    let outputs = tell(at: location.timestamp) { $0.process(location) }
    guard location.suspicion == nil else {
      monitor.interrupt()
      return outputs
    }
    return outputs + monitor.process(location.forRegions).map(Output.region)
  }

  /// Decides the state of regions that have none yet, by the last position. Unless the device is at rest, the
  /// position's accuracy includes the distance that the device may have moved since.
  mutating func decideRegions(at now: Timestamp) -> [Output] {
    guard monitor.hasUndecided, var place = place?.forRegions, place.suspicion == nil else { return [] }
    let age = max(0, now.seconds(since: place.timestamp))
    if activity != .stationary {
      let mobility = Mobility(manager.activityType)
      let accuracy = place.horizontalAccuracy ?? monitor.settings.unknownAccuracy
      place.horizontalAccuracy =
        accuracy + mobility.metersCovered(in: age, startingAt: place.speed ?? mobility.topSpeed)
    }
    (place.timestamp, place.time) = (now, place.time?.advanced(bySeconds: age))
    return monitor.evaluateUndecided(at: place).map(Output.region)
  }

  private mutating func observeRest(_ scan: InertialScan) -> [Output] {
    if let sample = AccelerometerData(scan) {
      _ = rest.process(acceleration: sample.acceleration, at: scan.timestamp)
    }
    if let rate = scan.rotationRate { _ = rest.process(rotationRate: rate, at: scan.timestamp) }
    return learn(rest.state, since: rest.since ?? scan.timestamp, at: scan.timestamp)
  }

  private mutating func learn(
    _ state: StationaryDetector.State?, since: Timestamp, at timestamp: Timestamp
  ) -> [Output] {
    guard state != activity else { return [] }
    activity = state
    hasNews = true
    planner.observe(isAtRest: state.map { $0 == .stationary }, since: since)
    return tell(at: timestamp) { $0.observe(state, at: timestamp) }
  }

  /// Before a discovery, the receiver's first fix shows that it may be used.
  var authorizationStatus: AuthorizationStatus {
    lastSeen != nil && availability.deniedNodes == nil && availability.access == nil
      && availability.isLocationEnabled ? .authorized : availability.authorizationStatus
  }

  /// Returns whether a service is available; false before a discovery, except for the services of a receiver
  /// that has delivered a fix.
  func isAvailable(_ service: LocationService) -> Bool {
    let isFound =
      switch service {
      case .location, .deferredUpdates, .significantChanges, .regions: lastSeen != nil
      case .heading, .motionActivity: false
      }
    return (availability.deniedNodes != nil || isFound) && availability.isAvailable(service)
  }

  /// Adopts the result of a discovery.
  mutating func observe(_ discovered: ServiceAvailability) { availability = discovered }

  private mutating func observe(_ status: SourceStatus) -> [Output] {
    if let access = status.access {
      availability.access = access
      // The answer of an agent is a discovery.
      if access != .undetermined { availability.deniedNodes = availability.deniedNodes ?? [:] }
    }
    guard case .unavailable(let reason) = status.state else {
      for kind in status.kinds { availability.unavailable[kind] = nil }
      return []
    }
    for kind in status.kinds { availability.unavailable[kind] = reason }
    var outputs: [Output] = []
    if status.kinds.contains(.accelerometer) {
      rest = StationaryDetector()
      outputs += learn(nil, since: status.timestamp, at: status.timestamp)
    }
    if status.kinds.contains(.positioning) {
      let failure: LocationFailure =
        status.access == .denied
        ? .restricted(reason: reason) : .receiverUnavailable(reason: reason)
      outputs += tell(at: status.timestamp) { $0.fail(failure) }
      outputs += refuseRequests()
    }
    return outputs
  }

  /// The reason why a request would have no answer; nil if there may be one. A failed receiver may recover
  /// within the time limit of a request.
  var refusal: LocationFailure? {
    switch manager.failure {
    case .denied: manager.failure
    case .restricted: availability.access == .denied ? manager.failure : nil
    case .receiverUnavailable, .positionUnknown, .requestTimedOut, nil: nil
    }
  }

  private mutating func refuseRequests() -> [Output] {
    guard let refusal else { return [] }
    let refused = individuals.filter { $0.request != nil }.map(\.consumer)
    individuals.removeAll { $0.request != nil }
    return refused.map { .answer(.failure(refusal), consumer: $0) }
  }

  /// Processes an attitude relative to magnetic north.
  mutating func process(
    attitude: Attitude, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy?,
    at timestamp: Timestamp
  ) -> [Output] {
    func process(_ manager: inout HeadingManager, _ consumer: Int?) -> [Output] {
      manager.process(attitude: attitude, accuracy: accuracy, calibration: calibration, at: timestamp)
        .map { [.heading($0, consumer: consumer)] } ?? []
    }
    var outputs = process(&heading, nil)
    for index in individualHeadings.indices {
      outputs += process(&individualHeadings[index].manager, individualHeadings[index].consumer)
    }
    return outputs
  }

  // MARK: Time

  /// Advances time without an event.
  mutating func advance(to timestamp: Timestamp) -> [Output] {
    startRequests(at: timestamp)
    if let due = managers.compactMap(\.nextDeadline).min(), due <= timestamp { hasNews = true }
    let outputs = tell(at: timestamp) { $0.advance(to: timestamp) }
    return outputs + monitor.advance(to: timestamp).map(Output.region)
  }

  private var managers: [LocationManager] { [manager] + individuals.map(\.manager) }

  /// Time of the next required call of `advance` or `demands`; nil if only an event can change anything.
  var nextDeadline: Timestamp? {
    (managers.map(\.nextDeadline) + [monitor.nextDeadline, planner.nextDeadline]).compactMap { $0 }.min()
  }

  /// Returns the last elements at the end of the source: the fixes of a deferral.
  mutating func finish() -> [Output] {
    guard let last = lastSeen?.timestamp else { return [] }
    return tell(at: last) { $0.stopUpdatingLocation() }
  }

  /// Converts events of the shared manager to elements for its consumers.
  func told(_ events: [LocationEvent], at timestamp: Timestamp) -> [Output] {
    events.flatMap { event -> [Output] in
      if case .significantChange(let shown) = event { return [.significantChange(shown.location)] }
      let updates = Output.updates(LocationUpdate.updates(from: event, at: timestamp), consumer: nil)
      guard case .failed(let failure) = event else { return [updates] }
      return [updates, .failure(failure)]
    }
  }

  // MARK: Power

  /// Returns the demands on each kind of sensor from `now` on.
  mutating func demands(at now: Timestamp) -> [SensorKind: SensorDemand] {
    startRequests(at: now)
    guard hasNews || planner.nextDeadline.map({ $0 <= now }) ?? false else { return demands }
    hasNews = false
    var needs = needs
    needs.coarse = coarse.supply(needs, isLearning: false, at: now)
    demands = planner.demands(for: needs, at: now)
    return demands
  }

  /// The largest demands on each kind of sensor, which apply if no sensor may sleep.
  var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: needs) }

  private var needs: PowerNeeds {
    let managers = managers
    var needs = PowerNeeds(location: managers.map(\.needs).reduce(LocationNeeds()) { $0.combined(with: $1) })
    needs.location.isHeadingWanted = isHeadingWanted
    needs.watchesMotion = managers.contains(where: \.pausesLocationUpdatesAutomatically)
    if wanted.contains(.regions), monitor.count > 0 {
      // Before the first fix, any boundary may be near.
      needs.distanceToBoundary = 0
      if let place {
        needs.distanceToBoundary = monitor.distanceToNearestBoundary(from: place.coordinate)
        let mobility = Mobility(manager.activityType)
        needs.boundaryAccuracy = monitor.desiredAccuracy(
          near: place.coordinate,
          within: mobility.metersCovered(
            in: PowerPlanner.approachTime, startingAt: place.speed ?? mobility.topSpeed))
      }
    }
    if isHeadingWanted {
      for kind in [SensorKind.accelerometer, .gyroscope] {
        needs.inertial[kind] = .rate(hertz: MotionManager.fusionRate, latency: Self.headingLatency)
      }
      needs.inertial[.magnetometer] = .rate(
        hertz: MotionManager.fusionMagnetometerRate, latency: Self.headingLatency)
    }
    return needs
  }
}

extension LocationNeeds {
  /// Returns the union of the requirements of two consumers: the finer accuracy, the shorter distance, the
  /// earlier time. The receiver sleeps only if both consumers allow sleep.
  func combined(with other: LocationNeeds) -> LocationNeeds {
    guard isWanted, other.isWanted else { return isWanted ? self : other }
    // The older position counts for both consumers. If one has no position, the union has none, so that a fix
    // is required.
    let isOlder = timestamp.map { mine in other.timestamp.map { $0 < mine } ?? false } ?? true
    var union = isOlder ? self : other
    union.standingAccuracy = standingAccuracy.stricter(other.standingAccuracy)
    union.request = request?.combined(with: other.request) ?? other.request
    union.distance = distance.flatMap { first in other.distance.map { min(first, $0) } }
    union.notBefore = notBefore.flatMap { first in other.notBefore.map { min(first, $0) } }
    union.deadline = [deadline, other.deadline].compactMap { $0 }.min()
    union.maxFixDelay = min(maxFixDelay, other.maxFixDelay)
    union.isHeadingWanted = isHeadingWanted || other.isHeadingWanted
    union.isPaused = isPaused && other.isPaused
    return union
  }
}

extension LocationNeeds.Request {
  fileprivate func combined(with other: Self?) -> Self {
    guard let other else { return self }
    return Self(accuracy: accuracy.stricter(other.accuracy), deadline: max(deadline, other.deadline))
  }
}

extension Location {
  /// Creates the location of a position that an agent has already checked and fused; nil for a receiver's report.
  fileprivate init?(fused fix: PositionFix) {
    guard let source = fix.positionSource, let coordinate = fix.coordinate else { return nil }
    self.init(timestamp: fix.timestamp, coordinate: coordinate)
    (time, self.source, positionSource) = (fix.time, fix.receiver, source)
    (altitude, ellipsoidalAltitude) = (fix.altitudeMeanSeaLevel, fix.altitudeEllipsoidal)
    (horizontalAccuracy, verticalAccuracy) = (fix.horizontalError, fix.verticalError)
    (speed, speedAccuracy, course, courseAccuracy) = (fix.speed, fix.speedError, fix.course, fix.courseError)
  }
}
