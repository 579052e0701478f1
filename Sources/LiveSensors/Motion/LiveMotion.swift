public import Motion
internal import Platform
public import Sensors
public import Spatial

/// A `MotionManager` shared by threads: sources put events in, consumers on other threads and tasks receive samples.
///
/// The manager is a value without I/O. This class adds the lock and one bounded queue for each consumer. Every change of what the
/// consumers require of the sensors is reported, so that a sensor runs exactly while it has a consumer. Properties of the manager
/// can be read directly: `live.deviceMotion`, `live.isGyroActive`.
///
/// There are four forms of updates, as in Core Motion:
/// - pull: `startAccelerometerUpdates()` powers the sensor, `accelerometerData` is its newest sample;
/// - asynchronous sequences: `accelerometerUpdates()`;
/// - handlers: `startAccelerometerUpdates { sample in … }`;
/// - queues for threads of the caller: `accelerometerStream()`.
@dynamicMemberLookup
public final class LiveMotion: Sendable {
  /// Samples that are queued for a busy consumer: 5 s at 100 Hz.
  public static let defaultCapacity = 512

  private let state: Locked<MotionServices>
  let backlog: Backlog?
  /// Returns the nanoseconds to add to a timestamp for UTC; nil if unknown.
  let utcOffset: @Sendable () -> Int64?
  /// True if timestamps are those of a recording and independent of the machine's clock.
  let isVirtual: Bool
  /// Returns the current time on the clock of the samples; nil if the samples come from no `LiveDevice`.
  let clock: (@Sendable () -> Timestamp)?
  private let demandsChanged: @Sendable ([SensorKind: SensorDemand]) -> Void

  /// - Parameter demandsChanged: called with the requirements of all consumers whenever they have changed, on the thread that
  ///   changed them.
  public convenience init(
    manager: MotionManager, demandsChanged: @escaping @Sendable ([SensorKind: SensorDemand]) -> Void
  ) {
    self.init(manager: manager, backlog: nil, demandsChanged: demandsChanged)
  }

  /// - Parameters:
  ///   - backlog: records the consumers that fall behind, so that the source can wait for them. If nil, the
  ///     source does not wait, and full queues drop their oldest samples.
  ///   - isVirtual: true if timestamps are those of a recording and independent of the machine's clock.
  ///   - clock: returns the current time on the clock of the samples; nil if unknown.
  ///   - utcOffset: returns the nanoseconds to add to a timestamp for UTC, at the time of the call; nil if
  ///     unknown.
  package init(
    manager: MotionManager, backlog: Backlog?, isVirtual: Bool = true,
    clock: (@Sendable () -> Timestamp)? = nil, utcOffset: @escaping @Sendable () -> Int64? = { nil },
    demandsChanged: @escaping @Sendable ([SensorKind: SensorDemand]) -> Void
  ) {
    state = Locked(MotionServices(manager: manager))
    self.backlog = backlog
    self.isVirtual = isVirtual
    self.clock = clock
    self.utcOffset = utcOffset
    self.demandsChanged = demandsChanged
  }

  // Ends loops and threads that wait for samples. Without this they would wait forever.
  deinit { finish() }

  /// Ends all updates after the samples that are queued. The updates of consumers that are added later end
  /// immediately.
  public func finish() {
    let ends = change { $0.finish() }
    for end in ends { end() }
  }

  /// Processes an event of a source, on the source's thread.
  public func process(_ event: SensorEvent) { state.withLock { $0.process(event) } }

  /// Processes an altitude of a receiver, for `absoluteAltitudeUpdates`.
  /// - Parameters:
  ///   - altitude: metres above mean sea level.
  ///   - deviation: standard deviation of the altitude in m.
  ///   - speed: speed over ground in m/s; nil if unknown.
  public func update(altitude: Double, deviation: Double, speed: Double?, at timestamp: Timestamp) {
    state.withLock { $0.update(altitude: altitude, deviation: deviation, speed: speed, at: timestamp) }
  }

  /// Reads or changes the manager with exclusive access. If the requirements of its consumers change, the
  /// sensors are adjusted.
  public func withManager<Result>(_ body: (inout MotionManager) -> Result) -> Result {
    change { body(&$0.manager) }
  }

  /// Reads a property of the manager.
  public subscript<Value>(dynamicMember property: KeyPath<MotionManager, Value>) -> Value {
    state.withLock { $0.manager[keyPath: property] }
  }

  /// Requirements of all consumers. Kinds without a consumer are off.
  public var demands: [SensorKind: SensorDemand] { state.withLock(\.demands) }

  /// The frames that the discovered sensors can serve. Frames with true north require a receiver.
  public var availableAttitudeReferenceFrames: Set<AttitudeReferenceFrame> {
    state.withLock(\.availableAttitudeReferenceFrames)
  }

  /// Height relative to the first pressure; nil before the first pressure. It changes only while altitude
  /// updates run.
  public var altitudeData: AltitudeData? { state.withLock { $0.altimeter.altitudeData } }

  /// Height above mean sea level; nil before both barometer and receiver have delivered. It changes only
  /// while absolute altitude updates run.
  public var absoluteAltitudeData: AbsoluteAltitudeData? {
    state.withLock { $0.altimeter.absoluteAltitudeData }
  }

  /// True if a barometer was discovered.
  public var isRelativeAltitudeAvailable: Bool { state.withLock { $0.manager.isAvailable(.barometer) } }

  /// True if a barometer and a receiver were discovered.
  public var isAbsoluteAltitudeAvailable: Bool {
    state.withLock { $0.manager.isAvailable(.barometer) && $0.manager.isAvailable(.positioning) }
  }

  /// Adopts the result of a discovery: kinds that were not discovered are failures.
  func observe(discovered kinds: Set<SensorKind>) { state.withLock { $0.observe(discovered: kinds) } }

  /// The reason why a sensor is unavailable; nil if no source has reported one.
  func reason(against kind: SensorKind) -> String? { state.withLock { $0.unavailable[kind] } }

  // MARK: Consumers

  func startPulling(_ updates: MotionUpdates, interval: Double, latency: Double) {
    change { $0.startPulling(MotionRequest(updates, interval: interval, latency: latency)) }
  }

  func stopPulling(_ updates: MotionUpdates) { change { $0.stopPulling(updates) } }

  /// Adds a consumer. Its elements are pushed on the source's thread, with the lock held.
  /// - Parameter register: stores the outlet in the services under the given consumer number.
  func subscribe<Element: Sendable>(
    _ requirements: MotionServices.Requirements, _ outlet: SampleOutlet<Element>,
    _ register: (inout MotionServices, SampleOutlet<Element>, Int) -> Void
  ) -> Subscription {
    let consumer: Int? = change { services in
      guard let consumer = services.add(requirements) else { return nil }
      register(&services, outlet, consumer)
      return consumer
    }
    guard let consumer else {
      outlet.finish()
      return Subscription {}
    }
    return Subscription(
      effectiveInterval: { [weak self] in self?.state.withLock { $0.effectiveInterval(for: consumer) } },
      stop: { [weak self] in self?.change { $0.remove(consumer) } })
  }

  /// All changes of the services call this function, so that changed sensor requirements are always reported.
  private func change<Result>(_ body: (inout MotionServices) -> Result) -> Result {
    let (result, demands): (Result, [SensorKind: SensorDemand]?) = state.withLock { services in
      let before = services.demands
      let result = body(&services)
      let after = services.demands
      return (result, after == before ? nil : after)
    }
    if let demands { demandsChanged(demands) }
    return result
  }
}
