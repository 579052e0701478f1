internal import Motion
internal import Platform
internal import Positioning
internal import Sensors
internal import SensorsIIO
internal import Spatial

/// The thread of a `LiveDevice` and its state. The thread retains the run, so that a loop over a sequence keeps a released device running.
final class DeviceRun: Sendable {
  private enum Input: Sendable {
    case event(SensorEvent)
    /// Consumers or settings have changed, or the device was stopped or released.
    case wake
    /// End of the discovery, with the device nodes that may not be read.
    case discovered(deniedNodes: [String: SensorKind?])
  }

  private struct Life {
    var hasStarted = false
    var hasEnded = false
    var isStopping = false
    var isReleased = false
    var failure: (any Error)?
    var discoveries: [CheckedContinuation<Void, Never>] = []
  }

  /// The time line, for other threads.
  private struct Line {
    /// Nil before the first event of a source that pushes.
    var newest: Timestamp?
    var utcOffset: Int64?
  }

  let motion: LiveMotion
  let location: LiveLocation
  let readings: LiveReadings
  private let feed: SensorFeed
  private let contexts: [IIOConfiguration]
  private let line: Locked<Line>
  let backlog: Backlog?
  private let queue: BoundedQueue<Input>
  private let life = Monitor(Life())

  /// Capacity for events of some seconds, for any sources.
  private static let queueCapacity = 4096

  /// - Parameters:
  ///   - contexts: the IIO contexts among the sources, for the check of permissions.
  ///   - beacons: the map for positions by radios; nil for none.
  init(
    _ feed: SensorFeed, contexts: [IIOConfiguration], motion: MotionManager, location: LocationManager,
    monitor: RegionMonitor, heading: HeadingManager, beacons: (any BeaconMap)?
  ) {
    self.feed = feed
    self.contexts = contexts
    // Hardware does not wait for slow consumers.
    if case .recorded = feed { backlog = Backlog() } else { backlog = nil }
    let isLive = if case .live = feed { true } else { false }
    let queue = BoundedQueue<Input>(capacity: Self.queueCapacity)
    self.queue = queue
    var start = Line()
    // The time line of a recording that is pulled is its own. All others are on the machine's.
    if case .recorded = feed { start.newest = Timestamp(nanoseconds: 0) }
    let line = Locked(start)
    self.line = line
    let clock: @Sendable () -> Timestamp = {
      let now = Timestamp(nanoseconds: SystemClock.boottime)
      return isLive ? now : line.withLock(\.newest) ?? now
    }
    let utcOffset: @Sendable () -> Int64? = {
      isLive ? SystemClock.realtime &- SystemClock.boottime : line.withLock(\.utcOffset)
    }
    self.motion = LiveMotion(
      manager: motion, backlog: backlog, isVirtual: !isLive, clock: clock, utcOffset: utcOffset,
      demandsChanged: { _ in queue.push(.wake) })
    self.location = LiveLocation(
      manager: location, monitor: monitor, heading: heading, backlog: backlog, clock: clock,
      utcOffset: utcOffset, beacons: beacons, radios: feed.kinds.intersection([.wifi, .cellular]),
      needsChanged: { queue.push(.wake) })
    readings = LiveReadings { queue.push(.wake) }
    if !isLive { self.location.observe(availability(deniedNodes: [:])) }
  }

  /// Waits until every source has reported its hardware, `seconds` at most.
  func discover(within seconds: Double) async throws {
    try start()
    let deadline = SystemClock.monotonic &+ Int64(max(0, min(seconds, 3600)) * 1e9)
    let (feed, contexts, queue) = (feed, contexts, queue)
    // Discovery blocks. Its end passes the queue behind the states that the sources have reported.
    try DedicatedThread.start(name: "discovery") {
      if case .live(let sources) = feed {
        for source in sources {
          source.waitForDiscovery(seconds: Double(deadline &- SystemClock.monotonic) * 1e-9)
        }
      }
      queue.push(.discovered(deniedNodes: DevicePermissions().denied(for: contexts)))
    }.detach()
    await withCheckedContinuation { continuation in
      let hasEnded = life.update { life in
        if !life.hasEnded { life.discoveries.append(continuation) }
        return life.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }

  private func discovered(_ deniedNodes: [String: SensorKind?]) {
    location.observe(availability(deniedNodes: deniedNodes))
    let waiting = life.update { life in
      defer { life.discoveries = [] }
      return life.discoveries
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns the availability by the discovered kinds, with the states reported by the sources.
  private func availability(deniedNodes: [String: SensorKind?]) -> ServiceAvailability {
    var availability = location.availability
    availability.deniedNodes = deniedNodes
    for kind in Set(SensorKind.allCases).subtracting(feed.kinds) {
      availability.unavailable[kind] = "no \(kind.rawValue) was found"
    }
    return availability
  }

  var droppedEvents: Int { queue.overflowCount }

  var failure: (any Error)? { life.withLock { $0.failure } }

  func start() throws {
    let isFirst = life.update { life in
      defer { life.hasStarted = true }
      return !life.hasStarted && !life.isStopping
    }
    guard isFirst else { return }
    let sources = FeedSources(feed)
    do {
      try sources.start { [queue] in queue.push(.event($0)) }
      try DedicatedThread.start(name: "live device", stackSize: 1 << 20) { [self] in run(sources) }.detach()
    } catch {
      sources.stop()
      finish()
      throw error
    }
  }

  func stop() {
    let mustWait = life.update { life in
      life.isStopping = true
      return life.hasStarted
    }
    backlog?.open()
    queue.push(.wake)
    guard mustWait else { return finish() }
    life.wait(until: nil) { $0.hasEnded ? () : nil }
  }

  func release() {
    let hasStarted = life.update { life in
      life.isReleased = true
      return life.hasStarted
    }
    queue.push(.wake)
    if !hasStarted { finish() }
  }

  private func run(_ initial: FeedSources) {
    var (sources, demands) = (initial, [SensorKind: SensorDemand]())
    if let announcement = sources.status(.active(rates: [:])) { tell(announcement) }
    do {
      if sources.isPulled {
        try pull(&sources, &demands)
      } else {
        follow(&sources, &demands)
      }
    } catch {
      life.update { $0.failure = error }
      if let end = sources.status(.unavailable(reason: "\(error)")) { tell(end) }
    }
    sources.stop()
    finish()
  }

  private func finish() {
    motion.finish()
    location.finish()
    readings.finish()
    let waiting = life.update { life in
      life.hasEnded = true
      defer { life.discoveries = [] }
      return life.discoveries
    }
    for continuation in waiting { continuation.resume() }
  }

  private var hasConsumers: Bool {
    location.hasConsumers || readings.hasConsumers || motion.demands.values.contains { $0.isOn }
  }

  private var isOver: Bool {
    let (isStopping, isReleased) = life.withLock { ($0.isStopping, $0.isReleased) }
    return isStopping || (isReleased && !hasConsumers)
  }

  /// Processes events that the sources push, until they have ended.
  private func follow(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) {
    while !isOver, !sources.isOver {
      demand(of: &sources, &demands, at: sources.now)
      let deadline = sources.isLive ? location.nextDeadline : nil
      let limit = deadline.map { SystemClock.monotonic &+ max(0, $0.nanoseconds &- SystemClock.boottime) }
      switch queue.pop(until: limit) {
      case .element(.event(let event)):
        sources.observe(event)
        process(event, &sources)
      case .element(.discovered(let deniedNodes)): discovered(deniedNodes)
      case .element(.wake), .timedOut, .closed: if sources.isLive { location.advance(to: sources.now) }
      }
    }
  }

  /// Processes the events of a recording, no faster than the consumers.
  private func pull(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) throws {
    while !isOver {
      // Waits without a consumer. Otherwise signals are processed without waiting.
      switch queue.pop(until: hasConsumers ? 0 : nil) {
      case .element(.discovered(let deniedNodes)):
        discovered(deniedNodes)
        continue
      case .element: continue
      case .timedOut, .closed: break
      }
      demand(of: &sources, &demands, at: sources.now)
      guard let event = try sources.pull() else { return }
      process(event, &sources)
      backlog?.wait()
    }
  }

  private func process(_ event: SensorEvent, _ sources: inout FeedSources) {
    let now = sources.now
    line.withLock { $0.newest = now }
    guard let event = sources.admit(event) else { return }
    tell(event)
    if let timestamp = event.timestamp { location.advance(to: timestamp) }
  }

  /// Passes an event to motion, location and readings, and their results to each other.
  private func tell(_ event: SensorEvent) {
    motion.process(event)
    readings.process(event)
    for place in location.process(event) {
      if let altitude = place.altitude,
        let deviation = place.verticalAccuracy ?? place.horizontalAccuracy.map({ 2 * $0 })
      {
        motion.update(
          altitude: altitude, deviation: deviation, speed: place.speed, at: place.timestamp)
      }
      guard let time = place.time else { continue }
      line.withLock { $0.utcOffset = time.nanoseconds &- place.timestamp.nanoseconds }
      motion.withManager {
        $0.update(location: place.coordinate, altitude: place.ellipsoidalAltitude, time: time)
      }
    }
    guard case .inertial(let block) = event, location.isHeadingWanted else { return }
    motion.withManager { manager in
      // The filter uses the gyroscope's clock, if there is one.
      let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
      guard let last = block.last(where: { $0.contains(clock) }), let attitude = manager.magneticAttitude
      else { return }
      location.process(
        attitude: attitude, accuracy: manager.headingAccuracy,
        calibration: manager.deviceMotion?.magneticField?.accuracy, at: last.timestamp)
    }
  }

  /// Sets the union of all demands if it has changed.
  private func demand(
    of sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand], at now: Timestamp
  ) {
    let others = motion.demands.merging(readings.demands) { $0.combined(with: $1) }
    let wanted = location.demands(at: now).merging(others) { $0.combined(with: $1) }
    guard wanted != demands else { return }
    demands = wanted
    sources.setDemands(wanted, full: location.fullDemands.merging(others) { $0.combined(with: $1) })
  }
}
