internal import Sensors
public import Spatial
public import VehicleData

/// Decides which locations are reported, as Core Location's manager does.
///
/// A value type without I/O: the input is locations that `FixScreen` has accepted, the output is events. Call
/// `advance` at `nextDeadline`.
public struct LocationManager: Sendable {
  /// Desired accuracy of locations. It controls the hardware and filters nothing; `reduced` makes reported
  /// locations coarse.
  public var desiredAccuracy: DesiredAccuracy
  /// Metres that the device must move from the last reported location before the next report; nil reports
  /// every location. At rest, a location that is at least twice as accurate as the last reported one passes the
  /// filter, too, if that one was less accurate than the filter, the desired accuracy or 100 m.
  public var distanceFilter: Double?
  /// Type of motion of the device, such as that of a vehicle or a pedestrian.
  public var activityType: ActivityType {
    didSet { pause.activity = activityType }
  }
  /// True if updates pause at standstill.
  public var pausesLocationUpdatesAutomatically: Bool

  /// True if updates were started; they may be paused.
  public private(set) var isUpdating = false
  /// True if significant changes are reported.
  public private(set) var isMonitoringSignificantChanges = false
  /// The newest location, reported or not; nil before the first. At `reduced` accuracy it is coarse, like all
  /// output.
  public private(set) var location: ShownLocation?
  /// The newest reported location; nil before the first.
  public private(set) var lastTold: ShownLocation?
  /// Number of locations omitted by the distance filter, since the start.
  public private(set) var filteredCount = 0
  /// The current failure; nil while locations are available.
  public private(set) var failure: LocationFailure?

  /// The newest location from the receiver, unchanged: it determines the next demand for power, and is never
  /// output.
  private var exact: Location?
  /// Cells of reduced accuracy, if this manager reduces locations.
  private var cells = BlurredCells()
  /// The newest location to which the receiver contributed. A location from inertial navigation alone does
  /// not allow the receiver to sleep.
  private var seen: Location?
  /// Exact positions at which the distance filter last passed a location, and of the last significant change.
  /// Distances are measured from these, because a blurred position does not move with the device.
  private var origin, significantOrigin: Coordinate?

  private var requests: [OneShotRequest] = []
  private var deferral: DeferredUpdates?
  /// Limits of consecutive deferrals without a gap, as long as updates are not paused: each starts at the end
  /// of the last one. Unlike a single deferral, continuous deferrals require no particular accuracy, and a
  /// distance filter applies to the fixes of a batch. Nil for single deferrals.
  package var continuousDeferral: DeferralLimits?
  /// End and last location of the previous continuous deferral; nil after an error.
  private var lastDeferral: (end: Timestamp, location: ShownLocation?)?
  private var pause: PausePolicy
  private var significantChanges = SignificantChangeMonitor()
  /// Time of the first of the current reports without a position; nil while the receiver has a position.
  private var blindSince: Timestamp?

  /// Seconds without a position after which a failure is reported. A cold start can last as long.
  private static let positionTimeout = 60.0

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

  /// Accuracy in m (68 %) of the newest location from the receiver, before privacy or reduced accuracy make
  /// it coarser; nil if unknown.
  public var measuredAccuracy: Double? { exact?.horizontalAccuracy }

  /// True if updates are paused now, because the device is at standstill.
  public var isPaused: Bool { isUpdating && pausesLocationUpdatesAutomatically && pause.isPaused }

  public mutating func startUpdatingLocation() {
    guard !isUpdating else { return }
    isUpdating = true
    pause.reset()
  }

  /// Ends updates and a deferral, whose fixes are reported.
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

  /// Processes a location of a device without privacy zones; returns the resulting events, in order.
  public mutating func process(_ location: Location) -> [LocationEvent] {
    process(location, shown: PrivacyPolicy.unrestricted(location))
  }

  /// Processes a location; returns the resulting events, in order.
  /// - Parameter shown: the same location with privacy applied. All reports contain this location. Power,
  ///   standstill and the end of requests are determined by the exact location.
  public mutating func process(_ fresh: Location, shown: ShownLocation) -> [LocationEvent] {
    guard desiredAccuracy == .reduced else { return process(fresh, published: shown) }
    cells.process(shown.location, PrivacyPolicy())
    return process(fresh, published: shown.reduced(near: cells))
  }

  /// Processes a location; returns the resulting events, in order.
  /// - Parameter told: the same location with privacy and reduced accuracy applied, which all reports contain.
  package mutating func process(_ fresh: Location, published told: ShownLocation) -> [LocationEvent] {
    var events = expire { $0 < fresh.timestamp }
    (exact, location) = (fresh, told)
    if fresh.suspicion != nil { return events + observeSuspect(fresh, told) }
    let isCoarse = fresh.positionSource == .coarse
    if fresh.positionSource != .inertial, !isCoarse { seen = fresh }
    // Radio positions do not end a receiver's failure.
    if !isCoarse { (failure, blindSince) = (nil, nil) }
    events += answerRequests(with: told, of: fresh.horizontalAccuracy)
    if isMonitoringSignificantChanges {
      let isDue = significantChanges.notBefore.map { fresh.timestamp >= $0 } ?? true
      if let change = significantChanges.process(told) {
        significantOrigin = fresh.coordinate
        events.append(.significantChange(change))
      } else if replaces(significantChanges.location, by: told, distance: SignificantChangeMonitor.distance) {
        significantChanges.refine(told)
        significantOrigin = fresh.coordinate
        events.append(.significantChange(told))
      } else if isDue, metersLeft(of: SignificantChangeMonitor.distance, from: significantOrigin) <= 0 {
        // A moved position is not far enough from the last one. The next attempt is after the same distance.
        significantOrigin = fresh.coordinate
      }
    }
    // Movement of the device is determined from the exact location.
    let isPausing = isUpdating && pausesLocationUpdatesAutomatically
    // The radius of a radio position is too large to detect standstill.
    let change = isPausing && !isCoarse ? pause.process(fresh) : nil
    events += consequences(of: change)
    if isUpdating { events += isPaused ? refine(told) : update(told) }
    return events + expire { $0 <= fresh.timestamp }
  }

  /// Reports a suspect location. It passes every filter, and affects neither pauses nor requests.
  private mutating func observeSuspect(_ fresh: Location, _ told: ShownLocation) -> [LocationEvent] {
    (failure, blindSince) = (nil, nil)
    // During a jump `seen` is unchanged, so that the receiver remains on until the jump is resolved, within
    // half a minute.
    if fresh.suspicion?.reason != .jump, fresh.positionSource != .inertial { seen = fresh }
    // Resets the distance filter, so that the next plausible location is reported.
    lastTold = nil
    return isUpdating ? [.location(told)] : []
  }

  /// Processes a change between standstill and motion detected by the accelerometer; nil if the accelerometer
  /// has stopped.
  public mutating func observe(
    _ state: MotionState?, at timestamp: Timestamp
  ) -> [LocationEvent] {
    guard isUpdating, pausesLocationUpdatesAutomatically else { return [] }
    return consequences(of: pause.observe(state, at: timestamp))
  }

  /// Processes motion that another sensor has measured, such as the wheels: it ends a pause.
  package mutating func observeMotion() -> [LocationEvent] {
    guard isUpdating, pausesLocationUpdatesAutomatically else { return [] }
    return consequences(of: pause.observeMotion())
  }

  /// Processes a report of the receiver without a position.
  public mutating func observeNoPosition(at timestamp: Timestamp) -> [LocationEvent] {
    let since = blindSince ?? timestamp
    blindSince = since
    guard timestamp.seconds(since: since) >= Self.positionTimeout else { return [] }
    return fail(.positionUnknown(since: since))
  }

  /// Reports that the receiver has a position that may not be shown. It ends a failure.
  package mutating func observeHiddenPosition() { (failure, blindSince) = (nil, nil) }

  /// Reports that no locations will be available until further notice. A deferral ends, and its fixes are
  /// reported.
  public mutating func fail(_ failure: LocationFailure) -> [LocationEvent] {
    guard failure != self.failure else { return [] }
    self.failure = failure
    return endDeferral(.failed) + [.failed(failure)]
  }

  /// Advances the time without a location: call it at `nextDeadline`.
  public mutating func advance(to timestamp: Timestamp) -> [LocationEvent] {
    var events: [LocationEvent] = []
    if isUpdating, pausesLocationUpdatesAutomatically {
      events += consequences(of: pause.advance(to: timestamp))
    }
    return events + expire { $0 <= timestamp }
  }

  /// Time at which `advance` must be called if no location arrives before; nil if no call is required.
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
      if !isMonitoringSignificantChanges { needs.maxFixDelay = maxFixDelay }
      // A single deferral collects every fix, so the distance filter does not apply.
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

  /// Seconds for which a fix may wait because a deferral only collects fixes. Zero if the receiver may sleep
  /// between fixes, because each fix is then read immediately.
  private var maxFixDelay: Double {
    guard desiredAccuracy.meters == nil, distanceFilter == nil else { return 0 }
    if let deferral { return deferral.maxFixDelay(after: exact) }
    guard let continuousDeferral, exact != nil else { return 0 }
    return continuousDeferral.maxFixDelay
  }

  /// Distance in m until the distance filter passes a location; nil if every fix passes.
  private var distanceToTell: Double? { distanceFilter.map { metersLeft(of: $0, from: origin) } }

  /// Returns the distance in m that remains until the device is `distance` metres away from a position; 0 if
  /// a position is unknown.
  private func metersLeft(of distance: Double, from place: Coordinate?) -> Double {
    guard let exact, let place else { return 0 }
    return max(0, distance - place.distance(to: exact.coordinate))
  }

  private mutating func update(_ location: ShownLocation) -> [LocationEvent] {
    if let violation = deferralViolation { return endDeferral(violation) + filter(location) }
    // Only fixes are deferred; a radio position is reported immediately.
    guard location.positionSource != .coarse else { return filter(location) }
    continueDeferral(at: location.timestamp)
    guard deferral != nil else { return filter(location) }
    if distanceFilter != nil, !passesFilter(location) { return [] }
    // The fix is added in place, because copying the batch for every fix would require quadratic time.
    let isOver = deferral?.process(location) ?? false
    return isOver ? endDeferral(nil, at: location.timestamp) : []
  }

  private mutating func filter(_ location: ShownLocation) -> [LocationEvent] {
    passesFilter(location) ? [.location(location)] : []
  }

  private mutating func passesFilter(_ location: ShownLocation) -> Bool {
    if distanceToTell ?? 0 <= 0 { origin = exact?.coordinate }
    if let distanceFilter, let lastTold,
      lastTold.coordinate.distance(to: location.coordinate) < location.location.leastWay(distanceFilter)
    {
      guard replaces(lastTold, by: location, distance: distanceFilter) else {
        filteredCount += 1
        return false
      }
      origin = exact?.coordinate
    }
    lastTold = location
    return true
  }

  /// Reports a location during a pause if none was reported before, or if it is much more accurate than the last one.
  private mutating func refine(_ location: ShownLocation) -> [LocationEvent] {
    guard lastTold == nil || replaces(lastTold, by: location, distance: distanceFilter) else { return [] }
    (lastTold, origin) = (location, exact?.coordinate)
    return [.location(location)]
  }

  /// Returns whether the newest location replaces a reported one because it is much more accurate.
  private func replaces(_ reported: ShownLocation?, by location: ShownLocation, distance: Double?) -> Bool {
    let refinement = PositionRefinement(distance: distance, desiredAccuracy: desiredAccuracy)
    return reported.map { refinement.replaces($0, by: location, speed: exact?.speed) } ?? false
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
  /// Returns the minimum movement in m that passes a distance filter. For a radio position it is at least the
  /// radius, by which the position may be wrong.
  func leastWay(_ distance: Double) -> Double {
    positionSource == .coarse ? max(distance, horizontalAccuracy ?? distance) : distance
  }
}

extension DesiredAccuracy {
  /// Returns the stricter of two accuracies.
  package func stricter(_ other: DesiredAccuracy) -> DesiredAccuracy {
    let order = Self.allCases
    return (order.firstIndex(of: self) ?? 0) <= (order.firstIndex(of: other) ?? 0) ? self : other
  }
}

extension LocationManager {
  /// Requests one location. The first sufficiently accurate location is reported as `requested`. At the time
  /// limit, the most accurate location so far is reported; without any location the request fails.
  ///
  /// - Parameters:
  ///   - accuracy: metres at 68 %.
  ///   - timeLimit: seconds.
  ///   - now: time of the request.
  public mutating func requestLocation(accuracy: Double, timeLimit: Double, at now: Timestamp) {
    requests.append(OneShotRequest(accuracy: accuracy, start: now, timeLimit: max(0, timeLimit)))
  }

  /// Defers updates: fixes are collected and reported as one ordered `batch` after a distance or a time,
  /// whichever comes first. `deferredUpdatesFinished` follows; then updates are reported one by one again,
  /// until the next call.
  ///
  /// It requires updates that were started and are not paused, a desired accuracy of `best` or
  /// `bestForNavigation`, and no distance filter. If one of these requirements fails meanwhile, the deferral
  /// reports its batch and ends with the error. A newer call cancels the previous one, whose fixes are
  /// reported first.
  ///
  /// - Parameters:
  ///   - distance: metres from the present position of the device; nil for no limit.
  ///   - timeout: seconds; nil for no limit.
  ///   - now: time of the request.
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

  /// Ends a deferral before it reaches its limits. The deferred fixes are reported.
  public mutating func disallowDeferredLocationUpdates() -> [LocationEvent] { endDeferral(.cancelled) }

  /// True if fixes are being collected.
  public var isDeferring: Bool { deferral != nil }

  /// Reason why updates cannot be deferred now; nil if they can.
  private var deferralViolation: DeferralError? {
    if !isUpdating || isPaused { return .notUpdating }
    if continuousDeferral != nil { return nil }
    if desiredAccuracy != .best, desiredAccuracy != .bestForNavigation { return .accuracyTooLow }
    return distanceFilter == nil ? nil : .distanceFiltered
  }

  /// Starts the next continuous deferral at the end of the previous one. If it would already have timed out,
  /// it starts now.
  private mutating func continueDeferral(at timestamp: Timestamp) {
    guard deferral == nil, let limits = continuousDeferral else { return }
    let timeout = limits.timeout ?? .infinity
    let last = lastDeferral.flatMap { timestamp.seconds(since: $0.end) < timeout ? $0 : nil }
    deferral = DeferredUpdates(
      untilTraveled: limits.distance ?? .infinity, timeout: timeout, from: last?.location,
      at: last?.end ?? timestamp)
    lastDeferral = nil
  }

  /// - Parameter end: time at which the deferral reached its limits; nil if it ended with an error.
  private mutating func endDeferral(_ error: DeferralError?, at end: Timestamp? = nil) -> [LocationEvent] {
    guard let ended = deferral else { return [] }
    deferral = nil
    lastDeferral = end.map { ($0, ended.fixes.last) }
    lastTold = ended.fixes.last ?? lastTold
    let batch: [LocationEvent] = ended.fixes.isEmpty ? [] : [.batch(ended.fixes)]
    return batch + [.deferredUpdatesFinished(error)]
  }

  /// - Parameter radius: accuracy (68 %, m) of the location before privacy settings reduce it; it decides
  ///   whether a request is answered.
  private mutating func answerRequests(with location: ShownLocation, of radius: Double?) -> [LocationEvent] {
    var events: [LocationEvent] = []
    for index in requests.indices.reversed() {
      guard let answer = requests[index].process(location, radius: radius) else { continue }
      events.append(.requested(answer))
      requests.remove(at: index)
    }
    return events
  }

  /// Ends the requests and the deferral whose deadline has passed.
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

/// Output of `LocationManager`. Its locations have privacy applied.
public enum LocationEvent: Hashable, Sendable {
  /// An update, after the distance filter. During a pause, a location that is much more accurate than the last
  /// reported one, or the first one.
  case location(ShownLocation)
  /// A significant change, or a much more accurate position of the last one.
  case significantChange(ShownLocation)
  /// Deferred updates: every fix since the deferral began, in order; never empty. The end of the deferral
  /// follows.
  case batch([ShownLocation])
  /// End of a deferral. The error is nil if the deferral reached its distance or time.
  case deferredUpdatesFinished(DeferralError?)
  /// Answer to a one-shot request: the first sufficiently accurate location, or at the time limit the most
  /// accurate one so far.
  case requested(ShownLocation)
  /// Updates pause because of a standstill. Contains the location of the device if that was not reported yet;
  /// otherwise nil.
  case paused(ShownLocation?)
  /// Updates continue.
  case resumed
  /// Reason why there are no locations. It is reported once, and again only after another failure or a
  /// location.
  case failed(LocationFailure)
}

/// Reason why there is no location, as a sentence for the operator.
public enum LocationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The setting `location.enabled` is off.
  case denied
  /// The agent has no permission to read a device.
  case restricted(reason: String)
  /// The receiver is unavailable, or has no source.
  case receiverUnavailable(reason: String)
  /// The receiver works, but has had no position since `since`.
  case positionUnknown(since: Timestamp)
  /// A one-shot request reached its time limit before there was any location.
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
