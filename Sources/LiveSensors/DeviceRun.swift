internal import Motion
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial

/// The thread of a `LiveDevice`, and what it runs on. It holds itself while it runs, so that a loop over a sequence needs no
/// device at hand.
final class DeviceRun: Sendable {
  private enum Input: Sendable {
    case event(SensorEvent)
    /// Consumers or settings have changed, or the end is near.
    case wake
  }

  private struct Life {
    var hasStarted = false
    var hasEnded = false
    var isStopping = false
    /// Nobody holds the device any more.
    var isReleased = false
    var failure: (any Error)?
  }

  let motion: LiveMotion
  let location: LiveLocation
  private let feed: SensorFeed
  private let backlog: Backlog?
  private let queue: BoundedQueue<Input>
  private let life = Monitor(Life())

  /// Blocks of some seconds, whatever the sources.
  private static let queueCapacity = 4096

  init(
    _ feed: SensorFeed, motion: MotionManager, location: LocationManager, monitor: RegionMonitor,
    heading: HeadingManager
  ) {
    self.feed = feed
    // The world does not wait for those who are slow.
    if case .recorded = feed { backlog = Backlog() } else { backlog = nil }
    let queue = BoundedQueue<Input>(capacity: Self.queueCapacity)
    self.queue = queue
    self.motion = LiveMotion(manager: motion, backlog: backlog) { _ in queue.push(.wake) }
    self.location = LiveLocation(manager: location, monitor: monitor, heading: heading, backlog: backlog) {
      queue.push(.wake)
    }
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
    life.update { $0.hasEnded = true }
  }

  private var hasConsumers: Bool {
    location.hasConsumers || motion.withManager { $0.demands.values.contains { $0.isOn } }
  }

  private var isOver: Bool {
    let (isStopping, isReleased) = life.withLock { ($0.isStopping, $0.isReleased) }
    return isStopping || (isReleased && !hasConsumers)
  }

  /// Takes what sources push, until they have ended.
  private func follow(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) {
    while !isOver, !sources.isOver {
      demand(of: &sources, &demands, at: sources.now)
      let deadline = sources.isLive ? location.nextDeadline : nil
      let limit = deadline.map { SystemClock.monotonic &+ max(0, $0.nanoseconds &- SystemClock.boottime) }
      if case .element(.event(let event)) = queue.pop(until: limit) {
        sources.observe(event)
        process(event, &sources)
      } else if sources.isLive {
        location.advance(to: sources.now)
      }
    }
  }

  /// Takes what a recording says, no faster than the consumers.
  private func pull(_ sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand]) throws {
    while !isOver {
      // Its beginning is not for nobody.
      guard hasConsumers else {
        _ = queue.pop(until: nil)
        continue
      }
      demand(of: &sources, &demands, at: sources.now)
      guard let event = try sources.pull() else { return }
      process(event, &sources)
      backlog?.wait()
    }
  }

  private func process(_ event: SensorEvent, _ sources: inout FeedSources) {
    guard let event = sources.admit(event) else { return }
    tell(event)
    if let timestamp = event.timestamp { location.advance(to: timestamp) }
  }

  /// Hands an event to motion and location, and each of them what it needs of the other.
  private func tell(_ event: SensorEvent) {
    motion.process(event)
    for place in location.process(event) {
      guard let time = place.time else { continue }
      motion.withManager {
        $0.update(location: place.coordinate, altitude: place.ellipsoidalAltitude, time: time)
      }
    }
    guard case .inertial(let block) = event, location.isHeadingWanted else { return }
    motion.withManager { manager in
      // The filter's clock is the gyroscope's, where there is one.
      let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
      guard let last = block.last(where: { $0.contains(clock) }), let attitude = manager.magneticAttitude
      else { return }
      location.process(
        attitude: attitude, accuracy: manager.headingAccuracy,
        calibration: manager.deviceMotion?.magneticField?.accuracy, at: last.timestamp)
    }
  }

  /// Makes of the sources what motion and location need together, when that has changed.
  private func demand(
    of sources: inout FeedSources, _ demands: inout [SensorKind: SensorDemand], at now: Timestamp
  ) {
    let inertial = motion.withManager { $0.demands }
    let wanted = location.demands(at: now).merging(inertial) { $0.combined(with: $1) }
    guard wanted != demands else { return }
    demands = wanted
    sources.setDemands(wanted, full: location.fullDemands.merging(inertial) { $0.combined(with: $1) })
  }
}
