internal import Motion
internal import Sensors
internal import Spatial

/// The location side as one value: reports of a receiver and attitudes go in, what consumers are told comes out, and what the
/// sensors must deliver for it. `LiveLocation` is the lock around it.
struct LocationServices: Sendable {
  /// What consumers wait for.
  enum Service: Hashable, Sendable, CaseIterable { case updates, significantChanges, headings, regions }

  enum Output: Hashable, Sendable {
    case update(LocationUpdate)
    case significantChange(Location)
    case heading(Heading)
    case region(RegionEvent)
  }

  var manager: LocationManager
  var monitor: RegionMonitor
  var heading: HeadingManager
  private(set) var wanted: Set<Service> = []

  private var screen: FixScreen
  private var planner: PowerPlanner
  private var rest = StationaryDetector()
  private var activity: StationaryDetector.State?
  private var lastSeen: Location?
  private var demands: [SensorKind: SensorDemand] = [:]
  /// Whether the plan is stale.
  private var hasNews = true

  /// Hz and seconds: headings need the motion sensors as the fusion does.
  private static let headingLatency = Duration.milliseconds(100)

  init(manager: LocationManager, monitor: RegionMonitor, heading: HeadingManager) {
    (self.manager, self.monitor, self.heading) = (manager, monitor, heading)
    // A recording may be of any age.
    screen = FixScreen(activity: manager.activityType, clock: ReceiverClock(earliest: nil))
    planner = PowerPlanner(mobility: Mobility(manager.activityType))
  }

  // MARK: Consumers

  /// Learns what consumers there are.
  mutating func want(_ services: Set<Service>) {
    guard services != wanted else { return }
    wanted = services
    hasNews = true
    if services.contains(.updates) {
      manager.startUpdatingLocation()
    } else {
      // The fixes of a deferral had been collected for those who are gone.
      _ = manager.stopUpdatingLocation()
    }
    if services.contains(.significantChanges) {
      manager.startMonitoringSignificantLocationChanges()
    } else {
      manager.stopMonitoringSignificantLocationChanges()
    }
  }

  /// Settings were changed from outside.
  mutating func settingsChanged() {
    screen.activity = manager.activityType
    hasNews = true
  }

  // MARK: What goes in

  /// Takes what a source hands over.
  /// - Returns: the locations of it that may be believed, and what consumers are told, both in order.
  mutating func process(_ event: SensorEvent) -> (locations: [Location], outputs: [Output]) {
    switch event {
    case .position(let fixes):
      var (locations, outputs): ([Location], [Output]) = ([], [])
      for fix in fixes { process(fix, &locations, &outputs) }
      hasNews = true
      return (locations, outputs)
    case .inertial(let block): return ([], block.flatMap { observeRest($0) })
    case .status(let status): return ([], observe(status))
    case .barometer, .vehicle, .radio: return ([], [])
    }
  }

  private mutating func process(
    _ fix: PositionFix, _ locations: inout [Location], _ outputs: inout [Output]
  ) {
    if fix.coordinate == nil {
      outputs += told(manager.observeNoPosition(at: fix.timestamp), at: fix.timestamp)
    }
    for location in screen.process(fix) {
      locations.append(location)
      lastSeen = location
      if let speed = location.speed {
        rest.observe(speed: speed, accuracy: location.speedAccuracy, at: location.timestamp)
      }
      if let time = location.time,
        let field = MagneticModel.wmm2025.field(
          at: location.coordinate, altitude: location.ellipsoidalAltitude ?? 0, time: time)
      {
        heading.declination = field.declination
      }
      heading.process(location)
      outputs += told(manager.process(location), at: location.timestamp)
      outputs += monitor.process(location).map(Output.region)
    }
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
    return told(manager.observe(state, at: timestamp), at: timestamp)
  }

  private mutating func observe(_ status: SourceStatus) -> [Output] {
    guard case .unavailable(let reason) = status.state else { return [] }
    var outputs: [Output] = []
    if status.kinds.contains(.accelerometer) {
      rest = StationaryDetector()
      outputs += learn(nil, since: status.timestamp, at: status.timestamp)
    }
    if status.kinds.contains(.positioning) {
      outputs += told(manager.fail(.receiverUnavailable(reason: reason)), at: status.timestamp)
    }
    return outputs
  }

  /// Takes an attitude against magnetic north.
  mutating func process(
    attitude: Attitude, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy?,
    at timestamp: Timestamp
  ) -> [Output] {
    heading.process(attitude: attitude, accuracy: accuracy, calibration: calibration, at: timestamp)
      .map { [.heading($0)] } ?? []
  }

  // MARK: Time

  /// Lets time pass without an event.
  mutating func advance(to timestamp: Timestamp) -> [Output] {
    if let due = manager.nextDeadline, due <= timestamp { hasNews = true }
    let outputs = told(manager.advance(to: timestamp), at: timestamp)
    return outputs + monitor.advance(to: timestamp).map(Output.region)
  }

  /// When `advance` or `demands` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? {
    [manager.nextDeadline, monitor.nextDeadline, planner.nextDeadline].compactMap { $0 }.min()
  }

  /// What is still to be told when there will be no further events: the fixes of a deferral.
  mutating func finish() -> [Output] {
    guard let last = lastSeen?.timestamp else { return [] }
    return told(manager.stopUpdatingLocation(), at: last)
  }

  /// What events say to the consumers.
  func told(_ events: [LocationEvent], at timestamp: Timestamp) -> [Output] {
    events.flatMap { event -> [Output] in
      if case .significantChange(let location) = event { return [.significantChange(location)] }
      return LocationUpdate.updates(from: event, at: timestamp).map(Output.update)
    }
  }

  // MARK: Power

  /// What each kind of sensor must deliver from a moment on.
  mutating func demands(at now: Timestamp) -> [SensorKind: SensorDemand] {
    guard hasNews || planner.nextDeadline.map({ $0 <= now }) ?? false else { return demands }
    hasNews = false
    demands = planner.demands(for: needs, at: now)
    return demands
  }

  /// What they must deliver at the most, while nothing sleeps.
  var fullDemands: [SensorKind: SensorDemand] { PowerPlanner.fullDemands(for: needs) }

  private var needs: PowerNeeds {
    var needs = PowerNeeds(location: manager.needs)
    needs.location.isHeadingWanted = wanted.contains(.headings)
    needs.watchesMotion = manager.pausesLocationUpdatesAutomatically
    if wanted.contains(.regions), monitor.count > 0 {
      // Before the first fix any edge may be near.
      needs.distanceToBoundary = 0
      if let lastSeen {
        needs.distanceToBoundary = monitor.distanceToNearestBoundary(from: lastSeen.coordinate)
        let mobility = Mobility(manager.activityType)
        needs.boundaryAccuracy = monitor.desiredAccuracy(
          near: lastSeen.coordinate,
          within: mobility.metersCovered(
            in: PowerPlanner.approachTime, startingAt: lastSeen.speed ?? mobility.topSpeed))
      }
    }
    if wanted.contains(.headings) {
      for kind in [SensorKind.accelerometer, .gyroscope] {
        needs.inertial[kind] = .rate(hertz: MotionManager.fusionRate, latency: Self.headingLatency)
      }
      needs.inertial[.magnetometer] = .rate(
        hertz: MotionManager.fusionMagnetometerRate, latency: Self.headingLatency)
    }
    return needs
  }
}
