internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The location part of the pipeline: creates `location` and `track` messages from the receiver's reports.
struct LocationReports: PipelinePart {
  private(set) var manager: LocationManager
  private var screen: FixScreen
  private var bounded: BoundedReports?
  /// Number of locations that were not published for privacy.
  private var withheldCount = 0
  private let tracks: TrackBatches?
  private var events = LocationEvents()
  /// Reason why the newest location is suspect, and the time at which a suspect location was last published;
  /// nil if the newest location is plausible.
  private var suspicion: (reason: Suspicion.Reason, published: Timestamp)?

  /// True after a published failure, until the next position.
  private var hasFailed = false
  /// The last published location; nil before the first.
  private var lastPublished: ShownLocation?
  /// The newest coordinate that privacy or reduced accuracy has moved; nil if the newest location was exact.
  private var moved: Coordinate?

  /// Minimum time in s between two published suspect locations.
  private static let suspectInterval = 30.0

  init(_ configuration: PipelineConfiguration) {
    let settings = configuration.location
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
    guard settings.isEnabled else { return }
    switch settings.policy {
    case .distance(let filter): manager.distanceFilter = filter
    case .bounded(let error, let delay, let limits):
      bounded = BoundedReports(error: error, delay: delay, activity: settings.activity, limits: limits)
    case .significant:
      manager.startMonitoringSignificantLocationChanges()
      return
    }
    manager.startUpdatingLocation()
  }

  /// With other settings of locations or privacy, reporting restarts. The limits on the rate of events are retained, and failures
  /// and suspicions that started earlier still end with an event.
  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    let new = context.configuration
    guard new.hasOtherLocations(than: old) else { return }
    context.availability.isLocationEnabled = new.location.isEnabled
    context.isWithholding = false
    let (events, hasFailed, suspicion) = (events, hasFailed, suspicion)
    self = LocationReports(new)
    (self.events, self.hasFailed, self.suspicion) = (events, hasFailed, suspicion)
  }

  /// Requests one location, for a limited time.
  mutating func requestLocation(accuracy: Double, timeLimit: Double, _ context: PipelineContext) {
    guard context.configuration.location.isEnabled else { return }
    manager.requestLocation(accuracy: accuracy, timeLimit: timeLimit, at: context.now)
  }

  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    let settings = context.configuration.location
    var location = settings.isEnabled ? manager.needs : LocationNeeds()
    location.isHeadingWanted = context.configuration.heading.isEnabled
    // A position that was withheld for privacy was measured, so it need not be measured again. A position
    // that navigation continued without the receiver was not measured.
    if let measured = context.lastSeen {
      location.timestamp = measured.timestamp
      location.speed = measured.speed
      location.speedAccuracy = measured.speedAccuracy
      location.horizontalAccuracy = measured.horizontalAccuracy
    }
    needs.location = location
    if case .bounded(let error, _, _) = settings.policy { needs.errorBound = error }
    needs.secondsUnwatched = bounded?.secondsUnwatched
    needs.watchesMotion = settings.pausesAutomatically
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    [manager.nextDeadline, bounded?.nextDeadline, events.nextDeadline].compactMap { $0 }.min()
  }

  /// Accepts locations from a receiver's report, each with its civil time.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    step.fix = screen.withoutNullIsland(step.fix)
    let clock = (context.timeBase.clock, context.timeBase.lastStep)
    if context.configuration.location.isEnabled { accept(&step, &context) }
    if (context.timeBase.clock, context.timeBase.lastStep) != clock { context.isStatusOutdated = true }
    // The power plan uses the receiver's own positions, not those of navigation. The receiver can then sleep
    // without waiting for scans, and stays on while navigation bridges a tunnel.
    context.lastSeen = step.locations.last ?? context.lastSeen
    context.isPlanOutdated = true
    step.timely = context.timeBase.withoutDelay(step.fix)
    // gpsd's constant for the error of a dilution is several times the error of present receivers. Navigation, driving events and
    // contradictions then use the dilution, as with a recording of the receiver's sentences.
    if step.timely.isHorizontalErrorFromDilution { step.timely.horizontalError = nil }
  }

  private mutating func accept(_ step: inout FixStep, _ context: inout PipelineContext) {
    let fix = step.fix
    step.locations = screen.process(fix, reference: context.timeBase.machineTime(at: fix.timestamp))
    if fix.coordinate == nil {
      context.timeBase.observe(fix.time, at: fix.timestamp, hasFix: false)
      process(manager.observeNoPosition(at: fix.timestamp), at: fix.timestamp, &context)
    }
    for index in step.locations.indices {
      let location = step.locations[index]
      context.timeBase.observe(location.time, at: location.timestamp, hasFix: true)
      step.locations[index] = context.timeBase.stamped(location)
    }
  }

  /// Publishes corrected positions, which replace less accurate positions that were published before.
  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    guard let exact = step.correction, context.configuration.location.isEnabled, !context.isReduced else {
      return
    }
    let fixes = exact.compactMap { context.shown($0) }
    guard !fixes.isEmpty else { return }
    let timeBase = context.timeBase
    var message = TrackBatches(deferral: .init(distance: nil, timeout: nil, error: nil)).message(fixes) {
      timeBase.utc(of: $0)
    }
    message.isCorrection = true
    context.send(.track(message))
  }

  /// Ends a pause when the wheels turn, also without an accelerometer.
  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    guard step.speeds.contains(where: { $0.speed > PowerPlanner.restSpeed }) else { return }
    if manager.isPaused { context.isPlanOutdated = true }
    process(manager.observeMotion(), at: step.timestamp, &context)
  }

  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    publish(bounded?.observe(isAtRest: change.isAtRest, since: change.since), &context)
    process(manager.observe(change.state, at: change.timestamp), at: change.timestamp, &context)
  }

  /// Updates whether the receiver is on. While it is off, nothing observes the error bound, and the bound is
  /// withdrawn in time.
  mutating func observe(isReceiverOn: Bool) { bounded?.observe(isReceiverOn: isReceiverOn) }

  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {
    for kind in change.kinds {
      switch change.state {
      case .active, .idle: context.availability.unavailable[kind] = nil
      case .unavailable(let reason): context.availability.unavailable[kind] = reason
      case .finished: context.availability.unavailable[kind] = "\(change.source) has ended"
      }
    }
    guard context.configuration.location.isEnabled, case .unavailable(let reason) = change.state,
      change.kinds.contains(.positioning)
    else { return }
    let failure = LocationFailure.receiverUnavailable(reason: reason)
    process(manager.fail(failure), at: change.timestamp, &context)
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    if let due = nextDeadline(context), due <= timestamp { context.isPlanOutdated = true }
    process(manager.advance(to: timestamp), at: timestamp, &context)
    publish(bounded?.advance(to: timestamp), &context)
    for message in events.advance(to: timestamp) { send(message, &context) }
  }

  mutating func publishPending(_ context: inout PipelineContext) {
    process(manager.stopUpdatingLocation(), at: context.now, &context)
    publish(bounded?.finish(), &context)
    for message in events.finish() { context.send(.locationEvent(message)) }
  }

  /// Describes each location service by name: `available`, or the reason why it is unavailable.
  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    status.authorization = context.availability.authorizationStatus.rawValue
    for service in LocationService.allCases {
      status.services[service.rawValue] = context.availability.reason(against: service) ?? "available"
    }
    if let failure = manager.failure {
      status.services[LocationService.location.rawValue] = failure.description
    }
    status.counters.merge(counters) { $1 }
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

  /// Processes a position, and reports the end of a failure.
  mutating func process(_ exact: inout Location, _ context: inout PipelineContext) {
    report(&exact, &context)
    guard hasFailed, manager.failure == nil else { return }
    hasFailed = false
    tellEvent(
      LocationEventMessage(time: context.timeBase.utc(at: exact.timestamp), event: .recovered),
      exact.timestamp, &context)
  }

  /// Publishes a position if the settings select it.
  private mutating func report(_ exact: inout Location, _ context: inout PipelineContext) {
    // After this statement, only `location`, with privacy applied, may be published or stored. The exact
    // position is only passed to the manager, which uses it for power and the detection of rest.
    guard let location = context.shown(exact, radius: exact.suspicion?.distance ?? 0) else {
      withheldCount += 1
      if exact.usesReceiver { manager.observeHiddenPosition() }
      // This report withdraws the prediction. Otherwise subscribers would continue to predict the vehicle's
      // motion, although its positions are no longer published.
      if !context.isWithholding { publish(bounded?.stand(isSeen: false), &context) }
      context.isWithholding = true
      return
    }
    context.isWithholding = false
    guard exact.suspicion == nil else { return publishSuspect(exact, location, &context) }
    guard suspicion != nil else { return follow(exact, location, &context) }
    suspicion = nil
    tellEvent(
      LocationEventMessage(time: context.timeBase.utc(at: exact.timestamp), suspicion: nil), exact.timestamp,
      &context)
    let count = context.messages.count
    follow(exact, location, &context)
    // The last published location is suspect, so this one replaces it even if the settings do not select it.
    let time = context.timeBase.utc(of: exact)
    let isPublished = context.messages.dropFirst(count).contains { message in
      if case .location(let message) = message { message.time.seconds(since: time) > -0.001 } else { false }
    }
    if manager.isUpdating, !isPublished { publish(location, &context) }
  }

  /// Publishes a plausible position if the settings select it.
  private mutating func follow(
    _ exact: Location, _ location: ShownLocation, _ context: inout PipelineContext
  ) {
    let events = manager.process(exact, published: location)
    process(events, at: exact.timestamp, &context)
    // During a pause, the manager reports a location that is much more accurate than the last one.
    guard let told = manager.location, !manager.isPaused || events.contains(.location(told)) else { return }
    if told.coordinate != exact.coordinate, exact.positionSource != .coarse {
      publishMoved(told, &context)
    } else {
      moved = nil
      guard isBounded(exact, context) else { return }
      let isRequired = manager.isPaused || refinesPublished(told, speed: exact.speed, context)
      let time = context.timeBase.utc(of: told.location)
      let reports = bounded?.process(told, time: time, isRequired: isRequired)
      // During a pause, the report without motion has the same time, and replaces the other one.
      let standing = manager.isPaused ? bounded?.stand(isSeen: true) ?? [] : []
      publish(standing.isEmpty ? reports : standing, &context)
    }
  }

  /// Returns whether a location of bounded reporting replaces the last published one because it is much more accurate.
  private func refinesPublished(_ told: ShownLocation, speed: Double?, _ context: PipelineContext) -> Bool {
    let settings = context.configuration.location
    guard let lastPublished, case .bounded(let error, _, _) = settings.policy else { return false }
    let refinement = PositionRefinement(distance: error, desiredAccuracy: settings.desiredAccuracy)
    return refinement.replaces(lastPublished, by: told, speed: speed)
  }

  /// Publishes a location that privacy or reduced accuracy has moved, if its coordinate is new. Nothing is predicted
  /// from such locations: a step between the centres of two cells is no velocity.
  private mutating func publishMoved(_ told: ShownLocation, _ context: inout PipelineContext) {
    guard case .bounded(let error, _, _) = context.configuration.location.policy else { return }
    if let moved, moved.distance(to: told.coordinate) <= error { return }
    if moved == nil {
      publish(bounded?.stand(isSeen: false), &context)
      bounded?.restart()
    }
    moved = told.coordinate
    publish(told, &context)
  }

  /// Returns whether a bound may be guaranteed for a position; otherwise it counts as missing.
  private func isBounded(_ location: Location, _ context: PipelineContext) -> Bool {
    location.positionSource == .inertial || location.usesReceiver && !context.isReceiverFrozen
  }

  /// Publishes a suspect location: immediately if the reason is new, otherwise at intervals. Its radius is at
  /// least the distance by which it is contradicted, so that a consumer that ignores the reason still shows a
  /// correct circle.
  private mutating func publishSuspect(
    _ exact: Location, _ told: ShownLocation, _ context: inout PipelineContext
  ) {
    guard let against = exact.suspicion else { return }
    let isNew = suspicion?.reason != against.reason
    if isNew {
      // No error bound is guaranteed while the position is suspect.
      publish(bounded?.stand(isSeen: false), &context)
      bounded?.discardReport()
      tellEvent(
        LocationEventMessage(time: context.timeBase.utc(at: exact.timestamp), suspicion: against),
        exact.timestamp, &context)
    }
    for event in manager.process(exact, published: told) {
      guard case .location(let location) = event else {
        process([event], at: exact.timestamp, &context)
        continue
      }
      let isDue =
        suspicion.map { exact.timestamp.seconds(since: $0.published) >= Self.suspectInterval } ?? true
      guard isNew || isDue else { continue }
      suspicion = (against.reason, exact.timestamp)
      publish(location, &context)
    }
    suspicion = (against.reason, suspicion?.published ?? exact.timestamp)
  }

  private mutating func tellEvent(
    _ message: LocationEventMessage, _ timestamp: Timestamp, _ context: inout PipelineContext
  ) {
    if let told = events.process(message, at: timestamp) { send(told, &context) }
  }

  /// Sends an event. With the start or the end of a failure, the last status no longer applies.
  private func send(_ event: LocationEventMessage, _ context: inout PipelineContext) {
    if event.event == .failed || event.event == .recovered { context.isStatusOutdated = true }
    context.send(.locationEvent(event))
  }

  private mutating func process(
    _ happened: [LocationEvent], at timestamp: Timestamp, _ context: inout PipelineContext
  ) {
    // An update can answer a request, too, and is published once.
    var published: ShownLocation?
    for event in happened {
      switch event {
      case .location(let location) where location.positionSource != .coarse && tracks != nil:
        publish([location], &context)
      case .location(let location) where location.positionSource != .coarse && bounded != nil: break
      case .location(let location), .significantChange(let location), .requested(let location):
        if location != published { publish(location, &context) }
        published = location
      case .batch(let fixes): publish(fixes, &context)
      case .paused(let location):
        if let location, bounded == nil { publish(location, &context) }
        publish(bounded?.stand(isSeen: true), &context)
      case .failed: hasFailed = true
      case .deferredUpdatesFinished, .resumed: break
      }
      if let message = LocationEventMessage(time: context.timeBase.utc(at: timestamp), event: event),
        let told = events.process(message, at: timestamp)
      {
        send(told, &context)
      }
    }
  }

  private mutating func publish(_ location: ShownLocation, _ context: inout PipelineContext) {
    lastPublished = location
    let time = context.timeBase.utc(of: location.location)
    context.send(.location(LocationMessage(identity: nil, time: time, location: location)))
  }

  /// Publishes a batch of fixes as a `track`, and its last fix as a `location`. With bounded reporting, the
  /// reports publish the location instead.
  private mutating func publish(_ fixes: [ShownLocation], _ context: inout PipelineContext) {
    guard let tracks, let last = fixes.last else { return }
    let timeBase = context.timeBase
    context.send(.track(tracks.message(fixes) { timeBase.utc(of: $0) }))
    if bounded == nil { publish(last, &context) }
  }

  private mutating func publish(_ reports: [BoundedReports.Report]?, _ context: inout PipelineContext) {
    for (predictor, location) in reports ?? [] {
      lastPublished = location
      let time = UTCTime(nanoseconds: predictor.moment.nanoseconds)
      context.send(
        .location(LocationMessage(identity: nil, time: time, location: location, report: predictor)))
    }
  }
}

extension PipelineConfiguration {
  /// Returns whether locations are reported in another way, or with another privacy, than with other settings.
  func hasOtherLocations(than other: PipelineConfiguration) -> Bool {
    location != other.location || privacy != other.privacy
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
  func message(_ fixes: [ShownLocation], time: (Location) -> UTCTime) -> TrackMessage {
    let kept = deferral.error.map { thinned(fixes, within: $0, time: time) } ?? fixes
    var message = TrackMessage(
      identity: nil,
      fixes: kept.map {
        TrackMessage.Fix(
          time: time($0.location), coordinate: $0.shownCoordinate, horizontalAccuracy: $0.horizontalAccuracy)
      }, precision: Self.precision, bound: kept.count < fixes.count && !isFiltered ? deferral.error : nil)
    message.odometer = fixes.last?.odometer
    return message
  }

  /// The simplification uses the times of the message, because consumers interpolate between positions by
  /// these times.
  private func thinned(
    _ fixes: [ShownLocation], within error: Double, time: (Location) -> UTCTime
  ) -> [ShownLocation] {
    let rounding = TrackMessage.roundingError(precision: Self.precision)
    var thinner = TrackThinner(epsilon: error - rounding)
    let dated = fixes.map { fix in
      let time = time(fix.location)
      return fix.dated(Timestamp(nanoseconds: time.nanoseconds), time: time)
    }
    var kept = thinner.thinned(dated.map(\.location))[...]
    return dated.filter { fix in
      guard fix.location == kept.first else { return false }
      kept.removeFirst()
      return true
    }
  }
}
