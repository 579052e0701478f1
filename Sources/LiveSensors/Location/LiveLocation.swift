public import Motion
public import Platform
public import Positioning
public import Sensors
public import Spatial

/// A `LocationManager`, a `RegionMonitor` and a `HeadingManager` shared by threads and tasks: a source puts
/// events in, consumers receive locations, headings and region events.
///
/// Reports pass a `FixScreen` first, so implausible fixes are dropped. Consumers share the settings of one
/// manager, or have individual settings (`liveUpdates(_:capacity:)`); the sensors run at the union of the
/// demands. Properties of the shared manager can be read directly: `live.location`, `live.isPaused`.
///
/// It starts no thread. The owner calls `advance(to:)` at `nextDeadline` and passes `demands(at:)` on to the
/// sources. `LiveDevice` in `LiveSensors` connects an object of this class to a thread and to the sources.
@dynamicMemberLookup
public final class LiveLocation: Sendable {
  /// Default capacity of a consumer's queue in elements: two minutes at 1 Hz. The fixes of a deferral count as
  /// one element.
  public static let defaultCapacity = 128

  private struct State {
    var services: LocationServices
    var updates = SampleOutlets<LocationUpdate>()
    var significantChanges = SampleOutlets<Location>()
    var headings = SampleOutlets<Heading>()
    var regions = SampleOutlets<RegionEvent>()
    var failures = SampleOutlets<LocationFailure>()
    /// Outlets of consumers with individual settings.
    var ownUpdates = SampleOutlets<LocationUpdate>()
    var ownHeadings = SampleOutlets<Heading>()
    var answers = SampleOutlets<Result<Location, LocationFailure>>()
    var now: Timestamp?
    var nextConsumer = 0
    var isFinished = false

    func push(_ outputs: [LocationServices.Output]) {
      for output in outputs {
        switch output {
        case .updates(let batch, nil): updates.push(batch: batch)
        case .updates(let batch, let consumer?): ownUpdates.push(batch: batch, to: consumer)
        case .significantChange(let location): significantChanges.push(location)
        case .heading(let heading, nil): headings.push(heading)
        case .heading(let heading, let consumer?): ownHeadings.push(heading, to: consumer)
        case .region(let event): regions.push(event)
        case .failure(let failure): failures.push(failure)
        case .answer(let answer, let consumer): answers.push(answer, to: consumer)
        }
      }
    }

    mutating func consumersChanged() {
      var wanted: Set<LocationServices.Service> = []
      if !updates.isEmpty { wanted.insert(.updates) }
      if !significantChanges.isEmpty { wanted.insert(.significantChanges) }
      if !headings.isEmpty { wanted.insert(.headings) }
      if !regions.isEmpty { wanted.insert(.regions) }
      services.want(wanted)
    }
  }

  private let state: Locked<State>
  /// Time of the newest event. It has a lock of its own, so that `now` can be read within `withManager`.
  private let newest = Locked<Timestamp?>(nil)
  private let backlog: Backlog?
  private let clock: (@Sendable () -> Timestamp)?
  /// Nanoseconds to add to a timestamp for UTC; nil if unknown.
  private let utcOffset: @Sendable () -> Int64?
  private let needsChanged: @Sendable () -> Void

  /// - Parameter needsChanged: called when consumers or settings change, on the thread that changed them. `demands(at:)` may then
  ///   return other demands.
  public convenience init(
    manager: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), needsChanged: @escaping @Sendable () -> Void = {}
  ) {
    self.init(
      manager: manager, monitor: monitor, heading: heading, backlog: nil, needsChanged: needsChanged)
  }

  /// - Parameters:
  ///   - backlog: receiver of reports about consumers that fall behind; nil drops their oldest elements.
  ///   - clock: current time of the device's monotonic clock; nil uses the time of the newest event.
  ///   - utcOffset: nanoseconds to add to a timestamp for UTC, at the time of the call; nil if unknown.
  ///   - beacons: the map for radio positions; nil for none.
  ///   - radios: the radios that can be powered.
  package init(
    manager: LocationManager, monitor: RegionMonitor, heading: HeadingManager, backlog: Backlog?,
    clock: (@Sendable () -> Timestamp)? = nil, utcOffset: @escaping @Sendable () -> Int64? = { nil },
    beacons: (any BeaconMap)? = nil, radios: Set<SensorKind> = [],
    needsChanged: @escaping @Sendable () -> Void
  ) {
    state = Locked(
      State(
        services: LocationServices(
          manager: manager, monitor: monitor, heading: heading, beacons: beacons, radios: radios)))
    self.backlog = backlog
    self.clock = clock
    self.utcOffset = utcOffset
    self.needsChanged = needsChanged
  }

  // Without this, consumers that wait for an element would wait forever.
  deinit { finish() }

  // MARK: Updates

  /// Locations after the distance filter, with pauses, failures and ends of deferrals between them. A
  /// consumer that subscribes during a failure receives that failure immediately. The corresponding call of
  /// Core Location is `CLLocationUpdate.liveUpdates(_:)`.
  public func liveUpdates(capacity: Int = defaultCapacity) -> AsyncSamples<LocationUpdate> {
    AsyncSamples(capacity: capacity, backlog: backlog, updates)
  }

  /// Returns updates with individual settings: accuracy, distance filter, activity and pauses of `manager`.
  /// The screen of implausible fixes uses the activity of the shared manager.
  public func liveUpdates(
    _ manager: LocationManager, capacity: Int = defaultCapacity
  ) -> AsyncSamples<LocationUpdate> {
    AsyncSamples(capacity: capacity, backlog: backlog) { updates(manager, $0) }
  }

  /// Calls a handler for each update on a thread of its own, until the result is stopped or released.
  /// - Parameter manager: settings of this consumer; nil uses those of the shared manager.
  /// - Throws: `SystemError` if no thread can be created.
  public func startUpdatingLocation(
    _ manager: LocationManager? = nil, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (LocationUpdate) -> Void
  ) throws(SystemError) -> SampleStream<LocationUpdate> {
    try SampleStream(capacity: capacity, backlog: backlog) { outlet in
      manager.map { updates($0, outlet) } ?? updates(outlet)
    }.handing(to: handler)
  }

  /// Locations after moves of some hundred metres, at the lowest power. The corresponding call of Core Location is
  /// `startMonitoringSignificantLocationChanges()`.
  public func significantLocationChanges(capacity: Int = defaultCapacity) -> AsyncSamples<Location> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.significantChanges, $0) }
  }

  /// Calls a handler for each significant change, in the same way as `startUpdatingLocation`.
  public func startMonitoringSignificantLocationChanges(
    capacity: Int = defaultCapacity, handler: @escaping @Sendable (Location) -> Void
  ) throws(SystemError) -> SampleStream<Location> {
    try SampleStream(capacity: capacity, backlog: backlog) { subscribe(\.significantChanges, $0) }.handing(
      to: handler)
  }

  /// Headings after the heading filter. The corresponding call of Core Location is `startUpdatingHeading()`.
  public func headingUpdates(capacity: Int = defaultCapacity) -> AsyncSamples<Heading> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.headings, $0) }
  }

  /// Returns headings with individual settings: filter and orientation of `manager`.
  public func headingUpdates(
    _ manager: HeadingManager, capacity: Int = defaultCapacity
  ) -> AsyncSamples<Heading> {
    AsyncSamples(capacity: capacity, backlog: backlog) { headings(manager, $0) }
  }

  /// Calls a handler for each heading, in the same way as `startUpdatingLocation`.
  public func startUpdatingHeading(
    _ manager: HeadingManager? = nil, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (Heading) -> Void
  ) throws(SystemError) -> SampleStream<Heading> {
    try SampleStream(capacity: capacity, backlog: backlog) { outlet in
      manager.map { headings($0, outlet) } ?? subscribe(\.headings, outlet)
    }.handing(to: handler)
  }

  /// Entries, exits and dwells, in order. The corresponding property of Core Location is `CLMonitor.events`.
  public func regionEvents(capacity: Int = defaultCapacity) -> AsyncSamples<RegionEvent> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.regions, $0) }
  }

  /// Calls a handler for each region event, in the same way as `startUpdatingLocation`.
  public func startMonitoringRegions(
    capacity: Int = defaultCapacity, handler: @escaping @Sendable (RegionEvent) -> Void
  ) throws(SystemError) -> SampleStream<RegionEvent> {
    try SampleStream(capacity: capacity, backlog: backlog) { subscribe(\.regions, $0) }.handing(to: handler)
  }

  /// Failures of locations, for consumers of regions, headings and significant changes. A consumer of
  /// failures powers no sensor. A consumer that subscribes during a failure receives that failure
  /// immediately. The corresponding calls of Core Location are `locationManager(_:didFailWithError:)` and
  /// `locationManager(_:monitoringDidFailFor:withError:)`.
  public func failures(capacity: Int = defaultCapacity) -> AsyncSamples<LocationFailure> {
    AsyncSamples(capacity: capacity, backlog: backlog) { outlet in
      subscribe(\.failures, outlet) { state, _ in
        if let failure = state.services.manager.failure { outlet.push(failure) }
      }
    }
  }

  // MARK: Requests

  /// Returns one location: the first one that is accurate enough, or the most accurate one at the time limit.
  /// - Parameters:
  ///   - accuracy: sufficient accuracy in m (68 %).
  ///   - timeLimit: time limit in s. If locations are denied, the function throws immediately.
  /// - Throws: `LocationFailure` if there was no location; `CancellationError` if the task is cancelled.
  public func requestLocation(accuracy: Double = 20, timeLimit: Double = 60) async throws -> Location {
    let answers = AsyncSamples(capacity: 1) { outlet in
      subscribe(\.answers, outlet) { state, consumer in
        if let refusal = state.services.refusal { return outlet.push(.failure(refusal)) }
        state.services.add(
          consumer, accuracy: accuracy, timeLimit: timeLimit, at: self.clock?() ?? state.now)
      }
    }
    for await answer in answers { return try answer.get() }
    try Task.checkCancellation()
    throw LocationFailure.receiverUnavailable(reason: "the device was stopped")
  }

  /// Defers the updates of the consumers that share the manager, as described at
  /// `LocationManager.allowDeferredLocationUpdates`. The deferred locations come in order, then an update
  /// with `didFinishDeferredUpdates`.
  /// - Parameters:
  ///   - distance: metres; nil for no limit.
  ///   - timeout: seconds; nil for no limit.
  public func allowDeferredLocationUpdates(untilTraveled distance: Double?, timeout: Double?) {
    let now = now
    update { manager in
      manager.allowDeferredLocationUpdates(untilTraveled: distance, timeout: timeout, at: now)
    }
  }

  /// Ends a deferral. The deferred locations are delivered.
  public func disallowDeferredLocationUpdates() { update { $0.disallowDeferredLocationUpdates() } }

  /// Current time of the device's monotonic clock, for calls that require a time. Without a clock, the time
  /// of the newest event.
  public var now: Timestamp { clock?() ?? newest.withLock { $0 ?? Timestamp(nanoseconds: 0) } }

  // MARK: Availability

  /// Availability of the location services, by the discovered hardware; see `LiveDevice.discover(within:)`.
  public var availability: ServiceAvailability { state.withLock { $0.services.availability } }

  /// `notDetermined` before the discovery or the first fix, and while there is no connection to an agent.
  public var authorizationStatus: AuthorizationStatus { state.withLock { $0.services.authorizationStatus } }

  /// Accuracy that an agent permits; full for other inputs.
  public var accuracyAuthorization: AccuracyAuthorization { availability.accuracyAuthorization }

  /// True if a receiver was discovered, has delivered a fix, or is shared by an agent.
  public var locationServicesEnabled: Bool { isAvailable(.location) }

  /// True if a magnetometer and an accelerometer were discovered.
  public var headingAvailable: Bool { isAvailable(.heading) }

  /// Returns whether a service is available; false before the discovery. The answer of an agent counts as a
  /// discovery, and so does the receiver's first fix for services that need only a receiver.
  public func isAvailable(_ service: LocationService) -> Bool {
    state.withLock { $0.services.isAvailable(service) }
  }

  /// Adopts the result of a discovery. Later reports of the sources update it.
  public func observe(_ availability: ServiceAvailability) {
    state.withLock { $0.services.observe(availability) }
  }

  // MARK: Regions

  /// Monitors a region. It replaces a region with the same identifier. The corresponding call of Core
  /// Location is `CLMonitor.add(_:identifier:)`.
  /// - Throws: `RegionError`; the regions are then unchanged.
  public func add(_ region: Region) throws(RegionError) {
    defer { needsChanged() }
    try state.withLock { state throws(RegionError) in
      try state.services.monitor.add(region)
      state.services.settingsChanged()
      if let now = state.now { state.push(state.services.decideRegions(at: now)) }
    }
  }

  /// Stops monitoring a region; no effect if it is not monitored.
  public func remove(_ identifier: String) { withMonitor { $0.remove(identifier) } }

  /// State of a region; nil if it is not monitored. The corresponding call of Core Location is `requestState(for:)`.
  public func state(of region: String) -> RegionState? {
    state.withLock { $0.services.monitor.state(of: region) }
  }

  // MARK: Settings

  /// Reads the shared manager or changes its settings, with exclusive access. Consumers start and stop the
  /// manager's updates, so `body` must not.
  public func withManager<Result>(_ body: (inout LocationManager) -> Result) -> Result {
    change { body(&$0.services.manager) }
  }

  /// Calls a method of the shared manager and delivers the events that it returns to the consumers.
  public func update(_ body: (inout LocationManager) -> [LocationEvent]) {
    change { state in
      let events = body(&state.services.manager)
      state.push(state.services.told(events, at: state.now ?? Timestamp(nanoseconds: 0)))
    }
  }

  /// Reads the region monitor or changes its regions, with exclusive access.
  public func withMonitor<Result>(_ body: (inout RegionMonitor) -> Result) -> Result {
    change { body(&$0.services.monitor) }
  }

  /// Reads the shared heading manager or changes its settings, with exclusive access.
  public func withHeading<Result>(_ body: (inout HeadingManager) -> Result) -> Result {
    change { body(&$0.services.heading) }
  }

  /// The newest location, reported or not; nil before the first.
  public var location: Location? { state.withLock { $0.services.manager.location?.location } }

  /// Reads a property of the shared manager.
  public subscript<Value>(dynamicMember property: KeyPath<LocationManager, Value>) -> Value {
    state.withLock { $0.services.manager[keyPath: property] }
  }

  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    defer { needsChanged() }
    return state.withLock { state in
      defer { state.services.settingsChanged() }
      return body(&state)
    }
  }

  // MARK: Sources

  /// Processes an event of a source, on the source's thread.
  /// - Returns: the event's plausible locations in order of time, whether or not a consumer received them.
  @discardableResult
  public func process(_ event: SensorEvent) -> [Location] {
    let utcOffset = utcOffset()
    return state.withLock { state in
      let (locations, outputs) = state.services.process(event, utcOffset: utcOffset)
      if let timestamp = event.timestamp { pass(to: timestamp, &state) }
      state.push(outputs)
      return locations
    }
  }

  /// Processes an attitude relative to magnetic north, from which headings are computed.
  ///
  /// - Parameters:
  ///   - accuracy: standard deviation in degrees; nil if unknown.
  ///   - calibration: accuracy of the magnetometer's calibration; nil if unknown.
  public func process(
    attitude: Attitude, accuracy: Double?, calibration: MagneticFieldCalibrationAccuracy? = nil,
    at timestamp: Timestamp
  ) {
    state.withLock { state in
      state.push(
        state.services.process(
          attitude: attitude, accuracy: accuracy, calibration: calibration, at: timestamp))
    }
  }

  private func pass(to timestamp: Timestamp, _ state: inout State) {
    let now = max(state.now ?? timestamp, timestamp)
    state.now = now
    newest.withLock { $0 = now }
  }

  /// True if a consumer requires headings, and therefore attitudes.
  public var isHeadingWanted: Bool { state.withLock { $0.services.isHeadingWanted } }

  /// True if there is any consumer that requires sensors.
  public var hasConsumers: Bool { state.withLock { $0.services.hasConsumers } }

  /// Advances time without an event. Call it at `nextDeadline`.
  public func advance(to timestamp: Timestamp) {
    state.withLock { state in
      pass(to: timestamp, &state)
      state.push(state.services.advance(to: timestamp))
    }
  }

  /// Time of the next required call of `advance(to:)` and `demands(at:)`; nil if only an event can change anything.
  public var nextDeadline: Timestamp? { state.withLock { $0.services.nextDeadline } }

  /// Returns the demands on each kind of sensor from `now` on, as decided by `PowerPlanner`. Kinds without a
  /// consumer are off.
  public func demands(at now: Timestamp) -> [SensorKind: SensorDemand] {
    state.withLock { $0.services.demands(at: now) }
  }

  /// The largest demands on each kind of sensor, which apply if no sensor may sleep.
  public var fullDemands: [SensorKind: SensorDemand] { state.withLock { $0.services.fullDemands } }

  /// Ends all updates, after the consumers have received pending deferrals and queued elements. Consumers
  /// that subscribe later receive no element.
  public func finish() {
    let (ends, hadConsumers) = state.withLock { state in
      let hadConsumers = state.services.hasConsumers
      if !state.isFinished { state.push(state.services.finish()) }
      state.isFinished = true
      var ends = state.updates.removeAll() + state.significantChanges.removeAll()
      ends += state.headings.removeAll() + state.regions.removeAll() + state.failures.removeAll()
      ends += state.ownUpdates.removeAll() + state.ownHeadings.removeAll() + state.answers.removeAll()
      state.services.removeIndividuals()
      state.consumersChanged()
      return (ends, hadConsumers)
    }
    for end in ends { end() }
    if hadConsumers { needsChanged() }
  }

  // MARK: Consumers

  private func updates(_ outlet: SampleOutlet<LocationUpdate>) -> Subscription {
    subscribe(\.updates, outlet) { state, _ in
      if let failure = state.services.manager.failure, let now = state.now {
        outlet.push(LocationUpdate(timestamp: now, failure: failure))
      }
    }
  }

  private func updates(_ manager: LocationManager, _ outlet: SampleOutlet<LocationUpdate>) -> Subscription {
    subscribe(\.ownUpdates, outlet) { state, consumer in
      state.services.add(consumer, manager: manager)
      if let failure = state.services.manager.failure, let now = state.now {
        outlet.push(LocationUpdate(timestamp: now, failure: failure))
      }
    }
  }

  private func headings(_ manager: HeadingManager, _ outlet: SampleOutlet<Heading>) -> Subscription {
    subscribe(\.ownHeadings, outlet) { $0.services.add($1, heading: manager) }
  }

  /// Adds a consumer. Elements for the consumer are pushed on the source's thread, with the lock held.
  /// - Parameter register: called with the number of the consumer, with the lock held.
  private func subscribe<Element: Sendable>(
    _ outlets: any WritableKeyPath<State, SampleOutlets<Element>> & Sendable,
    _ outlet: SampleOutlet<Element>, _ register: (inout State, Int) -> Void = { _, _ in }
  ) -> Subscription {
    let consumer: Int? = state.withLock { state in
      guard !state.isFinished else { return nil }
      state.nextConsumer += 1
      state[keyPath: outlets].add(outlet, as: state.nextConsumer)
      register(&state, state.nextConsumer)
      state.consumersChanged()
      return state.nextConsumer
    }
    guard let consumer else {
      outlet.finish()
      return Subscription {}
    }
    needsChanged()
    return Subscription { [weak self] in self?.stop(consumer, outlets) }
  }

  private func stop<Element>(
    _ consumer: Int, _ outlets: any WritableKeyPath<State, SampleOutlets<Element>> & Sendable
  ) {
    let isKnown = state.withLock { state in
      let isKnown = state[keyPath: outlets].remove(consumer)
      state.services.remove(consumer)
      state.consumersChanged()
      return isKnown
    }
    if isKnown { needsChanged() }
  }
}
