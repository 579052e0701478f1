internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The motion side of the pipeline: from scans of the inertial sensors to `attitude`, `heading` and `motion` messages.
struct MotionReports: Sendable {
  private(set) var manager: MotionManager
  private let settings: PipelineConfiguration
  private var heading: HeadingManager
  private var headingGate: IntervalGate
  private var attitudeGate: AttitudeGate
  private var events: MotionEvents
  /// Of the newest attitude told, in its frame: the next one's angles go on from there.
  private var angles: (frame: AttitudeReferenceFrame, angles: EulerAngles)?
  /// The attitude at the command `zero`; its frame is that of the turn since.
  private var zero: (frame: AttitudeReferenceFrame, attitude: Attitude)?
  /// Under way since the command `level`.
  private var leveling: LevelMeasurement?
  /// How the last one ended, until it is drained.
  private var levelOutcome: LevelOutcome?

  /// Of the first scan.
  private var start: Timestamp?
  /// Whether navigation knows how the vehicle is turned.
  private(set) var isNavigated = false

  /// Seconds after which a gyroscope that has not spoken is not waited for.
  private static let patience = 1.0

  typealias Send = (VehicleMessage) -> Void

  /// - Parameter calibration: of the motion sensors, from an earlier run.
  init(_ configuration: PipelineConfiguration, calibration: MotionCalibration? = nil) {
    settings = configuration
    manager = MotionManager(frame: configuration.attitude.frame, calibration: calibration)
    heading = HeadingManager(
      headingFilter: configuration.heading.filter, headingOrientation: configuration.heading.orientation,
      followsCourse: configuration.location.activity == .automotive)
    headingGate = IntervalGate(interval: configuration.heading.interval)
    attitudeGate = AttitudeGate(
      interval: configuration.attitude.interval, filter: configuration.attitude.filter)
    events = MotionEvents(configuration.motion)
  }

  /// Goes on under another configuration: a settled filter and what is known of rest stay.
  func reconfigured(_ new: PipelineConfiguration) -> MotionReports {
    var next = MotionReports(new)
    next.manager = manager
    next.manager.frame = new.attitude.frame
    next.events = events.reconfigured(new.motion)
    (next.zero, next.leveling, next.levelOutcome) = (zero, leveling, levelOutcome)
    return next
  }

  // MARK: What goes in

  mutating func observe(_ change: SourceStatus) { manager.observe(change) }

  /// The accelerometer has fallen silent: nobody sees the end of a rest.
  mutating func forgetActivity() { events.forgetActivity() }

  /// Takes a receiver's report as it comes.
  mutating func observe(_ fix: PositionFix) { events.observe(fix) }

  mutating func observe(_ location: Location, time: UTCTime) {
    manager.update(location: location.coordinate, altitude: location.ellipsoidalAltitude, time: time)
    heading.declination = manager.declination
    heading.process(location)
  }

  /// Takes scans. Call `process` with what navigation makes of them, and then `publish`.
  /// - Returns: what is sound of them; and that in order of time across devices, of this block and those before as far as no
  ///   other device can have anything older.
  mutating func admit(_ block: [InertialScan]) -> (scans: [InertialScan], ordered: [InertialScan]) {
    var scans: [InertialScan] = []
    scans.reserveCapacity(block.count)
    var ordered: [InertialScan] = []
    ordered.reserveCapacity(2 * block.count)
    manager.admit(block, { scans.append($0) }, ordered: { ordered.append($0) })
    if let first = block.first, start == nil { start = first.timestamp }
    return (scans, ordered)
  }

  /// Fuses what was admitted, and hands out the events that follow, in order.
  /// - Parameters:
  ///   - scans: that were sound.
  ///   - accelerations: of the device in its own axes at times of the scans, as far as navigation knows them.
  mutating func process(
    _ scans: [InertialScan], _ accelerations: [KnownAcceleration], _ timeBase: TimeBase, into send: Send
  ) {
    for acceleration in accelerations { manager.update(acceleration: acceleration) }
    manager.fuse()
    let gravity = manager.deviceMotion.map {
      MotionEvents.Gravity(vehicle: $0.gravity, leveling: manager.vehicleRotation)
    }
    for scan in scans {
      for (timestamp, event) in events.process(scan, gravity) {
        send(
          .motion(
            MotionMessage(
              time: timeBase.utc(at: timestamp), event: event, axes: event.hasDirection ? axes : nil)))
      }
      level(scan)
    }
  }

  /// Hands out what is due after a block of scans.
  /// - Parameter vehicle: what navigation has made of them; nil where it has nothing.
  mutating func publish(
    after block: [InertialScan], _ vehicle: NavigationEstimate?, _ timeBase: TimeBase, into send: Send
  ) {
    manager.update(
      attitude: vehicle.map { Attitude(quaternion: $0.attitude) },
      at: vehicle?.timestamp ?? Timestamp(nanoseconds: 0))
    isNavigated = vehicle != nil
    // The filter's clock is the gyroscope's; a device that turns out to have none goes by its accelerometer.
    let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
    guard let last = block.last(where: { $0.contains(clock) }),
      clock == .gyroscope || last.timestamp.seconds(since: start ?? last.timestamp) >= Self.patience
    else { return }
    publishHeading(vehicle, at: last.timestamp, timeBase, into: send)
    publishAttitude(at: last.timestamp, timeBase, into: send)
  }

  // MARK: What is known

  /// Whether the vehicle stands or moves, and since when; nil until that is known.
  var activity: StationaryDetector.State? { events.activity }
  var activitySince: Timestamp? { events.activitySince }

  /// What can be told with the sensors that are there, and why not the rest.
  /// - Parameter availability: why sensors cannot be had, as far as their sources have said.
  func capabilities(_ availability: ServiceAvailability) -> MotionCapabilities {
    MotionCapabilities(settings, sensors: sensors, isNavigated: isNavigated, availability)
  }

  /// The sensors that are there, asleep or awake; positioning once a place is known.
  var sensors: Set<SensorKind> {
    var sensors = Set([SensorKind.accelerometer, .gyroscope, .magnetometer].filter(manager.isAvailable))
    if manager.declination != nil { sensors.insert(.positioning) }
    return sensors
  }

  var report: MotionReport {
    let current = manager.deviceMotion
    return MotionReport(
      frame: current?.frame ?? manager.frame,
      unavailable: (current?.unavailableOutputs ?? []).map { "\($0)" }.sorted(),
      hasAttitude: current.map { $0.attitude != nil }, headingAccuracy: manager.headingAccuracy,
      calibration: current?.magneticField?.accuracy, isAtRest: activity == .stationary)
  }

  /// What the magnetometer measures, and what would make it better; nil without one.
  var compass: CompassReport? {
    guard manager.isAvailable(.magnetometer), let field = manager.deviceMotion?.magneticField else {
      return nil
    }
    var report = CompassReport()
    (report.magneticField, report.calibration) = (field.field, field.accuracy)
    report.isCalibrationWanted = heading.heading?.isCalibrationWanted ?? (field.accuracy == .uncalibrated)
    if report.isCalibrationWanted { report.instruction = settings.location.activity.calibrationInstruction }
    return report
  }

  /// How the device lies by its own axes; nil while no accelerometer says so.
  var orientation: DeviceOrientation? { manager.isAvailable(.accelerometer) ? events.orientation : nil }

  // MARK: The command level

  /// Whether the tilt is being measured.
  var isLeveling: Bool { leveling != nil }
  var levelDeadline: Timestamp? { leveling?.deadline }

  /// Measures how the device is tilted in the vehicle, or joins the measurement that is under way.
  mutating func startLeveling(at now: Timestamp) {
    guard manager.isAvailable(.accelerometer) else { return endLeveling(.failure(.noAccelerometer)) }
    guard activity != .moving else { return endLeveling(.failure(.moving)) }
    if leveling == nil { leveling = LevelMeasurement(at: now) }
  }

  mutating func clearLevel() {
    leveling = nil
    adopt(nil)
  }

  /// How the measurement ended, once.
  mutating func drainLevel() -> LevelOutcome? {
    defer { levelOutcome = nil }
    return levelOutcome
  }

  mutating func advanceLeveling(to now: Timestamp) {
    if let leveling, leveling.deadline <= now { endLeveling(.failure(leveling.failureAtDeadline)) }
  }

  private mutating func level(_ scan: InertialScan) {
    guard leveling != nil, let sample = AccelerometerData(scan) else { return }
    let activity = events.isRestContradicted(at: scan.timestamp) ? .moving : self.activity
    if let result = leveling?.process(sample, activity) { endLeveling(result) }
  }

  private mutating func endLeveling(_ result: Result<LevelCalibration, LevelFailure>) {
    leveling = nil
    switch result {
    case .success(let level):
      adopt(level)
      levelOutcome = .measured(StatusMessage.Level(level))
    case .failure(let failure): levelOutcome = .failed(failure)
    }
  }

  /// Goes on in other axes: what is told against an earlier attitude is told against the same one.
  private mutating func adopt(_ level: LevelCalibration?) {
    if manager.mounting == nil { angles = nil }
    turn { $0.level = level }
  }

  private mutating func turn(_ change: (inout MotionManager) -> Void) {
    let before = manager.vehicleRotation ?? .identity
    change(&manager)
    let after = manager.vehicleRotation ?? .identity
    guard let zero else { return }
    let turned = Attitude(quaternion: (zero.attitude.quaternion * before * after.conjugate).normalized)
    self.zero = (zero.frame, turned)
  }

  // MARK: The vehicle's axes

  /// Goes on in the axes of the vehicle as navigation has them.
  /// - Parameter mounting: from the device's axes to the vehicle's; nil goes back to the device's.
  mutating func mount(_ mounting: Quaternion?) {
    guard mounting != manager.mounting else { return }
    // From one moment to the next the device has hardly moved in the vehicle.
    if mounting == nil || manager.mounting == nil { angles = nil }
    turn { $0.mounting = mounting }
  }

  /// In which all is told.
  var axes: BodyAxes {
    if manager.mounting != nil { return .vehicle }
    return manager.level == nil ? .device : .level
  }

  // MARK: The command zero

  /// Tells attitudes relative to this moment, too, from now on.
  /// - Returns: the attitude and its frame; nil when none is known, and nothing has changed.
  mutating func setZero() -> AttitudeMessage? {
    guard let motion = manager.deviceMotion, let attitude = motion.attitude else { return nil }
    zero = (motion.frame, attitude)
    attitudeGate.reopen()
    return AttitudeMessage(time: UTCTime(nanoseconds: 0), frame: motion.frame, attitude: attitude)
  }

  mutating func clearZero() {
    zero = nil
    attitudeGate.reopen()
  }

  /// Publishes the next attitude, whether it has changed or not: the broker may not have the last one.
  mutating func beginSession() { attitudeGate.reopen() }

  // MARK: What comes out

  private mutating func publishHeading(
    _ vehicle: NavigationEstimate?, at timestamp: Timestamp, _ timeBase: TimeBase, into send: Send
  ) {
    guard settings.heading.isEnabled, headingGate.isOpen(at: timestamp),
      let heading = heading(vehicle, at: timestamp)
    else { return }
    var message = HeadingMessage(time: timeBase.utc(at: heading.timestamp), heading: heading)
    // The manager's newest heading is this one.
    message.compass = compass ?? message.compass
    send(.heading(message))
  }

  /// In a vehicle a magnetometer is never the judge: it stands between steel and currents.
  private mutating func heading(_ vehicle: NavigationEstimate?, at timestamp: Timestamp) -> Heading? {
    if let vehicle, manager.declination != nil {
      return heading.process(trueHeading: vehicle.heading, accuracy: vehicle.headingDeviation, at: timestamp)
    }
    return manager.magneticAttitude.flatMap {
      heading.process(
        attitude: $0, accuracy: manager.headingAccuracy,
        calibration: manager.deviceMotion?.magneticField?.accuracy, at: timestamp)
    }
  }

  private mutating func publishAttitude(at timestamp: Timestamp, _ timeBase: TimeBase, into send: Send) {
    guard settings.attitude.isEnabled, let motion = manager.deviceMotion,
      attitudeGate.isOpen(
        at: timestamp, attitude: motion.attitude, gravity: motion.gravity,
        AttitudeGate.State(frame: motion.frame, axes: axes, degradation: motion.degradation))
    else { return }
    var message = AttitudeMessage(
      time: timeBase.utc(at: motion.timestamp), gravity: motion.gravity,
      userAcceleration: motion.userAcceleration)
    message.axes = axes
    message.rotationRate = motion.rotationRate
    if let attitude = motion.attitude {
      let before = angles?.frame == motion.frame ? angles?.angles : nil
      let next = before.map { attitude.eulerAngles(near: $0) } ?? attitude.eulerAngles
      angles = (motion.frame, next)
      (message.frame, message.attitude, message.angles) = (motion.frame, attitude, next)
      if let zero, zero.frame == motion.frame {
        var relative = attitude
        relative.multiply(byInverseOf: zero.attitude)
        message.relative = relative
      }
    }
    message.degradation = motion.degradation
    send(.attitude(message))
  }
}

extension MotionMessage.Event {
  fileprivate var hasDirection: Bool {
    if case .impact = self { true } else { false }
  }
}

extension ActivityType {
  /// How a person calibrates the magnetometer of what moves so.
  var calibrationInstruction: String {
    switch self {
    case .automotive:
      "drive slowly a full circle on open ground, away from bridges, rails and parked cars, then straight ahead for half a minute"
    case .pedestrian, .other:
      "turn the device slowly through a figure of eight, about all its axes, away from steel and magnets"
    }
  }
}
