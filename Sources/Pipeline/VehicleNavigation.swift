internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The navigation side of the pipeline: what the location side tells, made of the receiver's locations and the inertial
/// sensors' scans.
///
/// While the filter is aligned, each of the receiver's locations becomes a fused one as soon as the scans have reached its
/// time. While a receiver that is wanted says nothing, and while it sleeps, there is one of the inertial sensors each second. In
/// every other case, and where the scans stay away, the receiver's locations go through as they came.
struct VehicleNavigation: Sendable {
  private var filter: NavigationFilter
  /// The receiver's that wait for the scans of their time, in order.
  private var awaited: [Location] = []
  /// The newest of the receiver's that was believed.
  private var received: Location?
  /// Of the newest scan with a rotation rate.
  private(set) var newestScan: Timestamp?
  /// What the wheels said and the scans have not reached yet, in order.
  private var speeds: [WheelSpeed] = []
  /// The acceleration of the device in its own axes; nil if there is none since it was drained.
  private var acceleration: KnownAcceleration?
  /// Time of the scan after which acceleration and mounting were last computed.
  private var lastLook: Timestamp?
  /// Of the newest location handed on.
  private var newestLocation: Timestamp?
  private var isReceiverOn = true
  /// When the receiver was last wanted on after a sleep.
  private var receiverWoke: Timestamp?
  /// How the device sits in the vehicle, from its axes to right, forward, up; nil until that is known, and again when it is
  /// contradicted.
  private(set) var mounting: Quaternion?
  private var knownContradictions = 0
  /// Up to when time has passed.
  private var advanced = Timestamp(nanoseconds: .min)
  /// Whether locations without a receiver were told in the outage that is under way or was the last.
  private var hasToldInertial = false
  /// Seconds that scans may come after a location of their time.
  private var patience: Double

  /// By how much the radius may grow faster than one deviation of the velocity over time: an error of position and one of velocity
  /// go together, and the deviation itself grows.
  private static let growthMargin = 1.5
  /// Degrees of deviation up to which a mounting is good enough to tell and to carry a position on by.
  private static let mountingDeviation = 2.0
  /// Seconds that scans come late beyond what they were asked for.
  private static let slack = 1.5
  /// Seconds between two accelerations, which are low-passed over 0.15 s, and between two looks at the mounting.
  private static let lookInterval = 0.05
  /// Seconds between two locations without a receiver.
  private static let interval = 1.0
  /// Seconds that a receiver which has slept for minutes may take to a fix: most take two, few ten.
  private static let search = 10.0
  /// Speeds that wait: as many as a source tells in the longest time that scans may come late.
  private static let mostSpeeds = 64
  /// Seconds of an outage whose way is worth a correction: in less, nothing strays by a metre.
  private static let shortestCorrection = 5.0

  /// - Parameters:
  ///   - latency: seconds that scans may wait in the kernel.
  ///   - kept: what an earlier run has kept.
  init(latency: Double, kept: KeptNavigation? = nil) {
    patience = latency + Self.slack
    filter = NavigationFilter(calibration: kept?.calibration, keptAt: kept?.timestamp)
  }

  /// Nil where nothing can be navigated: it is switched off, nobody wants locations, no wheels carry the device, or scans come
  /// too late.
  init?(_ configuration: PipelineConfiguration, kept: KeptNavigation? = nil) {
    guard configuration.isNavigating else { return nil }
    self.init(latency: configuration.inertialLatency, kept: kept)
  }

  /// Goes on under another configuration with what it has found out.
  func reconfigured(_ new: PipelineConfiguration) -> VehicleNavigation? {
    guard new.isNavigating else { return nil }
    var next = self
    next.patience = new.inertialLatency + Self.slack
    return next
  }

  // MARK: What goes in

  /// Learns whether the receiver is wanted on. While it sleeps, its silence is no outage, and is not corrected afterwards.
  mutating func observe(isReceiverOn: Bool, at timestamp: Timestamp) {
    if isReceiverOn, !self.isReceiverOn { receiverWoke = timestamp }
    self.isReceiverOn = isReceiverOn
  }

  /// Takes a report of the receiver.
  /// - Parameter locations: what may be believed of it and of those before, in order.
  /// - Returns: what can be told already.
  mutating func process(_ fix: PositionFix, _ locations: [Location]) -> [Location] {
    filter.process(fix)
    guard let newest = locations.last else { return [] }
    received = newest
    guard isScanned(newest.timestamp) else { return handOn(drain() + locations) }
    awaited += locations
    return []
  }

  /// Takes the speed of the wheels. It waits for the scans of its time: the filter keeps the newest alone, and where scans come
  /// in blocks none would ever be reached.
  mutating func process(_ speed: WheelSpeed) {
    if speeds.count == Self.mostSpeeds { speeds.removeFirst() }
    speeds.append(speed)
  }

  /// Processes a valid scan, in order of time.
  /// - Returns: locations to publish.
  mutating func process(_ scan: InertialScan, _ timeBase: TimeBase) -> [Location] {
    while let speed = speeds.first, speed.timestamp <= scan.timestamp {
      filter.process(speed)
      speeds.removeFirst()
    }
    filter.process(scan)
    guard scan.contains(.gyroscope) else { return [] }
    newestScan = scan.timestamp
    look(at: scan.timestamp)
    if let first = awaited.first, first.timestamp <= scan.timestamp {
      return reached(scan.timestamp, timeBase)
    }
    guard isOverdue(scan.timestamp), let estimate = filter.estimate, isCarriedOn(estimate) else { return [] }
    hasToldInertial = hasToldInertial || isMissed(at: scan.timestamp)
    return handOn([location(estimate, timeBase)])
  }

  /// Computes the acceleration, which the attitude filter must not mistake for gravity, and the mounting.
  private mutating func look(at timestamp: Timestamp) {
    if let lastLook, (0..<Self.lookInterval).contains(timestamp.seconds(since: lastLook)) { return }
    lastLook = timestamp
    let estimate = filter.estimate
    findMounting(estimate)
    guard let estimate else { return }
    // With the accelerometer's bias, so that what is left is gravity alone.
    acceleration = KnownAcceleration(
      timestamp: estimate.timestamp,
      deviceFrame: estimate.attitude.conjugate.rotate(estimate.acceleration) + estimate.accelerometerBias,
      deviation: standardGravity * estimate.tiltDeviation.radians)
  }

  /// Returns the acceleration since the last call; nil if there is none.
  mutating func drainAcceleration() -> KnownAcceleration? {
    defer { acceleration = nil }
    return acceleration
  }

  /// A mounting stays valid while navigation is not aligned: the device does not come loose when the sky is lost.
  private mutating func findMounting(_ estimate: NavigationEstimate?) {
    // A place that was contradicted says nothing of the mounting.
    let contradictions = filter.counters.contradictions - filter.counters.contradictedResumptions
    if contradictions != knownContradictions { mounting = nil }
    knownContradictions = contradictions
    if let estimate, isMountingKnown(estimate) { mounting = estimate.mounting }
  }

  private func isMountingKnown(_ estimate: NavigationEstimate) -> Bool {
    estimate.mountingDeviation.max() <= Self.mountingDeviation
  }

  /// Takes the pressure of the air, which keeps the height where there is no receiver.
  mutating func process(_ pressure: PressureData) { filter.process(pressure) }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? {
    [awaited.first?.timestamp.advanced(bySeconds: patience), silence].compactMap { $0 }.min()
  }

  /// When the scans have stayed away for so long that nothing carries the position on any more while the receiver sleeps.
  private var silence: Timestamp? {
    // A moment later, so that they are missed then.
    guard !isReceiverOn, isAligned, let silence = newestScan?.advanced(bySeconds: patience + 0.001),
      silence > advanced
    else { return nil }
    return silence
  }

  /// Lets time pass: what has waited for too long is told as it came.
  mutating func advance(to timestamp: Timestamp) -> [Location] {
    advanced = max(advanced, timestamp)
    guard let first = awaited.first, first.timestamp.advanced(bySeconds: patience) <= timestamp else {
      return []
    }
    return handOn(drain())
  }

  /// Hands over what waits, before a stop.
  mutating func finish() -> [Location] { handOn(drain()) }

  /// The way through the last outage, in order, as it is known ten seconds after; once, and nil where nothing was told in it that
  /// it would correct.
  mutating func drainCorrection(_ timeBase: TimeBase) -> [Location]? {
    guard filter.isTrackFinished else { return nil }
    let latency = filter.estimate?.positionLatency ?? 0
    guard let way = filter.drainCorrectedTrack(), let first = way.first, let last = way.last, hasToldInertial
    else { return nil }
    hasToldInertial = false
    guard last.timestamp.seconds(since: first.timestamp) >= Self.shortestCorrection else { return nil }
    return way.map {
      var location = Location(timestamp: $0.timestamp, coordinate: $0.antennaCoordinate)
      location.time = timeBase.utc(ofSampleAt: $0.timestamp, latency: latency)
      location.horizontalAccuracy = $0.radius68
      return location
    }
  }

  // MARK: What is known

  /// Where the vehicle is by all sensors; nil unless the filter is aligned and its scans are of now.
  func estimate(at now: Timestamp) -> NavigationEstimate? {
    guard let newestScan, now.seconds(since: newestScan) <= patience else { return nil }
    return filter.estimate
  }

  /// The estimate at the newest scan; nil unless the filter is aligned.
  var newestEstimate: NavigationEstimate? { filter.estimate }

  /// How the position goes on without the receiver; nil where it does not.
  func carried(at now: Timestamp) -> CarriedPosition? {
    // What is contradicted, not confirmed or still to be corrected needs the receiver. So does a mounting that is hardly known:
    // without fixes the vehicle's constraints make it and the heading look known that they do not show.
    guard !hasToldInertial, filter.isConfirmed, let estimate = estimate(at: now), isMountingKnown(estimate)
    else { return nil }
    return CarriedPosition(
      timestamp: estimate.timestamp, radius: estimate.radius68,
      growth: Self.growthMargin * estimate.velocityDeviation)
  }

  /// For `status`; nil where there are no inertial sensors, so that there is nothing to navigate by.
  func report(at now: Timestamp) -> NavigationReport? {
    guard newestScan != nil else { return nil }
    return NavigationReport(filter.state, estimate(at: now))
  }

  /// Of the sensors and their mounting, at the newest scan; nil before the mounting is known.
  var calibration: NavigationCalibration? { filter.calibration }

  /// Whether it has found out how the device sits in the vehicle.
  var isAligned: Bool { filter.state == .aligned }

  // MARK: What comes out

  /// Whether scans are there, or about to come, for a time.
  private func isScanned(_ timestamp: Timestamp) -> Bool {
    guard isAligned, let newestScan else { return false }
    return timestamp.seconds(since: newestScan) <= patience
  }

  /// Whether there is something to tell without a report of the receiver: it is silent, or sleeps.
  private func isCarriedOn(_ estimate: NavigationEstimate) -> Bool {
    estimate.source == .inertial || !isReceiverOn
  }

  /// Whether the receiver is silent although it should have found a place by now.
  private func isMissed(at now: Timestamp) -> Bool {
    isReceiverOn && receiverWoke.map { now.seconds(since: $0) > Self.search } ?? true
  }

  private func isOverdue(_ now: Timestamp) -> Bool {
    guard isAligned else { return false }
    // A start from what was kept has told nothing yet.
    guard let newestLocation else { return true }
    return now.seconds(since: newestLocation) >= Self.interval
  }

  /// The scans have come as far as the first that waits: of all that they have reached there is one place now.
  private mutating func reached(_ now: Timestamp, _ timeBase: TimeBase) -> [Location] {
    let count = awaited.prefix { $0.timestamp <= now }.count
    let reached = Array(awaited.prefix(count))
    awaited.removeFirst(count)
    guard let estimate = filter.estimate else { return handOn(reached) }
    return handOn([location(estimate, timeBase)])
  }

  private mutating func drain() -> [Location] {
    defer { awaited.removeAll(keepingCapacity: true) }
    return awaited
  }

  /// In order of time; those of the receiver alone say so where there is more than a receiver.
  private mutating func handOn(_ locations: [Location]) -> [Location] {
    guard let newest = locations.last else { return [] }
    newestLocation = newest.timestamp
    guard newestScan != nil else { return locations }
    return locations.map {
      var location = $0
      location.positionSource = location.positionSource ?? .gnss
      return location
    }
  }

  private func location(_ estimate: NavigationEstimate, _ timeBase: TimeBase) -> Location {
    var location = Location(timestamp: estimate.timestamp, coordinate: estimate.antennaCoordinate)
    location.time = timeBase.utc(ofSampleAt: estimate.timestamp, latency: estimate.positionLatency)
    location.horizontalAccuracy = estimate.radius68
    location.verticalAccuracy = estimate.altitude == nil ? nil : estimate.verticalDeviation
    let separation: Double? =
      if let ellipsoidal = received?.ellipsoidalAltitude, let altitude = received?.altitude {
        ellipsoidal - altitude
      } else { nil }
    if estimate.isAltitudeEllipsoidal {
      location.ellipsoidalAltitude = estimate.altitude
      if let altitude = estimate.altitude, let separation { location.altitude = altitude - separation }
    } else {
      location.altitude = estimate.altitude
      if let altitude = estimate.altitude, let separation {
        location.ellipsoidalAltitude = altitude + separation
      }
    }
    (location.speed, location.speedAccuracy) = (estimate.speed, estimate.velocityDeviation)
    (location.course, location.courseAccuracy) = (estimate.course, estimate.courseDeviation)
    (location.source, location.positionSource) = (received?.source, estimate.source)
    return location
  }
}

extension PipelineConfiguration {
  /// Seconds that samples may come late and still be of use to navigation.
  package static let longestNavigationLatency = 3.0

  /// Whether motion and position are made one.
  package var isNavigating: Bool {
    navigation.isEnabled && location.isEnabled && location.policy != .significant
      && location.activity == .automotive && inertialLatency <= Self.longestNavigationLatency
  }
}
