public import Motion
internal import Sensors
public import Spatial

/// Decides which locations are worth telling, as Core Location's manager does.
///
/// A value type without I/O: locations that `FixScreen` let pass go in with their time, events come out. Call `advance` at
/// `nextDeadline`.
public struct LocationManager: Sendable {
  /// How exact locations are wanted. It drives the hardware and filters nothing; `reduced` coarsens what is told.
  public var desiredAccuracy: DesiredAccuracy
  /// Metres that the device must move from the last location told before another is told; nil tells every one.
  public var distanceFilter: Double?
  /// What carries the device.
  public var activityType: ActivityType {
    didSet { pause.activity = activityType }
  }
  /// Whether updates pause while the device stands.
  public var pausesLocationUpdatesAutomatically: Bool

  /// Whether updates were started; they may still be paused.
  public private(set) var isUpdating = false
  /// Whether significant changes are told.
  public private(set) var isMonitoringSignificantChanges = false
  /// The newest location, told or not; nil before the first. Coarse at reduced accuracy, as all that leaves here.
  public private(set) var location: Location?
  /// The newest location told; nil before the first.
  public private(set) var lastTold: Location?
  /// Locations held back by the distance filter, since the start.
  public private(set) var filteredCount = 0
  /// What is wrong now; nil when nothing is.
  public private(set) var failure: LocationFailure?

  /// The newest location as the receiver had it: it decides when power is needed again, and never leaves.
  private var exact: Location?
  /// The newest that the receiver had a part in: what is carried on without it is no reason to let it sleep.
  private var seen: Location?
  /// Where the device was, exactly, when it had last gone as far as the distance filter asks, and as far as a significant
  /// change. A blurred position stands still meanwhile, or leaps.
  private var origin, significantOrigin: Coordinate?

  private var requests: [OneShotRequest] = []
  private var deferral: DeferredUpdates?
  /// Limits of deferrals that follow each other without a gap, for as long as updates are not paused: each starts where the last
  /// one ended. Unlike a single deferral they need no certain accuracy, and a distance filter applies to the fixes of a batch.
  /// Nil for single deferrals.
  package var continuousDeferral: DeferralLimits?
  /// Where the last of them ended; nil after an error.
  private var lastDeferral: (end: Timestamp, location: Location?)?
  private var pause: PausePolicy
  private var significantChanges = SignificantChangeMonitor()
  /// Since when the receiver speaks without a position.
  private var blindSince: Timestamp?

  /// Seconds without a position after which the receiver is said to have none: a cold start takes as long.
  private static let patience = 60.0

  public init(
    desiredAccuracy: DesiredAccuracy = .best, distanceFilter: Double? = nil,
    activityType: ActivityType = .automotive, pausesLocationUpdatesAutomatically: Bool = false
  ) {
    self.desiredAccuracy = desiredAccuracy
    self.distanceFilter = distanceFilter
    self.activityType = activityType
    self.pausesLocationUpdatesAutomatically = pausesLocationUpdatesAutomatically
    pause = PausePolicy(activity: activityType)
  }

  /// Metres at 68 % of the newest location as the receiver had it, however coarse it is told; nil when it did not say.
  public var measuredAccuracy: Double? { exact?.horizontalAccuracy }

  /// Whether updates pause now, because the device stands.
  public var isPaused: Bool { isUpdating && pausesLocationUpdatesAutomatically && pause.isPaused }

  public mutating func startUpdatingLocation() {
    guard !isUpdating else { return }
    isUpdating = true
    pause.reset()
  }

  /// Ends updates and with them a deferral, whose fixes are told.
  public mutating func stopUpdatingLocation() -> [LocationEvent] {
    isUpdating = false
    return endDeferral(.cancelled)
  }

  public mutating func startMonitoringSignificantLocationChanges() {
    guard !isMonitoringSignificantChanges else { return }
    isMonitoringSignificantChanges = true
    significantChanges = SignificantChangeMonitor()
  }

  public mutating func stopMonitoringSignificantLocationChanges() {
    isMonitoringSignificantChanges = false
  }

  /// Takes a location; returns what follows from it, in order.
  /// - Parameter shown: the same as it may be told, where privacy blurs it; nil: as it is. All that is told is made of this;
  ///   power, rest and the end of requests are decided by the exact one.
  public mutating func process(_ fresh: Location, shown: Location? = nil) -> [LocationEvent] {
    var events = expire { $0 < fresh.timestamp }
    let shown = shown ?? fresh
    let told = desiredAccuracy == .reduced ? shown.reduced : shown
    (exact, location) = (fresh, told)
    if fresh.suspicion != nil { return events + observeSuspect(fresh, told) }
    let isCoarse = fresh.positionSource == .coarse
    if fresh.positionSource != .inertial, !isCoarse { seen = fresh }
    // Of a receiver that finds nothing, radios are no cure.
    if !isCoarse { (failure, blindSince) = (nil, nil) }
    events += answerRequests(with: told, of: fresh.horizontalAccuracy)
    if isMonitoringSignificantChanges {
      if metersLeft(of: SignificantChangeMonitor.distance, from: significantOrigin) <= 0 {
        significantOrigin = fresh.coordinate
      }
      if let change = significantChanges.process(told) {
        significantOrigin = fresh.coordinate
        events.append(.significantChange(change))
      }
    }
    // Whether the device moves is asked of the exact location.
    let isPausing = isUpdating && pausesLocationUpdatesAutomatically
    // A radius of hundreds of metres says nothing of rest.
    let change = isPausing && !isCoarse ? pause.process(fresh) : nil
    events += consequences(of: change)
    if isUpdating, !isPaused { events += update(told) }
    return events + expire { $0 <= fresh.timestamp }
  }

  /// Reports a suspect location. It passes every filter, and decides neither pauses nor requests.
  private mutating func observeSuspect(_ fresh: Location, _ told: Location) -> [LocationEvent] {
    (failure, blindSince) = (nil, nil)
    // The receiver stays on until a jump is resolved, which takes half a minute at most.
    if fresh.suspicion?.reason != .jump, fresh.positionSource != .inertial { seen = fresh }
    // The next plausible location passes the filter.
    lastTold = nil
    return isUpdating ? [.location(told)] : []
  }

  /// Learns what the accelerometer says of rest and motion, when that changes; nil when it falls silent.
  public mutating func observe(
    _ state: StationaryDetector.State?, at timestamp: Timestamp
  ) -> [LocationEvent] {
    guard isUpdating, pausesLocationUpdatesAutomatically else { return [] }
    return consequences(of: pause.observe(state, at: timestamp))
  }

  /// Learns of a receiver that speaks and has no position.
  public mutating func observeNoPosition(at timestamp: Timestamp) -> [LocationEvent] {
    let since = blindSince ?? timestamp
    blindSince = since
    guard timestamp.seconds(since: since) >= Self.patience else { return [] }
    return fail(.positionUnknown(since: since))
  }

  /// Learns that there will be no locations until further notice. A deferral ends, and its fixes are told.
  public mutating func fail(_ failure: LocationFailure) -> [LocationEvent] {
    guard failure != self.failure else { return [] }
    self.failure = failure
    return endDeferral(.failed) + [.failed(failure)]
  }

  /// Lets time pass without a location: call it at `nextDeadline`.
  public mutating func advance(to timestamp: Timestamp) -> [LocationEvent] {
    var events: [LocationEvent] = []
    if isUpdating, pausesLocationUpdatesAutomatically {
      events += consequences(of: pause.advance(to: timestamp))
    }
    return events + expire { $0 <= timestamp }
  }

  /// When `advance` has something to do, if nothing comes before; nil when never.
  public var nextDeadline: Timestamp? {
    let pausing = isUpdating && pausesLocationUpdatesAutomatically ? pause.nextDeadline : nil
    return ([pausing, deferral?.deadline] + requests.map(\.deadline)).compactMap { $0 }.min()
  }

  /// Requirements for the next fix.
  public var needs: LocationNeeds {
    let isFollowing = isUpdating && !isPaused
    var needs = LocationNeeds(
      isWanted: isUpdating || isMonitoringSignificantChanges || !requests.isEmpty,
      desiredAccuracy: isUpdating ? desiredAccuracy : .threeKilometers)
    needs.isPaused = isPaused
    needs.timestamp = seen?.timestamp
    needs.speed = seen?.speed
    needs.speedAccuracy = seen?.speedAccuracy
    needs.horizontalAccuracy = seen?.horizontalAccuracy
    needs.deadline = ([deferral?.deadline] + requests.map(\.deadline)).compactMap { $0 }.min()
    if let finest = requests.min(by: { $0.accuracy < $1.accuracy }),
      let last = requests.map(\.deadline).max()
    {
      needs.request = LocationNeeds.Request(accuracy: finest.desiredAccuracy, deadline: last)
    } else if isFollowing {
      if !isMonitoringSignificantChanges { needs.patience = patience }
      // A single deferral collects every fix.
      let isFiltered = deferral == nil || continuousDeferral != nil
      needs.distance = isFiltered && desiredAccuracy != .bestForNavigation ? distanceToTell : nil
    } else if isMonitoringSignificantChanges {
      needs.distance = metersLeft(of: SignificantChangeMonitor.distance, from: significantOrigin)
      needs.notBefore = significantChanges.notBefore
    } else {
      needs.distance = .infinity
    }
    return needs
  }

  /// Seconds that a fix may wait because it is only collected. A receiver that sleeps between two fixes is read immediately.
  private var patience: Double {
    guard desiredAccuracy.meters == nil, distanceFilter == nil else { return 0 }
    if let deferral { return deferral.patience(after: exact) }
    guard let continuousDeferral, exact != nil else { return 0 }
    return continuousDeferral.patience
  }

  /// Metres to go until the distance filter is passed; nil when every fix is.
  private var distanceToTell: Double? { distanceFilter.map { metersLeft(of: $0, from: origin) } }

  /// Metres to go until the device is so far from a place; 0 when the place is not known.
  private func metersLeft(of distance: Double, from place: Coordinate?) -> Double {
    guard let exact, let place else { return 0 }
    return max(0, distance - place.distance(to: exact.coordinate))
  }

  private mutating func update(_ location: Location) -> [LocationEvent] {
    if let violation = deferralViolation { return endDeferral(violation) + filter(location) }
    // A batch consists of fixes.
    guard location.positionSource != .coarse else { return filter(location) }
    continueDeferral(at: location.timestamp)
    guard deferral != nil else { return filter(location) }
    if distanceFilter != nil, !passesFilter(location) { return [] }
    // In place: copying the batch for every fix would be quadratic.
    let isOver = deferral?.process(location) ?? false
    return isOver ? endDeferral(nil, at: location.timestamp) : []
  }

  private mutating func filter(_ location: Location) -> [LocationEvent] {
    passesFilter(location) ? [.location(location)] : []
  }

  private mutating func passesFilter(_ location: Location) -> Bool {
    if distanceToTell ?? 0 <= 0 { origin = exact?.coordinate }
    if let distanceFilter, let lastTold,
      lastTold.coordinate.distance(to: location.coordinate) < location.leastWay(distanceFilter)
    {
      filteredCount += 1
      return false
    }
    lastTold = location
    return true
  }

  private mutating func consequences(of change: PausePolicy.Change?) -> [LocationEvent] {
    switch change {
    case nil: return []
    case .resumed: return [.resumed]
    case .paused:
      let batch = endDeferral(.notUpdating)
      let place = location == lastTold ? nil : location
      (lastTold, origin) = (location, exact?.coordinate)
      return batch + [.paused(batch.isEmpty ? place : nil)]
    }
  }
}

extension Location {
  /// Metres that the device must have come for a distance to be passed: a coarse position may be off by its radius.
  func leastWay(_ distance: Double) -> Double {
    positionSource == .coarse ? max(distance, horizontalAccuracy ?? distance) : distance
  }
}

extension DesiredAccuracy {
  /// The one that asks for more.
  func stricter(_ other: DesiredAccuracy) -> DesiredAccuracy {
    let order = Self.allCases
    return (order.firstIndex(of: self) ?? 0) <= (order.firstIndex(of: other) ?? 0) ? self : other
  }
}

extension LocationManager {
  /// Asks for one location. It is told as `requested` when one is exact enough, or else the best that was seen when the
  /// time is over; without any location the request fails.
  ///
  /// - Parameters:
  ///   - accuracy: metres at 68 %.
  ///   - timeLimit: seconds.
  ///   - now: when it is asked.
  public mutating func requestLocation(accuracy: Double, timeLimit: Double, at now: Timestamp) {
    requests.append(OneShotRequest(accuracy: accuracy, start: now, timeLimit: max(0, timeLimit)))
  }

  /// Defers updates: fixes are collected and told as one ordered `batch` when the device has travelled so far or so much
  /// time has passed, whichever comes first. `deferredUpdatesFinished` follows; then updates are told one by one again,
  /// until the next call.
  ///
  /// It needs updates that were started and are not paused, a desired accuracy of `best` or `bestForNavigation`, and no
  /// distance filter; when one of these is lost on the way, the deferral ends with the error, after its batch. A newer
  /// call cancels the one before, whose fixes are told first.
  ///
  /// - Parameters:
  ///   - distance: metres from where the device is; nil for no limit.
  ///   - timeout: seconds; nil for no limit.
  ///   - now: when it is asked.
  public mutating func allowDeferredLocationUpdates(
    untilTraveled distance: Double?, timeout: Double?, at now: Timestamp
  ) -> [LocationEvent] {
    let events = endDeferral(.cancelled)
    if let error = deferralViolation ?? (failure == nil ? nil : .failed) {
      return events + [.deferredUpdatesFinished(error)]
    }
    deferral = DeferredUpdates(
      untilTraveled: distance ?? .infinity, timeout: timeout ?? .infinity, from: location, at: now)
    return events
  }

  /// Ends a deferral before its time; its fixes are told.
  public mutating func disallowDeferredLocationUpdates() -> [LocationEvent] { endDeferral(.cancelled) }

  /// Whether fixes are being collected.
  public var isDeferring: Bool { deferral != nil }

  /// Why updates cannot be deferred as things are; nil when they can.
  private var deferralViolation: DeferralError? {
    if !isUpdating || isPaused { return .notUpdating }
    if continuousDeferral != nil { return nil }
    if desiredAccuracy != .best, desiredAccuracy != .bestForNavigation { return .accuracyTooLow }
    return distanceFilter == nil ? nil : .distanceFiltered
  }

  /// Starts the next of the continuous deferrals where the last one ended, unless that is so long ago that it would be over.
  private mutating func continueDeferral(at timestamp: Timestamp) {
    guard deferral == nil, let limits = continuousDeferral else { return }
    let timeout = limits.timeout ?? .infinity
    let last = lastDeferral.flatMap { timestamp.seconds(since: $0.end) < timeout ? $0 : nil }
    deferral = DeferredUpdates(
      untilTraveled: limits.distance ?? .infinity, timeout: timeout, from: last?.location,
      at: last?.end ?? timestamp)
    lastDeferral = nil
  }

  /// - Parameter end: when it was over by its limits; nil with an error.
  private mutating func endDeferral(_ error: DeferralError?, at end: Timestamp? = nil) -> [LocationEvent] {
    guard let ended = deferral else { return [] }
    deferral = nil
    lastDeferral = end.map { ($0, ended.fixes.last) }
    lastTold = ended.fixes.last ?? lastTold
    let batch: [LocationEvent] = ended.fixes.isEmpty ? [] : [.batch(ended.fixes)]
    return batch + [.deferredUpdatesFinished(error)]
  }

  /// - Parameter radius: metres at 68 % of the exact location, which says when the search may end.
  private mutating func answerRequests(with location: Location, of radius: Double?) -> [LocationEvent] {
    var events: [LocationEvent] = []
    for index in requests.indices.reversed() {
      guard let answer = requests[index].process(location, radius: radius) else { continue }
      events.append(.requested(answer))
      requests.remove(at: index)
    }
    return events
  }

  /// Ends what has a deadline that has come.
  private mutating func expire(_ isOver: (Timestamp) -> Bool) -> [LocationEvent] {
    var events: [LocationEvent] = []
    for request in requests where isOver(request.deadline) {
      events.append(
        request.best.map { .requested($0) } ?? .failed(.requestTimedOut(seconds: request.timeLimit)))
    }
    if !events.isEmpty { requests.removeAll { isOver($0.deadline) } }
    if let deadline = deferral?.deadline, isOver(deadline) {
      events += endDeferral(deferralViolation, at: deadline)
    }
    return events
  }
}

/// What `LocationManager` has to tell.
public enum LocationEvent: Hashable, Sendable {
  /// An update, after the distance filter.
  case location(Location)
  /// A significant change.
  case significantChange(Location)
  /// Deferred updates: every fix since the deferral began, in order; never empty. The end of the deferral follows.
  case batch([Location])
  /// A deferral is over: its distance or its time has passed (nil), or something came between.
  case deferredUpdatesFinished(DeferralError?)
  /// The answer to a one-shot request: the first location that was exact enough, or the best until its time was over.
  case requested(Location)
  /// Updates pause, because the device stands; with the location where it does, if that was not told yet.
  case paused(Location?)
  /// Updates go on.
  case resumed
  /// Something failed; told once, until something else does or a location comes.
  case failed(LocationFailure)
}

/// Why there is no location, in a sentence for the person on call.
public enum LocationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The local switch is off.
  case denied
  /// A device may not be read.
  case restricted(reason: String)
  /// The receiver is gone, or nobody speaks for it.
  case receiverUnavailable(reason: String)
  /// The receiver speaks, and has had no position since.
  case positionUnknown(since: Timestamp)
  /// A one-shot request's time was over before there was any location.
  case requestTimedOut(seconds: Double)

  public var description: String {
    switch self {
    case .denied: "location is switched off; set location.enabled = true"
    case .restricted(let reason): reason
    case .receiverUnavailable(let reason): "the receiver is not available: \(reason)"
    case .positionUnknown: "the receiver has no fix; check that its antenna sees the sky"
    case .requestTimedOut(let seconds): "no location within \(seconds) s"
    }
  }
}
