internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The motion side of the pipeline: from scans of the inertial sensors to `attitude`, `heading` and `motion` messages.
///
/// Each scan is processed and published on its own, at its own time. A block of 0.1 s at 100 Hz can yield ten attitudes.
struct MotionReports: Sendable {
  private(set) var manager: MotionManager
  private let settings: PipelineConfiguration
  private var heading: HeadingManager
  private var headingGate: IntervalGate
  private var attitudeGate: AttitudeGate
  /// Time of the first gyroscope sample without an accelerometer; nil if there was none.
  private var unsubscribedSince: Timestamp?
  /// Seconds for which a gyroscope waits for an accelerometer: the devices of one chip start one after the other.
  private static let accelerometerTimeout = 2.0
  private var events: MotionEvents
  /// Angles of the newest published attitude, in its frame. The next angles continue from them.
  private var angles: (frame: AttitudeReferenceFrame, angles: EulerAngles)?
  /// The attitude at the command `zero`; its frame is that of the turn since.
  private var zero: (frame: AttitudeReferenceFrame, attitude: Attitude)?
  /// Measurement in progress since the command `level`.
  private var leveling: LevelMeasurement?
  /// Result of the last measurement, until it is drained.
  private var levelOutcome: LevelOutcome?

  /// The newest navigation estimate; nil while navigation is not aligned.
  private var vehicle: NavigationEstimate?

  /// - Parameter calibration: calibration of the motion sensors from an earlier run.
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

  /// Returns the state with another configuration: a settled filter and the state of rest are retained.
  func reconfigured(_ new: PipelineConfiguration) -> MotionReports {
    var next = MotionReports(new)
    next.manager = manager
    next.manager.frame = new.attitude.frame
    next.events = events.reconfigured(new.motion)
    (next.zero, next.leveling, next.levelOutcome) = (zero, leveling, levelOutcome)
    next.vehicle = vehicle
    return next
  }

  // MARK: Inputs

  mutating func observe(_ change: SourceStatus) { manager.observe(change) }

  /// Resets the detector of rest after the accelerometer became silent.
  mutating func forgetActivity() { events.forgetActivity() }

  /// Processes a receiver's report on arrival.
  mutating func observe(_ fix: PositionFix) { events.observe(fix) }

  mutating func observe(_ location: Location, time: UTCTime) {
    manager.update(location: location.coordinate, altitude: location.ellipsoidalAltitude, time: time)
    heading.declination = manager.declination
    heading.process(location)
  }

  /// Validates a block of scans. For each `nextScan` call `process`, then `dueMessages` and `publish`.
  mutating func admit(_ block: [InertialScan]) { manager.admit(block) }

  /// The oldest scan that is ready, of all devices together; nil if none is.
  var nextScan: InertialScan? { manager.nextScan }

  /// Fuses `nextScan` and publishes the resulting events.
  /// - Parameter acceleration: acceleration of the device in its own axes from navigation; nil if there is no
  ///   new one.
  mutating func process(
    _ scan: InertialScan, _ acceleration: KnownAcceleration?, _ timeBase: TimeBase,
    into send: (VehicleMessage) -> Void
  ) {
    if let acceleration { manager.update(acceleration: acceleration) }
    manager.fuseNext()
    let gravity = manager.gravity.map {
      MotionEvents.Gravity(device: $0, leveling: manager.vehicleRotation)
    }
    for (timestamp, event) in events.process(scan, gravity) {
      send(
        .motion(
          MotionMessage(
            time: timeBase.utc(at: timestamp), event: event, axes: event.hasDirection ? axes : nil)))
    }
    level(scan)
  }

  /// The messages that are due after a scan.
  struct DueMessages {
    fileprivate var isHeadingDue: Bool
    fileprivate var isAttitudeDue: Bool
  }

  /// Returns which messages are due after a scan; nil for none.
  mutating func dueMessages(after scan: InertialScan) -> DueMessages? {
    guard manager.isMotionNew(after: scan) else { return nil }
    let due = DueMessages(
      isHeadingDue: settings.heading.isEnabled && headingGate.isOpen(at: scan.timestamp),
      isAttitudeDue: settings.attitude.isEnabled && attitudeGate.isDue(at: scan.timestamp))
    return due.isHeadingDue || due.isAttitudeDue ? due : nil
  }

  /// Adopts the attitude of navigation; nil while navigation is not aligned.
  mutating func observe(_ estimate: NavigationEstimate?) {
    vehicle = estimate
    manager.update(
      attitude: estimate.map { Attitude(quaternion: $0.attitude) },
      at: estimate?.timestamp ?? Timestamp(nanoseconds: 0))
  }

  mutating func publish(
    _ due: DueMessages, at timestamp: Timestamp, _ timeBase: TimeBase, into send: (VehicleMessage) -> Void
  ) {
    if due.isHeadingDue { publishHeading(at: timestamp, timeBase, into: send) }
    if due.isAttitudeDue { publishAttitude(at: timestamp, timeBase, into: send) }
  }

  // MARK: State

  /// True if navigation provides the vehicle's attitude.
  var isNavigated: Bool { vehicle != nil }

  /// Rest or motion, and since when; nil until known.
  var activity: StationaryDetector.State? { events.activity }
  var activitySince: Timestamp? { events.activitySince }

  /// Returns the available services, and the reasons for unavailable ones.
  /// - Parameter availability: reasons for the unavailability of sensors, as reported by their sources.
  func capabilities(_ availability: ServiceAvailability) -> MotionCapabilities {
    let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
    return MotionCapabilities(
      settings, sensors: sensors, isNavigated: isNavigated, availability,
      effectiveInterval: manager.effectiveInterval(of: clock))
  }

  /// The available sensors, asleep or awake; positioning after the first position.
  var sensors: Set<SensorKind> {
    var sensors = Set([SensorKind.accelerometer, .gyroscope, .magnetometer].filter(manager.isAvailable))
    if manager.declination != nil { sensors.insert(.positioning) }
    return sensors
  }

  var report: MotionReport {
    let current = manager.deviceMotion
    let unavailable = current?.unavailableOutputs ?? []
    return MotionReport(
      frame: current?.frame ?? manager.frame,
      unavailable: unavailable.map { "\($0)" }.sorted(),
      hasAttitude: current.map { $0.attitude != nil }, headingAccuracy: manager.headingAccuracy,
      calibration: current?.magneticField?.accuracy, isAtRest: activity == .stationary)
  }

  /// The magnetometer's field and its calibration; nil without a magnetometer.
  var compass: CompassReport? {
    guard manager.isAvailable(.magnetometer), let field = manager.magneticField else { return nil }
    var report = CompassReport()
    (report.magneticField, report.calibration) = (field.field, field.accuracy)
    // Without an accelerometer there is no heading, and a calibration would not change that.
    report.isCalibrationWanted =
      manager.isAvailable(.accelerometer)
      && heading.heading?.isCalibrationWanted ?? (field.accuracy == .uncalibrated)
    if report.isCalibrationWanted { report.instruction = settings.location.activity.calibrationInstruction }
    return report
  }

  /// Orientation of the device in its own axes; nil without an accelerometer.
  var orientation: DeviceOrientation? { manager.isAvailable(.accelerometer) ? events.orientation : nil }

  // MARK: The command level

  /// True while the tilt is being measured.
  var isLeveling: Bool { leveling != nil }
  var levelDeadline: Timestamp? { leveling?.deadline }

  /// Measures the tilt of the device in the vehicle, or joins the measurement in progress.
  mutating func startLeveling(at now: Timestamp) {
    guard manager.isAvailable(.accelerometer) else { return endLeveling(.failure(.noAccelerometer)) }
    guard activity != .moving else { return endLeveling(.failure(.moving)) }
    if leveling == nil { leveling = LevelMeasurement(at: now) }
  }

  mutating func clearLevel() {
    leveling = nil
    adopt(nil)
  }

  /// Removes and returns the result of the measurement.
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

  /// Changes the axes. Attitudes relative to an earlier one continue to refer to it.
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

  /// Changes to the vehicle's axes as found by navigation.
  /// - Parameter mounting: rotation from the device's axes to the vehicle's; nil returns to the device's.
  mutating func mount(_ mounting: Quaternion?) {
    guard mounting != manager.mounting else { return }
    // Successive estimates of the mounting differ little, so that the previous angles remain comparable.
    if mounting == nil || manager.mounting == nil { angles = nil }
    turn { $0.mounting = mounting }
  }

  /// Axes of all published values.
  var axes: BodyAxes {
    if manager.mounting != nil { return .vehicle }
    return manager.level == nil ? .device : .level
  }

  // MARK: The command zero

  /// Publishes attitudes relative to the current one, too, from now on.
  /// - Returns: the attitude and its frame; nil if none is available, and then nothing has changed.
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

  /// Publishes the next attitude, whether it has changed or not: the vehicle has come to rest.
  mutating func reopenAttitude() { attitudeGate.reopen() }

  // MARK: Outputs

  private mutating func publishHeading(
    at timestamp: Timestamp, _ timeBase: TimeBase, into send: (VehicleMessage) -> Void
  ) {
    guard let heading = heading(at: timestamp) else { return }
    var message = HeadingMessage(time: timeBase.utc(at: heading.timestamp), heading: heading)
    // The manager's newest heading is this one.
    message.compass = compass ?? message.compass
    send(.heading(message))
  }

  /// Navigation has precedence over the magnetometer, which a vehicle's steel and currents disturb.
  private mutating func heading(at timestamp: Timestamp) -> Heading? {
    if let vehicle, manager.declination != nil {
      return heading.process(trueHeading: vehicle.heading, accuracy: vehicle.headingDeviation, at: timestamp)
    }
    return manager.magneticAttitude.flatMap {
      heading.process(
        attitude: $0, accuracy: manager.headingAccuracy,
        calibration: manager.deviceMotion?.magneticField?.accuracy, at: timestamp)
    }
  }

  private mutating func publishAttitude(
    at timestamp: Timestamp, _ timeBase: TimeBase, into send: (VehicleMessage) -> Void
  ) {
    guard let motion = manager.deviceMotion else {
      // A gyroscope alone still provides the rotation rate.
      let degradation = "no accelerometer: rotation rate only; attach one"
      let since = unsubscribedSince ?? timestamp
      unsubscribedSince = since
      guard !manager.isAvailable(.accelerometer),
        timestamp.seconds(since: since) >= Self.accelerometerTimeout,
        let rate = manager.rotationRate,
        attitudeGate.isOpen(
          at: timestamp, rotationRate: rate, AttitudeGate.State(axes: axes, degradation: degradation))
      else { return }
      var message = AttitudeMessage(time: timeBase.utc(at: timestamp), rotationRate: rate)
      message.axes = axes
      message.degradation = degradation
      return send(.attitude(message))
    }
    guard
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
  /// Instruction for calibrating the magnetometer with this type of motion.
  var calibrationInstruction: String {
    switch self {
    case .automotive:
      "drive slowly in a full circle on open ground, away from bridges, rails and parked cars, then straight ahead for 30 seconds"
    case .pedestrian, .other:
      "move the device slowly in a figure of eight, about all its axes, away from steel and magnets"
    }
  }
}
