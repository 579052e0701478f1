internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The location side of the pipeline: from a receiver's reports to `location` and `track` messages.
struct LocationReports: Sendable {
  private(set) var manager: LocationManager
  /// Which location services there are, and why not the others.
  private(set) var availability: ServiceAvailability

  private let isEnabled: Bool
  private let isHeadingEnabled: Bool
  private let policy: PipelineConfiguration.Location.Policy
  private let privacy: PrivacyPolicy
  private var screen: FixScreen
  private var bounded: BoundedReports?
  /// Locations that privacy withheld, and whether the newest is one.
  private var withheldCount = 0
  private(set) var isWithholding = false
  private let tracks: TrackBatches?
  private var events = LocationEvents()

  /// Radii of 68 % that a bound must hold: 1.6 of them hold 95 % where the errors east and north are alike, and up to 2 where
  /// all of it is in one direction.
  private static let boundedRadii = 2.0

  /// Where messages go, and how civil time is told.
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

  /// Takes over what another configuration's side has learnt of the sources.
  mutating func adopt(_ other: LocationReports) {
    availability.unavailable = other.availability.unavailable
    availability.deniedNodes = other.availability.deniedNodes
    events = other.events
  }

  /// Requests one location.
  mutating func requestLocation(accuracy: Double, timeLimit: Double, at now: Timestamp) {
    if isEnabled { manager.requestLocation(accuracy: accuracy, timeLimit: timeLimit, at: now) }
  }

  /// What the receiver must deliver for these settings.
  var demand: SensorDemand { isEnabled ? .rate(hertz: 1, latency: .seconds(1)) : .off }

  /// Requirements for the next fix.
  var needs: LocationNeeds {
    var needs = isEnabled ? manager.needs : LocationNeeds()
    needs.isHeadingWanted = isHeadingEnabled
    return needs
  }

  /// Metres by which what a subscriber shows may be wrong; nil when nothing is promised.
  var errorBound: Double? {
    if case .bounded(let error, _, _) = policy { error } else { nil }
  }

  /// Seconds after the newest location for which the promised bound holds unseen; nil when nothing is promised of it.
  var secondsUnwatched: Double? { bounded?.secondsUnwatched }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? {
    [manager.nextDeadline, bounded?.nextDeadline, events.nextDeadline].compactMap { $0 }.min()
  }

  /// Takes a receiver's report.
  /// - Returns: the locations that may be believed after it, in order of time, each with its civil time; to be handed to
  ///   `process(_:_:into:)`, as they are or bettered.
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

  /// Publishes what is known by now of places that were told less well.
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

  /// Learns whether the vehicle rests, and since when; nil when nothing tells.
  mutating func observe(
    _ state: StationaryDetector.State?, since: Timestamp, at timestamp: Timestamp, _ timeBase: TimeBase,
    into send: Send
  ) {
    publish(bounded?.observe(isAtRest: state.map { $0 == .stationary }, since: since), into: send)
    process(manager.observe(state, at: timestamp), at: timestamp, timeBase, into: send)
  }

  /// Learns whether the receiver is wanted on: a bound that nobody watches over is withdrawn.
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

  /// Learns which device nodes may not be opened; an empty list when all may.
  mutating func observe(deniedNodes: [String: SensorKind?]) { availability.deniedNodes = deniedNodes }

  /// Lets time pass.
  mutating func advance(to timestamp: Timestamp, _ timeBase: TimeBase, into send: Send) {
    process(manager.advance(to: timestamp), at: timestamp, timeBase, into: send)
    publish(bounded?.advance(to: timestamp), into: send)
    for message in events.advance(to: timestamp) { send(.locationEvent(message)) }
  }

  /// Publishes what is pending, before a stop.
  mutating func finish(at timestamp: Timestamp, _ timeBase: TimeBase, into send: Send) {
    process(manager.stopUpdatingLocation(), at: timestamp, timeBase, into: send)
    publish(bounded?.finish(), into: send)
    for message in events.finish() { send(.locationEvent(message)) }
  }

  /// Each service by name, for `status`: `available`, or why it is not.
  var services: [String: String] {
    var services: [String: String] = [:]
    for service in LocationService.allCases {
      services[service.rawValue] = availability.reason(against: service) ?? "available"
    }
    if let failure = manager.failure { services[LocationService.location.rawValue] = failure.description }
    return services
  }

  /// What was seen, by name, for `status`. Rare things are named only when they happened.
  var counters: [String: Int] {
    let counts = screen.counts
    let rare = [
      "fixes.jump": counts.jumps, "fixes.overconfident": counts.overconfident,
      "fixes.confirmed": counts.confirmed, "fixes.refuted": counts.refuted,
      "fixes.timeBack": counts.timesBack, "fixes.timeAhead": counts.timesAhead,
      "fixes.weekRollover": counts.weekRollovers, "locations.withheld": withheldCount,
    ]
    return rare.filter { $0.value > 0 }.merging([
      "fixes.withoutPosition": counts.withoutPosition, "fixes.duplicate": counts.duplicates,
      "locations.filtered": manager.filteredCount,
    ]) { $1 }
  }

  /// Takes a location that is believed.
  mutating func process(_ exact: Location, _ timeBase: TimeBase, into send: Send) {
    // The exact position ends here: of what is stored or published nothing may come from before this line. The manager
    // needs it for power and rest alone.
    guard let location = privacy.shown(exact) else {
      withheldCount += 1
      // Subscribers would else go on showing a drive that nobody sees.
      if !isWithholding { publish(bounded?.stand(isSeen: false), into: send) }
      isWithholding = true
      return
    }
    isWithholding = false
    process(manager.process(exact, shown: location), at: exact.timestamp, timeBase, into: send)
    if !manager.isPaused, let told = manager.location, isWithinBound(exact) {
      publish(bounded?.process(told, time: timeBase.utc(of: told)), into: send)
    }
  }

  /// Whether a bound may be promised of a position that is carried on without a receiver: else it counts as not seen, and the
  /// reporter withdraws the bound in time.
  private func isWithinBound(_ location: Location) -> Bool {
    if location.positionSource == .coarse { return false }
    guard location.positionSource == .inertial, let errorBound, let radius = location.horizontalAccuracy
    else {
      return true
    }
    return Self.boundedRadii * radius <= errorBound
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

  /// A batch, and with it the last known location, unless bounded reports tell that.
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

/// Makes a `track` message of a batch of fixes, lossless or thinned.
struct TrackBatches: Sendable {
  let deferral: PipelineConfiguration.Location.Deferral
  /// Whether a distance filter leaves out fixes. No bound is stated of them.
  var isFiltered = false

  /// Decimals of a degree: a centimetre.
  private static let precision = 7

  /// - Parameter fixes: in order, each with its civil time.
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

  /// Readers interpolate by the times of the message, so those decide.
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
