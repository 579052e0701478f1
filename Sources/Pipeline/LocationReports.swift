internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The location part of the pipeline: creates `location` and `track` messages from the receiver's reports.
struct LocationReports: Sendable {
  private(set) var manager: LocationManager
  /// Available location services, and reasons why other services are unavailable.
  private(set) var availability: ServiceAvailability

  private let isEnabled: Bool
  private let isHeadingEnabled: Bool
  private let policy: PipelineConfiguration.Location.Policy
  private let privacy: PrivacyPolicy
  private var screen: FixScreen
  private var bounded: BoundedReports?
  private var repeated = RepeatedPosition()
  /// Number of locations that were not published for privacy.
  private var withheldCount = 0
  /// True if the newest location was not published for privacy.
  private(set) var isWithholding = false
  private let tracks: TrackBatches?
  private var events = LocationEvents()
  /// Reason why the newest location is suspect, and the time at which a suspect location was last published;
  /// nil if the newest location is plausible.
  private var suspicion: (reason: Suspicion.Reason, published: Timestamp)?

  /// Minimum time in s between two published suspect locations.
  private static let suspectInterval = 30.0

  /// Destination of messages.
  typealias Send = (VehicleMessage) -> Void

  init(_ configuration: PipelineConfiguration) {
    let settings = configuration.location
    isEnabled = settings.isEnabled
    isHeadingEnabled = configuration.heading.isEnabled
    policy = settings.policy
    privacy = configuration.privacy
    availability = ServiceAvailability(
      isLocationEnabled: isEnabled,
      unavailable: Dictionary(
        uniqueKeysWithValues: SensorKind.allCases.map {
          ($0, "no source has it (\($0.rawValue)); attach one")
        }))
    manager = LocationManager(
      desiredAccuracy: settings.desiredAccuracy, activityType: settings.activity,
      pausesLocationUpdatesAutomatically: settings.pausesAutomatically)
    screen = FixScreen(
      activity: settings.activity,
      clock: ReceiverClock(earliest: configuration.isVirtual ? nil : ReceiverClock.firstRelease))
    var filter: Double?
    if case .distance(let metres) = settings.policy { filter = metres }
    tracks = settings.deferral.map { TrackBatches(deferral: $0, isFiltered: filter != nil) }
    manager.continuousDeferral = settings.deferral.map {
      DeferralLimits(distance: $0.distance, timeout: $0.timeout)
    }
    guard isEnabled else { return }
    switch policy {
    case .distance(let filter): manager.distanceFilter = filter
    case .bounded(let error, let delay, let limits):
      bounded = BoundedReports(error: error, delay: delay, activity: settings.activity, limits: limits)
    case .significant:
      manager.startMonitoringSignificantLocationChanges()
      return
    }
    manager.startUpdatingLocation()
  }

  /// Copies the states of sources and of the receiver, and the events, from the reports with the previous
  /// configuration.
  mutating func adopt(_ other: LocationReports) {
    availability.unavailable = other.availability.unavailable
    availability.deniedNodes = other.availability.deniedNodes
    (events, repeated) = (other.events, other.repeated)
  }

  /// Requests one location, for a limited time.
  mutating func requestLocation(accuracy: Double, timeLimit: Double, at now: Timestamp) {
    if isEnabled { manager.requestLocation(accuracy: accuracy, timeLimit: timeLimit, at: now) }
  }

  /// Demand on the receiver for the configured reporting.
  var demand: SensorDemand { isEnabled ? .rate(hertz: 1, latency: .seconds(1)) : .off }

  /// Requirements for the next fix, for the power planner.
  var needs: LocationNeeds {
    var needs = isEnabled ? manager.needs : LocationNeeds()
    needs.isHeadingWanted = isHeadingEnabled
    return needs
  }

  /// Maximum error in m of the position that a subscriber shows; nil if no bound is configured.
  var errorBound: Double? {
    if case .bounded(let error, _, _) = policy { error } else { nil }
  }

  /// Time in s after the newest location for which the error bound is guaranteed even without observation;
  /// nil if no bound is guaranteed.
  var secondsUnwatched: Double? { bounded?.secondsUnwatched }

  /// The next time at which `advance` must be called if no event arrives earlier.
  var nextDeadline: Timestamp? {
    [manager.nextDeadline, bounded?.nextDeadline, events.nextDeadline].compactMap { $0 }.min()
  }

  func withoutNullIsland(_ fix: PositionFix) -> PositionFix { screen.withoutNullIsland(fix) }

  /// Processes a receiver's report.
  /// - Returns: the accepted locations in order of time, each with its civil time. The caller passes them to
  ///   `process(_:_:into:)`, possibly improved by other sensors.
  mutating func process(_ fix: PositionFix, _ timeBase: inout TimeBase, into send: Send) -> [Location] {
    guard isEnabled else { return [] }
    var locations = screen.process(fix, reference: timeBase.machineTime(at: fix.timestamp))
    if fix.coordinate == nil {
      timeBase.observe(fix.time, at: fix.timestamp, hasFix: false)
      process(manager.observeNoPosition(at: fix.timestamp), at: fix.timestamp, timeBase, into: send)
    }
    for index in locations.indices {
      timeBase.observe(locations[index].time, at: locations[index].timestamp, hasFix: true)
      locations[index] = timeBase.stamped(locations[index])
    }
    return locations
  }

  /// Publishes corrected positions, which replace less accurate positions that were published before.
  func correct(_ exact: [Location], _ timeBase: TimeBase, into send: Send) {
    guard isEnabled, manager.desiredAccuracy != .reduced else { return }
    let fixes = exact.compactMap { privacy.shown($0) }
    guard !fixes.isEmpty else { return }
    var message = TrackBatches(deferral: .init(distance: nil, timeout: nil, error: nil)).message(fixes) {
      timeBase.utc(of: $0)
    }
    message.isCorrection = true
    send(.track(message))
  }

  /// Updates whether the vehicle is at rest, and since when; nil if unknown.
  mutating func observe(
    _ state: StationaryDetector.State?, since: Timestamp, at timestamp: Timestamp, _ timeBase: TimeBase,
    into send: Send
  ) {
    publish(bounded?.observe(isAtRest: state.map { $0 == .stationary }, since: since), into: send)
    process(manager.observe(state, at: timestamp), at: timestamp, timeBase, into: send)
  }

  /// Observes a fix together with the lowest speeds in m/s by independent measurements, and the highest speed by
  /// navigation.
  mutating func observe(_ fix: PositionFix, speeds: [Double?], fastest: Double? = nil) {
    repeated.process(fix, speeds: speeds, fastest: fastest)
  }

  /// True if the receiver repeats a position that the vehicle has left.
  var isReceiverFrozen: Bool { repeated.isFrozen }

  /// Returns a position whose radius includes the distance driven since, if the receiver repeats its position.
  func withDistanceDriven(_ location: Location) -> Location {
    guard usesReceiver(location), let distance = repeated.distance else { return location }
    var location = location
    location.horizontalAccuracy = max(location.horizontalAccuracy ?? 0, distance)
    return location
  }

  /// Updates whether the receiver is on. While it is off, nothing observes the error bound, and the bound is
  /// withdrawn in time.
  mutating func observe(isReceiverOn: Bool) { bounded?.observe(isReceiverOn: isReceiverOn) }

  mutating func observe(_ status: SourceStatus, _ timeBase: TimeBase, into send: Send) {
    for kind in status.kinds {
      switch status.state {
      case .active, .idle: availability.unavailable[kind] = nil
      case .unavailable(let reason): availability.unavailable[kind] = reason
      case .finished: availability.unavailable[kind] = "\(status.source) has ended"
      }
    }
    guard isEnabled, case .unavailable(let reason) = status.state, status.kinds.contains(.positioning) else {
      return
    }
    let failure = LocationFailure.receiverUnavailable(reason: reason)
    process(manager.fail(failure), at: status.timestamp, timeBase, into: send)
  }

  /// Updates the device nodes that this process may not open; empty if there are none.
  mutating func observe(deniedNodes: [String: SensorKind?]) { availability.deniedNodes = deniedNodes }

  /// Advances the time.
  mutating func advance(to timestamp: Timestamp, _ timeBase: TimeBase, into send: Send) {
    process(manager.advance(to: timestamp), at: timestamp, timeBase, into: send)
    publish(bounded?.advance(to: timestamp), into: send)
    for message in events.advance(to: timestamp) { send(.locationEvent(message)) }
  }

  /// Publishes pending messages before a stop.
  mutating func finish(at timestamp: Timestamp, _ timeBase: TimeBase, into send: Send) {
    process(manager.stopUpdatingLocation(), at: timestamp, timeBase, into: send)
    publish(bounded?.finish(), into: send)
    for message in events.finish() { send(.locationEvent(message)) }
  }

  /// The state of each location service by name, for `status`: `available`, or the reason why it is
  /// unavailable.
  var services: [String: String] {
    var services: [String: String] = [:]
    for service in LocationService.allCases {
      services[service.rawValue] = availability.reason(against: service) ?? "available"
    }
    if let failure = manager.failure { services[LocationService.location.rawValue] = failure.description }
    return services
  }

  /// Counters by name, for `status`. Counters of rare events are omitted while they are 0.
  var counters: [String: Int] {
    let counts = screen.counts
    let rare = [
      "fixes.jump": counts.jumps, "fixes.overconfident": counts.overconfident,
      "fixes.confirmed": counts.confirmed, "fixes.suspect": counts.suspect, "fixes.refuted": counts.refuted,
      "fixes.timeBack": counts.timesBack, "fixes.timeAhead": counts.timesAhead,
      "fixes.weekRollover": counts.weekRollovers, "locations.withheld": withheldCount,
    ]
    return rare.filter { $0.value > 0 }.merging([
      "fixes.withoutPosition": counts.withoutPosition, "fixes.duplicate": counts.duplicates,
      "locations.filtered": manager.filteredCount,
    ]) { $1 }
  }

  /// Processes an accepted location.
  mutating func process(_ exact: Location, _ timeBase: TimeBase, into send: Send) {
    // After this statement, only `location`, with privacy applied, may be published or stored. The exact
    // position is only passed to the manager, which uses it for power and the detection of rest.
    guard let location = privacy.shown(exact) else {
      withheldCount += 1
      // This report withdraws the prediction. Otherwise subscribers would continue to predict the vehicle's
      // motion, although its positions are no longer published.
      if !isWithholding { publish(bounded?.stand(isSeen: false), into: send) }
      isWithholding = true
      return
    }
    isWithholding = false
    guard exact.suspicion == nil else { return publishSuspect(exact, location, timeBase, into: send) }
    if suspicion != nil { endSuspicion(exact, location, timeBase, into: send) }
    process(manager.process(exact, shown: location), at: exact.timestamp, timeBase, into: send)
    if !manager.isPaused, let told = manager.location, isBounded(exact) {
      publish(bounded?.process(told, time: timeBase.utc(of: told)), into: send)
    }
  }

  /// Returns whether a bound may be guaranteed for a position; otherwise it counts as missing.
  private func isBounded(_ location: Location) -> Bool {
    location.positionSource == .inertial || usesReceiver(location) && !repeated.isFrozen
  }

  private func usesReceiver(_ location: Location) -> Bool {
    switch location.positionSource {
    case .coarse, .inertial: false
    case .gnss, .fused, nil: true
    }
  }

  /// Publishes a suspect location: immediately if the reason is new, otherwise at intervals. Its radius is at
  /// least the distance by which it is contradicted, so that a consumer that ignores the reason still shows a
  /// correct circle.
  private mutating func publishSuspect(
    _ exact: Location, _ shown: Location, _ timeBase: TimeBase, into send: Send
  ) {
    guard let against = exact.suspicion else { return }
    var told = shown
    told.horizontalAccuracy = max(told.horizontalAccuracy ?? 0, against.distance ?? 0)
    let isNew = suspicion?.reason != against.reason
    if isNew {
      // No error bound is guaranteed while the position is suspect.
      publish(bounded?.stand(isSeen: false), into: send)
      bounded?.discardReport()
      tellEvent(
        LocationEventMessage(time: timeBase.utc(at: exact.timestamp), suspicion: against), exact.timestamp,
        send)
    }
    for event in manager.process(exact, shown: told) {
      guard case .location(let location) = event else {
        process([event], at: exact.timestamp, timeBase, into: send)
        continue
      }
      let isDue =
        suspicion.map { exact.timestamp.seconds(since: $0.published) >= Self.suspectInterval } ?? true
      guard isNew || isDue else { continue }
      suspicion = (against.reason, exact.timestamp)
      publish(location, timeBase, into: send)
    }
    suspicion = (against.reason, suspicion?.published ?? exact.timestamp)
  }

  /// Publishes the first plausible location after a suspicion, because the last published one is suspect.
  private mutating func endSuspicion(
    _ exact: Location, _ shown: Location, _ timeBase: TimeBase, into send: Send
  ) {
    suspicion = nil
    tellEvent(
      LocationEventMessage(time: timeBase.utc(at: exact.timestamp), suspicion: nil), exact.timestamp, send)
    guard manager.isUpdating else { return }
    publish(
      manager.desiredAccuracy == .reduced ? shown.reduced : shown, timeBase, into: send)
  }

  private mutating func tellEvent(_ message: LocationEventMessage, _ timestamp: Timestamp, _ send: Send) {
    if let told = events.process(message, at: timestamp) { send(.locationEvent(told)) }
  }

  private mutating func process(
    _ happened: [LocationEvent], at timestamp: Timestamp, _ timeBase: TimeBase, into send: Send
  ) {
    for event in happened {
      switch event {
      case .location(let location):
        if location.positionSource == .coarse {
          publish(location, timeBase, into: send)
        } else if tracks != nil {
          publish([location], timeBase, into: send)
        } else if bounded == nil {
          publish(location, timeBase, into: send)
        }
      case .significantChange(let location), .requested(let location): publish(location, timeBase, into: send)
      case .batch(let fixes): publish(fixes, timeBase, into: send)
      case .paused(let location):
        if let location, bounded == nil { publish(location, timeBase, into: send) }
        publish(bounded?.stand(isSeen: true), into: send)
      case .deferredUpdatesFinished, .resumed, .failed: break
      }
      if let message = LocationEventMessage(time: timeBase.utc(at: timestamp), event: event),
        let told = events.process(message, at: timestamp)
      {
        send(.locationEvent(told))
      }
    }
  }

  private func publish(_ location: Location, _ timeBase: TimeBase, into send: Send) {
    send(
      .location(LocationMessage(identity: nil, time: timeBase.utc(of: location), location: location)))
  }

  /// Publishes a batch of fixes as a `track`, and its last fix as a `location`. With bounded reporting, the
  /// reports publish the location instead.
  private func publish(_ fixes: [Location], _ timeBase: TimeBase, into send: Send) {
    guard let tracks, let last = fixes.last else { return }
    send(.track(tracks.message(fixes) { timeBase.utc(of: $0) }))
    if bounded == nil { publish(last, timeBase, into: send) }
  }

  private func publish(_ reports: [BoundedReports.Report]?, into send: Send) {
    for (predictor, location) in reports ?? [] {
      let time = UTCTime(nanoseconds: predictor.moment.nanoseconds)
      send(.location(LocationMessage(identity: nil, time: time, location: location, report: predictor)))
    }
  }
}

/// Creates a `track` message from a batch of fixes, either lossless or simplified.
struct TrackBatches: Sendable {
  let deferral: PipelineConfiguration.Location.Deferral
  /// True if a distance filter omits fixes. The message then states no error bound.
  var isFiltered = false

  /// Number of decimals of a degree; seven decimals are about a centimetre.
  private static let precision = 7

  /// - Parameters:
  ///   - fixes: the fixes in order of time.
  ///   - time: returns the civil time of a fix.
  func message(_ fixes: [Location], time: (Location) -> UTCTime) -> TrackMessage {
    let kept = deferral.error.map { thinned(fixes, within: $0, time: time) } ?? fixes
    var message = TrackMessage(
      identity: nil,
      fixes: kept.map {
        TrackMessage.Fix(
          time: time($0), coordinate: $0.coordinate, horizontalAccuracy: $0.horizontalAccuracy)
      }, precision: Self.precision, bound: kept.count < fixes.count && !isFiltered ? deferral.error : nil)
    message.odometer = fixes.last?.odometer
    return message
  }

  /// The simplification uses the times of the message, because consumers interpolate between positions by
  /// these times.
  private func thinned(
    _ fixes: [Location], within error: Double, time: (Location) -> UTCTime
  ) -> [Location] {
    let rounding = TrackMessage.roundingError(precision: Self.precision)
    var thinner = TrackThinner(epsilon: error - rounding)
    return thinner.thinned(
      fixes.map { fix in
        var sample = fix
        sample.timestamp = Timestamp(nanoseconds: time(fix).nanoseconds)
        sample.time = time(fix)
        return sample
      })
  }
}
