public import Motion
internal import Platform
public import Sensors
public import Spatial

/// A `LocationManager`, a `RegionMonitor` and a `HeadingManager` that threads and tasks share: a source puts events in,
/// consumers take locations, headings and region events as asynchronous sequences.
///
/// Reports pass a `FixScreen` first, so only what can be true is told. All consumers of one kind get the same, by the settings of
/// the one manager; who wants others takes another `LiveLocation`. What can be read of the manager can be read here:
/// `live.location`, `live.isPaused`.
///
/// It starts no thread and asks no clock: whoever puts events in also calls `advance(to:)` at `nextDeadline` and hands `demands(at:)` on
/// to the sources. `LiveDevice` in `LiveSensors` does all of that.
@dynamicMemberLookup
public final class LiveLocation: Sendable {
  /// Elements that are held while the consumer is busy: two minutes at 1 Hz.
  public static let defaultCapacity = 128

  private struct State {
    var services: LocationServices
    var updates = Outlets<LocationUpdate>()
    var significantChanges = Outlets<Location>()
    var headings = Outlets<Heading>()
    var regions = Outlets<RegionEvent>()
    var now: Timestamp?
    var nextConsumer = 0
    var isFinished = false

    mutating func pass(to timestamp: Timestamp) { now = max(now ?? timestamp, timestamp) }

    func push(_ outputs: [LocationServices.Output]) {
      for output in outputs {
        switch output {
        case .update(let update): updates.push(update)
        case .significantChange(let location): significantChanges.push(location)
        case .heading(let heading): headings.push(heading)
        case .region(let event): regions.push(event)
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
  private let backlog: Backlog?
  private let needsChanged: @Sendable () -> Void

  /// - Parameter needsChanged: called when a consumer comes or goes and when settings change, on the thread that did it: then
  ///   `demands(at:)` may say something else.
  public convenience init(
    manager: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), needsChanged: @escaping @Sendable () -> Void = {}
  ) {
    self.init(
      manager: manager, monitor: monitor, heading: heading, backlog: nil, needsChanged: needsChanged)
  }

  /// - Parameter backlog: where tasks that fall behind are told of; nil where their oldest elements make room.
  package init(
    manager: LocationManager, monitor: RegionMonitor, heading: HeadingManager, backlog: Backlog?,
    needsChanged: @escaping @Sendable () -> Void
  ) {
    state = Locked(State(services: LocationServices(manager: manager, monitor: monitor, heading: heading)))
    self.backlog = backlog
    self.needsChanged = needsChanged
  }

  // Nobody would end the loops that wait.
  deinit { finish() }

  // MARK: Updates

  /// Locations after the distance filter, with pauses and failures between them. Who comes while something is wrong is told
  /// of it at once. The corresponding call of Core Location is `CLLocationUpdate.liveUpdates(_:)`.
  public func liveUpdates(capacity: Int = defaultCapacity) -> AsyncSamples<LocationUpdate> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.updates, $0) }
  }

  /// Locations after moves of some hundred metres, at the lowest power. The corresponding call of Core Location is
  /// `startMonitoringSignificantLocationChanges()`.
  public func significantLocationChanges(capacity: Int = defaultCapacity) -> AsyncSamples<Location> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.significantChanges, $0) }
  }

  /// Headings after the heading filter. The corresponding call of Core Location is `startUpdatingHeading()`.
  public func headingUpdates(capacity: Int = defaultCapacity) -> AsyncSamples<Heading> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.headings, $0) }
  }

  /// Entries, exits and stays, in order. The corresponding property of Core Location is `CLMonitor.events`.
  public func regionEvents(capacity: Int = defaultCapacity) -> AsyncSamples<RegionEvent> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(\.regions, $0) }
  }

  // MARK: Regions

  /// Watches one region more, in place of one with the same identifier. The corresponding call of Core Location is
  /// `CLMonitor.add(_:identifier:)`.
  /// - Throws: `RegionError`; the regions are then as they were.
  public func add(_ region: Region) throws(RegionError) {
    defer { needsChanged() }
    try state.withLock { state throws(RegionError) in
      try state.services.monitor.add(region)
      state.services.settingsChanged()
    }
  }

  /// Watches a region no longer; nothing happens when it is not watched.
  public func remove(_ identifier: String) { withMonitor { $0.remove(identifier) } }

  // MARK: Settings

  /// Reads from the manager, or changes its settings, with exclusive access. Its updates are started and stopped by the
  /// consumers.
  public func withManager<Result>(_ body: (inout LocationManager) -> Result) -> Result {
    change { body(&$0.services.manager) }
  }

  /// The same for a call that returns events, as `allowDeferredLocationUpdates` does: they are told to the consumers.
  public func update(_ body: (inout LocationManager) -> [LocationEvent]) {
    change { state in
      let events = body(&state.services.manager)
      state.push(state.services.told(events, at: state.now ?? Timestamp(nanoseconds: 0)))
    }
  }

  /// Reads from the region monitor, or changes what is watched, with exclusive access.
  public func withMonitor<Result>(_ body: (inout RegionMonitor) -> Result) -> Result {
    change { body(&$0.services.monitor) }
  }

  /// Reads from the heading manager, or changes its settings, with exclusive access.
  public func withHeading<Result>(_ body: (inout HeadingManager) -> Result) -> Result {
    change { body(&$0.services.heading) }
  }

  /// What the manager says now.
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

  /// Takes in what a source hands over, on the source's thread.
  /// - Returns: the locations of it that may be believed, in order of time, told or not.
  @discardableResult
  public func process(_ event: SensorEvent) -> [Location] {
    state.withLock { state in
      let (locations, outputs) = state.services.process(event)
      if let timestamp = event.timestamp { state.pass(to: timestamp) }
      state.push(outputs)
      return locations
    }
  }

  /// Takes an attitude against magnetic north, for the headings.
  /// - Parameters:
  ///   - accuracy: degrees, one standard deviation; nil when unknown.
  ///   - calibration: of the magnetometer; nil when unknown.
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

  /// Whether anybody waits for headings, and attitudes are of use.
  public var isHeadingWanted: Bool { state.withLock { !$0.headings.isEmpty } }

  /// Whether anybody waits for anything.
  public var hasConsumers: Bool { state.withLock { !$0.services.wanted.isEmpty } }

  /// Lets time pass without an event: call it at `nextDeadline`.
  public func advance(to timestamp: Timestamp) {
    state.withLock { state in
      state.pass(to: timestamp)
      state.push(state.services.advance(to: timestamp))
    }
  }

  /// When `advance(to:)` and `demands(at:)` have something to do, if nothing comes before; nil when never.
  public var nextDeadline: Timestamp? { state.withLock { $0.services.nextDeadline } }

  /// What each kind of sensor must deliver from a moment on, as `PowerPlanner` says; kinds that nobody needs are off.
  public func demands(at now: Timestamp) -> [SensorKind: SensorDemand] {
    state.withLock { $0.services.demands(at: now) }
  }

  /// What each kind of sensor must deliver at the most, while nothing sleeps.
  public var fullDemands: [SensorKind: SensorDemand] { state.withLock { $0.services.fullDemands } }

  /// There will be no further events: what is pending is told, each consumer gets what waits for it, and its updates end.
  /// Those who come later find them ended.
  public func finish() {
    let ends = state.withLock { state in
      if !state.isFinished { state.push(state.services.finish()) }
      state.isFinished = true
      let ends =
        state.updates.removeAll() + state.significantChanges.removeAll() + state.headings.removeAll()
        + state.regions.removeAll()
      state.consumersChanged()
      return ends
    }
    for end in ends { end() }
  }

  // MARK: Consumers

  /// Counts a consumer in whose elements are pushed on the source's thread with the lock held.
  private func subscribe<Element: Sendable>(
    _ outlets: any WritableKeyPath<State, Outlets<Element>> & Sendable, _ outlet: SampleOutlet<Element>
  ) -> Subscription {
    let consumer: Int? = state.withLock { state in
      guard !state.isFinished else { return nil }
      state.nextConsumer += 1
      state[keyPath: outlets].add(outlet, as: state.nextConsumer)
      state.consumersChanged()
      if let failure = state.services.manager.failure, let now = state.now,
        let update = LocationUpdate(timestamp: now, failure: failure) as? Element
      {
        outlet.push(update)
      }
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
    _ consumer: Int, _ outlets: any WritableKeyPath<State, Outlets<Element>> & Sendable
  ) {
    let isKnown = state.withLock { state in
      let isKnown = state[keyPath: outlets].remove(consumer)
      state.consumersChanged()
      return isKnown
    }
    if isKnown { needsChanged() }
  }
}

/// Where the elements of one kind leave, to each of their consumers.
private struct Outlets<Element: Sendable>: Sendable {
  private var all: [(consumer: Int, outlet: SampleOutlet<Element>)] = []

  var isEmpty: Bool { all.isEmpty }

  func push(_ element: Element) { for (_, outlet) in all { outlet.push(element) } }

  mutating func add(_ outlet: SampleOutlet<Element>, as consumer: Int) { all.append((consumer, outlet)) }

  /// Whether it was there.
  mutating func remove(_ consumer: Int) -> Bool {
    let count = all.count
    all.removeAll { $0.consumer == consumer }
    return all.count < count
  }

  /// Takes all out; what ends their updates.
  mutating func removeAll() -> [@Sendable () -> Void] {
    defer { all = [] }
    return all.map(\.outlet.finish)
  }
}
