internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The navigation's part of the pipeline: creates locations from the receiver's locations and the inertial
/// scans.
///
/// While the filter is aligned, each location of the receiver becomes a fused location when the scans of its
/// time have arrived. While the receiver sleeps, or is silent although it is on, the inertial sensors provide
/// one location per second. In all other cases, and if scans are missing, the receiver's locations are
/// unchanged.
struct VehicleNavigation: OptionalPart {
  private var filter: NavigationFilter
  private let motion: VehicleMotion
  /// Locations of the receiver whose scans have not arrived yet, in order of time.
  private var awaited: [Location] = []
  /// Newest accepted location of the receiver.
  private var received: Location?
  /// Time of the newest scan with a rotation rate.
  private(set) var newestScan: Timestamp?
  /// Wheel speeds whose scans have not arrived yet, in order of time.
  private var speeds: [WheelSpeed] = []
  /// Time of the scan at which acceleration and mounting were last computed.
  private var lastLook: Timestamp?
  /// Time of the newest location that was returned.
  private var newestLocation: Timestamp?
  private var isReceiverOn = true
  /// Time at which the receiver was last switched on after sleeping; nil if it never slept.
  private var receiverWoke: Timestamp?
  /// Rotation from the device's axes to the vehicle's right, forward, up; nil until known, and again after a
  /// contradiction.
  private(set) var mounting: Quaternion?
  private var knownContradictions = 0
  /// Latest time to which `advance` was called.
  private var advanced = Timestamp(nanoseconds: .min)
  /// True if locations were returned without a receiver that should have had a fix, in the current or the
  /// last outage.
  private var hasToldInertial = false
  /// Maximum time in s for which a location waits for the scans of its time.
  private var maxScanDelay: Double

  /// Factor on the velocity's standard deviation, for the growth of the position's radius over time. It
  /// exceeds 1 because errors of position and velocity are correlated, and because the velocity's deviation
  /// itself grows.
  private static let growthMargin = 1.5
  /// Maximum standard deviation in degrees of a mounting that is used and published.
  private static let mountingDeviation = 2.0
  /// Time in s by which scans may arrive later than the requested latency.
  private static let slack = 1.5
  /// Interval in s between computations of the acceleration, which is low-passed over 0.15 s, and of the
  /// mounting.
  private static let lookInterval = 0.05
  /// Interval in s between locations that are returned without a receiver.
  private static let interval = 1.0
  /// Maximum time in s that a receiver needs for a fix after minutes of sleep. Most receivers need two
  /// seconds, a few need ten.
  private static let search = 10.0
  /// Maximum number of waiting wheel speeds, enough for the maximum delay of scans.
  private static let mostSpeeds = 64
  /// Minimum duration in s of an outage whose track is corrected; in shorter outages the error stays below a
  /// metre.
  private static let shortestCorrection = 5.0

  /// - Parameters:
  ///   - latency: time in s for which scans may be buffered in the kernel.
  ///   - kept: state of an earlier run; nil if there is none.
  init(latency: Double, motion: VehicleMotion = .wheeled, kept: StoredNavigation? = nil) {
    maxScanDelay = latency + Self.slack
    self.motion = motion
    filter = NavigationFilter(
      NavigationFilter.Parameters(motion), calibration: kept?.calibration, keptAt: kept?.timestamp)
  }

  /// Returns nil if navigation is impossible: navigation or locations are disabled, the device is not in a
  /// wheeled vehicle, or scans arrive too late.
  init?(_ configuration: PipelineConfiguration) { self.init(configuration, kept: nil) }

  init?(_ configuration: PipelineConfiguration, kept: StoredNavigation?) {
    guard configuration.isNavigating else { return nil }
    self.init(
      latency: configuration.inertialLatency, motion: configuration.navigation.vehicle, kept: kept)
  }

  mutating func isRetained(from old: PipelineConfiguration, _ context: inout PipelineContext) -> Bool {
    maxScanDelay = context.configuration.inertialLatency + Self.slack
    if context.configuration.isNavigating, context.configuration.navigation.vehicle != motion {
      // Attitude and mounting of the other kind of motion do not apply.
      self = VehicleNavigation(
        latency: context.configuration.inertialLatency, motion: context.configuration.navigation.vehicle)
      context.mounting = nil
    }
    if !context.configuration.isNavigating { context.mounting = nil }
    return context.configuration.isNavigating
  }

  // MARK: Inputs

  /// Updates whether the receiver is on. While it sleeps, its silence is no outage, and the track is not
  /// corrected afterwards.
  mutating func observe(isReceiverOn: Bool, at timestamp: Timestamp) {
    if isReceiverOn, !self.isReceiverOn { receiverWoke = timestamp }
    self.isReceiverOn = isReceiverOn
  }

  /// Processes a report of the receiver. The step's locations then are those to publish.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    if step.estimate != nil, context.isReceiverFrozen {
      // Navigation bridges repeated positions like an outage.
      let silent = PositionFix(timestamp: step.timely.timestamp, time: step.timely.time, mode: .noFix)
      step.locations = process(silent, [])
    } else {
      step.locations = process(step.timely, step.locations)
    }
  }

  /// - Parameter locations: the locations that were accepted from this and earlier reports, in order of time.
  /// - Returns: the locations to publish.
  private mutating func process(_ fix: PositionFix, _ locations: [Location]) -> [Location] {
    filter.process(fix)
    guard let newest = locations.last else { return [] }
    received = newest
    guard isScanned(newest.timestamp) else { return handOn(drain() + locations) }
    awaited += locations
    return []
  }

  /// Stores wheel speeds until the scans of their time have arrived. The filter only stores the newest
  /// speed: with scans in blocks, each speed would be replaced before a scan of its time arrives.
  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    for speed in step.speeds {
      if speeds.count == Self.mostSpeeds { speeds.removeFirst() }
      speeds.append(speed)
    }
  }

  /// Processes a valid scan, in order of time.
  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    let wasAligned = isAligned
    step.locations = locations(step.scan, context.timeBase, &step.acceleration)
    if context.configuration.usesEstimates { step.estimate = filter.estimate }
    if isAligned, let due = context.fusedDue, due <= step.scan.timestamp, step.scan.contains(.gyroscope) {
      step.fused = filter.estimate.map { location($0, context.timeBase) }
    }
    step.correction = drainCorrection(context.timeBase)
    context.mounting = mounting
    if isAligned != wasAligned { (context.isStatusOutdated, context.isPlanOutdated) = (true, true) }
  }

  /// - Returns: locations to publish.
  private mutating func locations(
    _ scan: InertialScan, _ timeBase: TimeBase, _ acceleration: inout KnownAcceleration?
  ) -> [Location] {
    while let speed = speeds.first, speed.timestamp <= scan.timestamp {
      filter.process(speed)
      speeds.removeFirst()
    }
    filter.process(scan)
    guard scan.contains(.gyroscope) else { return [] }
    newestScan = scan.timestamp
    look(at: scan.timestamp, &acceleration)
    if let first = awaited.first, first.timestamp <= scan.timestamp {
      return reached(scan.timestamp, timeBase)
    }
    guard isOverdue(scan.timestamp), let estimate = filter.estimate, isCarriedOn(estimate) else { return [] }
    hasToldInertial = hasToldInertial || isMissed(at: scan.timestamp)
    return handOn([location(estimate, timeBase)])
  }

  /// Computes the acceleration, which the attitude filter must not mistake for gravity, and the mounting.
  private mutating func look(at timestamp: Timestamp, _ acceleration: inout KnownAcceleration?) {
    if let lastLook, (0..<Self.lookInterval).contains(timestamp.seconds(since: lastLook)) { return }
    lastLook = timestamp
    let estimate = filter.estimate
    findMounting(estimate)
    guard let estimate else { return }
    // The accelerometer's bias is included, so that subtracting this acceleration from the measurement leaves
    // gravity alone.
    acceleration = KnownAcceleration(
      timestamp: estimate.timestamp,
      deviceFrame: estimate.attitude.conjugate.rotate(estimate.acceleration) + estimate.accelerometerBias,
      deviation: standardGravity * estimate.tiltDeviation.radians)
  }

  /// Updates the mounting. While navigation is not aligned, the mounting remains valid: the device does not
  /// move in the vehicle when satellite reception is lost.
  private mutating func findMounting(_ estimate: NavigationEstimate?) {
    // A contradiction of the position after a restart does not concern the mounting.
    let contradictions = filter.counters.contradictions - filter.counters.contradictedResumptions
    if contradictions != knownContradictions { mounting = nil }
    knownContradictions = contradictions
    if let estimate, isMountingKnown(estimate) { mounting = estimate.mounting }
  }

  private func isMountingKnown(_ estimate: NavigationEstimate) -> Bool {
    estimate.mountingDeviation.max() <= Self.mountingDeviation
  }

  /// Processes the air pressure, by which the filter maintains the altitude without a receiver.
  mutating func process(_ pressures: [PressureData], _ context: inout PipelineContext) {
    guard context.configuration.isAltitudeWanted else { return }
    for pressure in pressures { filter.process(pressure) }
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    [awaited.first?.timestamp.advanced(bySeconds: maxScanDelay), silence].compactMap { $0 }.min()
  }

  /// Time at which the position estimate ends because scans are missing, while the receiver sleeps; nil if no
  /// end is expected.
  private var silence: Timestamp? {
    // One millisecond later than the limit, so that the scans count as missing at that time.
    guard !isReceiverOn, isAligned, let silence = newestScan?.advanced(bySeconds: maxScanDelay + 0.001),
      silence > advanced
    else { return nil }
    return silence
  }

  /// Passes on locations of the receiver that have waited too long for scans, unchanged.
  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    if let due = nextDeadline(context), due <= timestamp { context.isPlanOutdated = true }
    advanced = max(advanced, timestamp)
    guard let first = awaited.first, first.timestamp.advanced(bySeconds: maxScanDelay) <= timestamp else {
      return
    }
    context.locations += handOn(drain())
  }

  /// Passes on the waiting locations.
  mutating func publishPending(_ context: inout PipelineContext) { context.locations += handOn(drain()) }

  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    needs.carried = carried(at: context.now)
  }

  /// Returns the corrected track of the last outage in order of time, once, ten seconds after the end of the
  /// outage. Nil if there is no new track, or if nothing published in the outage needs a correction.
  private mutating func drainCorrection(_ timeBase: TimeBase) -> [Location]? {
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

  // MARK: State

  /// Returns the estimate from all sensors; nil unless the filter is aligned and its scans are recent.
  func estimate(at now: Timestamp) -> NavigationEstimate? {
    guard let newestScan, now.seconds(since: newestScan) <= maxScanDelay else { return nil }
    return filter.estimate
  }

  /// Returns the position that navigation continues without the receiver; nil if it does not.
  func carried(at now: Timestamp) -> CarriedPosition? {
    // The receiver is required if the position is contradicted, unconfirmed or not corrected after an outage.
    // It is also required if the mounting is uncertain. Without fixes, the vehicle's motion constraints would
    // make mounting and heading appear more certain than they are.
    guard !hasToldInertial, filter.isConfirmed, let estimate = estimate(at: now), isMountingKnown(estimate)
    else { return nil }
    return CarriedPosition(
      timestamp: estimate.timestamp, radius: estimate.radius68,
      growth: Self.growthMargin * estimate.velocityDeviation)
  }

  /// Describes the state of navigation, unless there are no inertial sensors.
  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    guard newestScan != nil else { return }
    status.navigation = NavigationReport(filter.state, estimate(at: context.now))
    status.navigation?.vehicle = motion.rawValue
  }

  /// Calibration of sensors and mounting as of the newest scan; nil before the mounting is known.
  var calibration: NavigationCalibration? { filter.calibration }

  /// True if the mounting is determined.
  var isAligned: Bool { filter.state == .aligned }

  // MARK: Outputs

  /// Returns whether scans of a time have arrived or are expected.
  private func isScanned(_ timestamp: Timestamp) -> Bool {
    guard isAligned, let newestScan else { return false }
    return timestamp.seconds(since: newestScan) <= maxScanDelay
  }

  /// Returns whether locations are published without the receiver, because it is silent or sleeps.
  private func isCarriedOn(_ estimate: NavigationEstimate) -> Bool {
    estimate.source == .inertial || !isReceiverOn
  }

  /// Returns whether the receiver is silent although it has been on long enough to have a fix.
  private func isMissed(at now: Timestamp) -> Bool {
    isReceiverOn && receiverWoke.map { now.seconds(since: $0) > Self.search } ?? true
  }

  private func isOverdue(_ now: Timestamp) -> Bool {
    guard isAligned else { return false }
    // After a start from a stored state, the first location is published immediately.
    guard let newestLocation else { return true }
    return now.seconds(since: newestLocation) >= Self.interval
  }

  /// Returns the locations for receiver's locations whose scans have arrived: one fused location, or the
  /// receiver's own without an estimate.
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

  /// Returns locations to the caller. With inertial sensors, locations of the receiver alone are marked as
  /// such.
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
  /// True if a part uses the navigation estimate of each scan.
  var usesEstimates: Bool { !events.kinds.isEmpty || traces != nil }

  /// Maximum delay in s with which samples may arrive for navigation.
  package static let longestNavigationLatency = 3.0

  /// True if a navigation filter combines inertial sensors and positions.
  package var isNavigating: Bool {
    navigation.isEnabled && location.isEnabled && location.policy != .significant
      && location.activity == .automotive && inertialLatency <= Self.longestNavigationLatency
  }
}
