internal import Motion
internal import Positioning
public import Sensors
public import Spatial
public import Telemetry

/// From sensor events to messages: the whole of the agent's decisions, as a value without I/O.
///
/// Events go in with their time, messages come out. The same value therefore runs live, in a replay as fast as
/// the machine can, and in a test with exact answers.
public struct AgentPipeline: Sendable {
  private(set) var configuration: AgentConfiguration
  private var timeBase: TimeBase
  private(set) var location: LocationReports
  /// The newest position that was believed, told or not.
  private(set) var lastSeen: Location?
  /// What is demanded of the sensors, and what that costs.
  var power: PowerControl
  private var motion: MotionManager
  private var heading: HeadingManager
  private var headingGate: IntervalGate
  private var attitudeGate: IntervalGate
  private var motionEvents: MotionEvents
  private var activity: StationaryDetector.State?
  private var status: StatusReporter
  /// What regions are watched, and what they saw.
  var regions = RegionEvents()

  /// - Parameters:
  ///   - start: where the device's time line stands now.
  ///   - time: the civil time then, as far as it is known.
  ///   - version: of the program, for `status`.
  public init(configuration: AgentConfiguration, start: Timestamp, time: UTCTime, version: String) {
    self.init(configuration: configuration, start: start, time: time, version: version, calibration: nil)
  }

  /// - Parameter calibration: of the motion sensors, from an earlier run.
  init(
    configuration: AgentConfiguration, start: Timestamp, time: UTCTime, version: String,
    calibration: MotionCalibration?
  ) {
    self.configuration = configuration
    timeBase = TimeBase(timestamp: start, time: time, followsReceiver: configuration.input != .hardware)
    location = LocationReports(configuration, start: start)
    motion = MotionManager(frame: configuration.attitudeFrame, calibration: calibration)
    heading = HeadingManager(
      headingFilter: configuration.headingFilter, headingOrientation: configuration.headingOrientation,
      followsCourse: configuration.location.activity == .automotive)
    headingGate = IntervalGate(interval: configuration.headingInterval)
    attitudeGate = IntervalGate(interval: configuration.attitudeInterval)
    motionEvents = MotionEvents(
      configuration.motionEvents,
      watchesActivity: configuration.isLocationEnabled && configuration.location.pausesAutomatically)
    status = StatusReporter(start: start, interval: configuration.statusInterval, version: version)
    power = PowerControl(figures: configuration.energy, mobility: Mobility(configuration.location.activity))
    planPower(at: start)
  }

  /// Goes on under another configuration: times, sources and a settled attitude filter are kept, and what has not changed
  /// goes on as if nothing were. What was collected under the old one is told first.
  mutating func reconfigure(_ new: AgentConfiguration, at now: Timestamp, into send: (VehicleMessage) -> Void)
  {
    let hasOtherLocations =
      new.location != configuration.location || new.isLocationEnabled != configuration.isLocationEnabled
      || new.privacy != configuration.privacy
    if hasOtherLocations { finish(into: send) }
    var next = AgentPipeline(configuration: new, start: now, time: timeBase.utc(at: now), version: "")
    (next.timeBase, next.status, next.externalCounters) = (timeBase, status, externalCounters)
    next.status.interval = new.statusInterval
    (next.lastStatus, next.statusCount) = (lastStatus, statusCount)
    next.regions = regions
    (next.power, next.lastSeen) = (power, lastSeen)
    next.location.adopt(location)
    if !hasOtherLocations { next.location = location }
    if new.attitudeFrame == configuration.attitudeFrame { next.motion = motion }
    if new.motionEvents == configuration.motionEvents, !hasOtherLocations {
      (next.motionEvents, next.activity) = (motionEvents, activity)
    }
    self = next
    power.needsChanged()
    planPower(at: now)
  }

  /// Wants a location soon, whatever else is configured, for at most so many seconds.
  mutating func requestLocation(timeLimit: Double, at now: Timestamp) {
    location.requestLocation(timeLimit: timeLimit, at: now)
    power.needsChanged()
    planPower(at: now)
  }

  /// The newest position that may be told, whether it was or not; nil before the first.
  var lastKnown: LocationMessage? {
    location.manager.location.map {
      LocationMessage(identity: nil, time: $0.time ?? timeBase.utc(at: $0.timestamp), location: $0)
    }
  }

  /// Takes one event in; hands out the messages that follow from it, in order.
  public mutating func process(_ event: SensorEvent, into send: (VehicleMessage) -> Void) {
    switch event {
    case .accelerometer(let block):
      motion.process(block)
      tell(motionEvents.process(block, gravity: motion.deviceMotion?.gravity), into: send)
      noteActivity(at: event.timestamp, into: send)
    case .gyroscope(let block):
      motion.process(block)
      tell(motionEvents.process(block), into: send)
      noteActivity(at: event.timestamp, into: send)
      if let last = block.last { tellMotion(at: last.timestamp, into: send) }
    case .magnetometer(let block): motion.process(block)
    case .thermometer(let block): motion.process(block)
    case .barometer: break
    case .position(let fixes): for fix in fixes { process(fix, into: send) }
    case .status(let change):
      motion.note(change)
      status.note(change)
      location.note(change, timeBase, into: send)
      if case .unavailable = change.state, change.kinds.contains(.accelerometer) {
        activity = nil
        location.note(nil, at: change.timestamp, timeBase, into: send)
      }
    }
    power.note(event)
    if let timestamp = event.timestamp { advance(to: timestamp, into: send) }
  }

  /// What is worth keeping of the motion sensors, and whether some of what was given at the start no longer fits.
  var calibration: MotionCalibration { motion.calibration }
  var hasDiscardedCalibration: Bool { motion.hasDiscardedCalibration }

  /// Civil time, as far as it is known.
  func utc(at timestamp: Timestamp) -> UTCTime { timeBase.utc(at: timestamp) }

  /// Nanoseconds to add to a timestamp for UTC; nil while no clock was set.
  func utcOffset(at timestamp: Timestamp) -> Int64? { timeBase.knownOffset(at: timestamp) }

  /// Lets time pass without an event.
  public mutating func advance(to timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    // What is over has been waited for no longer.
    if let due = location.nextDeadline, due <= timestamp { power.needsChanged() }
    location.advance(to: timestamp, timeBase, into: send)
    regions.advance(to: timestamp, timeBase, into: send)
    planPower(at: timestamp)
    guard var message = status.due(at: timestamp, timeBase: timeBase, counters: counters) else { return }
    message.authorization = location.availability.authorizationStatus.rawValue
    message.services = location.services
    message.energy = EnergyReport(power.accounts(at: timestamp))
    lastStatus = message
    statusCount += 1
    send(.status(message))
  }

  /// When `advance` has something to do, if no event comes before.
  public var nextDeadline: Timestamp? {
    [status.nextDeadline, location.nextDeadline, regions.nextDeadline, power.nextDeadline]
      .compactMap { $0 }.min()
  }

  /// Tells what is pending, before the farewell of a clean stop.
  public mutating func finish(into send: (VehicleMessage) -> Void) { location.finish(timeBase, into: send) }

  /// Takes which device nodes may not be opened, with the kind of sensor behind each where that is known.
  public mutating func note(deniedNodes: [String: SensorKind?]) { location.note(deniedNodes: deniedNodes) }

  /// Counts to be shown in `status`, from outside the pipeline, as in messages dropped.
  public var externalCounters: [String: Int] = [:]

  /// What the computer knows of itself, to be shown in `status`.
  public var deviceHealth: DeviceHealth? {
    get { status.device }
    set { status.device = newValue }
  }

  /// Why messages are kept in memory only, to be shown in `status`; nil while they are safe.
  public var storeProblem: String? {
    get { status.storeProblem }
    set { status.storeProblem = newValue }
  }

  /// Whether the vehicle is known to rest, as far as `motion.events` has its activity watched.
  public private(set) var isAtRest = false

  /// The last `status` that came out; nil before the first.
  public private(set) var lastStatus: StatusMessage?
  /// How often a `status` came out.
  private(set) var statusCount = 0

  /// The last word of a clean stop.
  public mutating func farewell(at timestamp: Timestamp) -> VehicleMessage {
    .status(report(.offline, at: timestamp))
  }

  /// What would be told as `status`, without telling it.
  func report(_ state: StatusMessage.State, at timestamp: Timestamp) -> StatusMessage {
    var message = status.message(state, at: timestamp, timeBase: timeBase, counters: counters)
    message.energy = EnergyReport(power.accounts(at: timestamp))
    return message
  }

  /// Where the attitude filter stands.
  var motionReport: MotionReport {
    let current = motion.deviceMotion
    return MotionReport(
      frame: motion.frame, unavailable: (current?.unavailableOutputs ?? []).map { "\($0)" }.sorted(),
      hasAttitude: current.map { $0.attitude != nil }, headingAccuracy: motion.headingAccuracy,
      calibration: current?.magneticField?.accuracy, isAtRest: isAtRest)
  }

  /// Makes `status` due at the next moment: a new session must overrule the will of the one before.
  /// - Parameter sessionStart: the civil time that the new session's will carries.
  public mutating func beginSession(at sessionStart: UTCTime?) {
    status.sessionStart = sessionStart ?? status.sessionStart
    status.requestNow()
  }

  private var counters: [String: Int] {
    externalCounters.merging(location.counters) { $1 }.merging(motion.refusals) { $1 }
  }

  private mutating func process(_ fix: PositionFix, into send: (VehicleMessage) -> Void) {
    for location in location.process(fix, &timeBase, into: send) {
      lastSeen = location
      motion.update(
        location: location.coordinate, altitude: location.ellipsoidalAltitude,
        time: location.time ?? timeBase.utc(at: location.timestamp))
      heading.declination = motion.declination
      heading.process(location)
      if let shown = configuration.privacy.shown(location) {
        regions.process(shown, timeBase, into: send)
      } else {
        regions.monitor.interrupt()
      }
    }
  }

  /// Passes on what the accelerometer says of rest and motion, when that changes.
  private mutating func noteActivity(at timestamp: Timestamp?, into send: (VehicleMessage) -> Void) {
    guard let timestamp, motionEvents.activity != activity else { return }
    activity = motionEvents.activity
    location.note(activity, at: timestamp, timeBase, into: send)
  }

  private mutating func tellMotion(at timestamp: Timestamp, into send: (VehicleMessage) -> Void) {
    if configuration.isHeadingEnabled, headingGate.isOpen(at: timestamp),
      let magneticHeading = motion.magneticHeading,
      let heading = heading.process(
        magneticHeading: magneticHeading, accuracy: motion.headingAccuracy,
        calibration: motion.deviceMotion?.magneticField?.accuracy, at: timestamp)
    {
      send(.heading(HeadingMessage(time: timeBase.utc(at: heading.timestamp), heading: heading)))
    }
    if configuration.isAttitudeEnabled, attitudeGate.isOpen(at: timestamp), let motion = motion.deviceMotion,
      let attitude = motion.attitude
    {
      var message = AttitudeMessage(
        time: timeBase.utc(at: motion.timestamp), frame: motion.frame, attitude: attitude)
      message.rotationRate = motion.rotationRate
      message.gravity = motion.gravity
      message.userAcceleration = motion.userAcceleration
      send(.attitude(message))
    }
  }

  private mutating func tell(_ events: [MotionEvents.Event], into send: (VehicleMessage) -> Void) {
    for (timestamp, event) in events {
      if case .activity(let state) = event { isAtRest = state == .stationary }
      send(.motion(MotionMessage(time: timeBase.utc(at: timestamp), event: event)))
    }
  }
}
