internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The navigation side of the pipeline: what the location side tells, made of the receiver's locations and the inertial
/// sensors' scans.
///
/// While the filter is aligned, each of the receiver's locations becomes a fused one as soon as the scans have reached its
/// time, and while a receiver that is wanted says nothing, there is an inertial one each second. In every other case, and
/// where the scans stay away, the receiver's locations go through as they came.
struct VehicleNavigation: Sendable {
  private var filter = NavigationFilter()
  /// The receiver's that wait for the scans of their time, in order.
  private var awaited: [Location] = []
  /// The newest of the receiver's that was believed.
  private var received: Location?
  /// Of the newest scan with a rotation rate.
  private var newestScan: Timestamp?
  /// Of the newest location handed on.
  private var newestLocation: Timestamp?
  private var isReceiverOn = true
  /// Whether locations without a receiver were told in the outage that is under way or was the last.
  private var hasToldInertial = false
  /// Seconds that scans may come after a location of their time.
  private let patience: Double

  /// Seconds of latency up to which the filter can wait for scans.
  static let longestLatency = 3.0
  /// Seconds that scans come late beyond what they were asked for.
  private static let slack = 1.5
  /// Seconds between two locations without a receiver.
  private static let interval = 1.0
  /// Seconds of an outage whose way is worth a correction: in less, nothing strays by a metre.
  private static let shortestCorrection = 5.0

  /// - Parameter latency: seconds that scans may wait in the kernel.
  init(latency: Double) {
    patience = latency + Self.slack
  }

  /// Nil where nothing can be navigated: it is switched off, nobody wants locations, no wheels carry the device, or scans come
  /// too late.
  init?(_ configuration: PipelineConfiguration) {
    guard configuration.isNavigating else { return nil }
    self.init(latency: configuration.inertialLatency)
  }

  /// Goes on under another configuration with what it has found out.
  func reconfigured(_ new: PipelineConfiguration) -> VehicleNavigation? {
    guard var next = VehicleNavigation(new) else { return nil }
    (next.filter, next.received, next.newestScan) = (filter, received, newestScan)
    (next.awaited, next.newestLocation, next.isReceiverOn) = (awaited, newestLocation, isReceiverOn)
    next.hasToldInertial = hasToldInertial
    return next
  }

  // MARK: What goes in

  /// Learns whether the receiver is wanted on. While it sleeps, its silence is no outage.
  mutating func observe(isReceiverOn: Bool) { self.isReceiverOn = isReceiverOn }

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

  /// Takes scans that are sound, in order.
  /// - Returns: what can be told now.
  mutating func process(_ scans: [InertialScan], _ timeBase: TimeBase) -> [Location] {
    var told: [Location] = []
    for scan in scans {
      filter.process(scan)
      guard scan.contains(.gyroscope) else { continue }
      newestScan = scan.timestamp
      if let first = awaited.first, first.timestamp <= scan.timestamp {
        told += reached(scan.timestamp, timeBase)
      } else if isOverdue(scan.timestamp), let estimate = filter.estimate, estimate.source == .inertial {
        hasToldInertial = true
        told += handOn([location(estimate, timeBase)])
      }
    }
    return told
  }

  /// Takes the pressure of the air, which keeps the height where there is no receiver.
  mutating func process(_ pressure: PressureData) { filter.process(pressure) }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? { awaited.first?.timestamp.advanced(bySeconds: patience) }

  /// Lets time pass: what has waited for too long is told as it came.
  mutating func advance(to timestamp: Timestamp) -> [Location] {
    guard let nextDeadline, nextDeadline <= timestamp else { return [] }
    return handOn(drain())
  }

  /// Hands over what waits, before a stop.
  mutating func finish() -> [Location] { handOn(drain()) }

  /// The way through the last outage, in order, as it is known ten seconds after; once, and nil where nothing was told in it that
  /// it would correct.
  mutating func drainCorrection(_ timeBase: TimeBase) -> [Location]? {
    guard filter.isTrackFinished else { return nil }
    let latency = filter.estimate?.positionLatency ?? 0
    guard let way = filter.takeCorrectedTrack(), let first = way.first, let last = way.last, hasToldInertial
    else { return nil }
    hasToldInertial = false
    guard last.timestamp.seconds(since: first.timestamp) >= Self.shortestCorrection else { return nil }
    return way.map {
      var location = Location(timestamp: $0.timestamp, coordinate: $0.coordinate)
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

  /// For `status`; nil where there are no inertial sensors, so that there is nothing to navigate by.
  func report(at now: Timestamp) -> NavigationReport? {
    guard newestScan != nil else { return nil }
    return NavigationReport(filter.state, estimate(at: now))
  }

  /// Whether it has found out how the device sits in the vehicle.
  var isAligned: Bool { filter.state == .aligned }

  // MARK: What comes out

  /// Whether scans are there, or about to come, for a time.
  private func isScanned(_ timestamp: Timestamp) -> Bool {
    guard isAligned, let newestScan else { return false }
    return timestamp.seconds(since: newestScan) <= patience
  }

  private func isOverdue(_ now: Timestamp) -> Bool {
    guard isReceiverOn, isAligned, let newestLocation else { return false }
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
  /// Whether motion and position are made one.
  var isNavigating: Bool {
    navigation.isEnabled && location.isEnabled && location.policy != .significant
      && location.activity == .automotive && inertialLatency <= VehicleNavigation.longestLatency
  }
}
