internal import Motion
internal import Platform
internal import Positioning
internal import Sensors
internal import SensorsIIO
internal import Spatial

/// The thread of a `LiveDevice` and its state. The thread retains this object: while a task iterates over a
/// sequence, the device runs even if the `LiveDevice` was released.
final class DeviceRun: Sendable {
  private enum Input: Sendable {
    case event(SensorEvent)
    /// The consumers or settings have changed, or the device was stopped or released.
    case wake
    /// The discovery of hardware has ended; with the device nodes that this process may not read.
    case discovered(deniedNodes: [String: SensorKind?])
  }

  private struct Life {
    var hasStarted = false
    var hasEnded = false
    var isStopping = false
    var isReleased = false
    var failure: (any Error)?
    var discoveries: [CheckedContinuation<Void, Never>] = []
    /// The number of discoveries that are over.
    var discoveryCount = 0
  }

  /// The current time, as shared with other threads.
  private struct Line {
    /// Time of the newest event. Nil before the first event, if the source pushes events.
    var newest: Timestamp?
    var utcOffset: Int64?
  }

  let motion: LiveMotion
  let location: LiveLocation
  let readings: LiveReadings
  private let feed: SensorFeed
  private let startTime: UTCTime?
  private let contexts: [IIOConfiguration]
  private let line: Locked<Line>
  let backlog: Backlog?
  private let queue: BoundedQueue<Input>
  private let life = Monitor(Life())

  /// The maximum number of queued events, enough for some seconds of all sources.
  private static let queueCapacity = 4096

  /// - Parameters:
  ///   - feed: the sources.
  ///   - startTime: civil time at the start of a recording, used until its first fix; nil if unknown, and for
  ///     hardware.
  ///   - contexts: the IIO contexts among the sources, whose permissions are checked.
  ///   - motion: the settings and state of the fusion.
  ///   - location: the settings and state of location updates.
  ///   - monitor: the monitored regions.
  ///   - heading: the settings and state of headings.
  ///   - beacons: the map for positions from radio beacons; nil for none.
  init(
    _ feed: SensorFeed, startTime: UTCTime?, contexts: [IIOConfiguration], motion: MotionManager,
    location: LocationManager, monitor: RegionMonitor, heading: HeadingManager, beacons: (any BeaconMap)?
  ) {
    self.feed = feed
    self.startTime = startTime
    self.contexts = contexts
    // Only a pulled recording can wait for slow consumers; other sources cannot.
    if case .recorded = feed { backlog = Backlog() } else { backlog = nil }
    let isLive = if case .live = feed { true } else { false }
    let queue = BoundedQueue<Input>(capacity: Self.queueCapacity)
    self.queue = queue
    var start = Line()
    // Times of a pulled recording start at 0. All other events have times of the machine's monotonic clock.
    if case .recorded = feed { start.newest = Timestamp(nanoseconds: 0) }
    let line = Locked(start)
    self.line = line
    let clock: @Sendable () -> Timestamp = {
      let now = Timestamp.now
      return isLive ? now : line.withLock(\.newest) ?? now
    }
    let utcOffset: @Sendable () -> Int64? = {
      isLive ? UTCTime.now.nanoseconds &- Timestamp.now.nanoseconds : line.withLock(\.utcOffset)
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

  /// Starts the sources, and waits until each of them has reported its hardware.
  /// - Parameter seconds: the maximum time to wait.
  func discover(within seconds: Double) async throws {
    try start()
    let deadline = MonotonicTime.after(max(0, min(seconds, 3600)))
    let (feed, contexts, queue) = (feed, contexts, queue)
    let before = life.withLock { $0.discoveryCount }
    // Waiting for the discovery blocks, so it has its own thread. Its end is queued after the states that the
    // sources have reported, so that these are processed first.
    try DedicatedThread.start(name: "discovery") {
      if case .live(let sources) = feed {
        for source in sources {
          source.waitForDiscovery(seconds: deadline.secondsRemaining)
        }
      }
      queue.push(.discovered(deniedNodes: DevicePermissions().denied(for: contexts)))
    }.detach()
    await withCheckedContinuation { continuation in
      let isOver = life.update { life in
        // The discovery may be over before anybody waits for it.
        let isOver = life.hasEnded || life.discoveryCount > before
        if !isOver { life.discoveries.append(continuation) }
        return isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func discovered(_ deniedNodes: [String: SensorKind?]) {
    location.observe(availability(deniedNodes: deniedNodes))
    motion.observe(discovered: feed.kinds)
    let waiting = life.update { life in
      life.discoveryCount += 1
      defer { life.discoveries = [] }
      return life.discoveries
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns the availability of location services: kinds of sensors that were not discovered are
  /// unavailable.
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
    let (isFirst, isStopped) = life.update { life in
      defer { life.hasStarted = life.hasStarted || !life.isStopping }
      return (!life.hasStarted, life.isStopping)
    }
    guard !isStopped else {
      throw SourceError(place: "device", problem: "the device was stopped", remedy: "create another one")
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
    if let startTime {
      let offset = startTime.nanoseconds &- sources.now.nanoseconds
      line.withLock { $0.utcOffset = offset }
    }
    if let announcement = sources.status(.active(rates: [:])) { tell(announcement) }
    // The thread of a replay reports its sensors later than a discovery may end.
    if case .paced(let replay) = feed {
      tell(
        .status(
          SourceStatus(
            timestamp: sources.now, source: replay.name, kinds: replay.kinds, state: .active(rates: [:]))))
    }
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

  /// Processes events that the sources push, until the sources have ended or the device is stopped.
  private func follow(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) {
    while !isOver, !sources.isOver {
      demand(of: &sources, &demands, at: sources.now)
      let deadline = sources.isLive ? location.nextDeadline : nil
      let limit = deadline.map { MonotonicTime.after($0.seconds(since: sources.now)) }
      switch queue.pop(until: limit) {
      case .element(.event(let event)):
        sources.observe(event)
        process(event, &sources)
      case .element(.discovered(let deniedNodes)): discovered(deniedNodes)
      case .element(.wake), .timedOut, .closed: if sources.isLive { location.advance(to: sources.now) }
      }
    }
  }

  /// Processes the events of a pulled recording, at the speed of the consumers.
  private func pull(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) throws {
    while !isOver {
      // Without a consumer, this waits for a signal. With a consumer, it only processes signals that wait.
      switch queue.pop(until: hasConsumers ? .start : nil) {
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

  /// Passes an event to motion, location and other consumers. Also passes positions from location to motion,
  /// and attitudes from motion to location.
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
      // Attitudes have the times of the gyroscope's samples, if there is a gyroscope.
      let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
      guard let last = block.last(where: { $0.contains(clock) }), let attitude = manager.magneticAttitude
      else { return }
      location.process(
        attitude: attitude, accuracy: manager.headingAccuracy,
        calibration: manager.deviceMotion?.magneticField?.accuracy, at: last.timestamp)
    }
  }

  /// Sets the combined demands of all consumers on the sources, if they have changed.
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
