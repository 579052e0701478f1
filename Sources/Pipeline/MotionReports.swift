internal import LocalProtocols
internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The motion part of the pipeline: creates `attitude`, `heading` and `motion` messages from scans of the
/// inertial sensors.
///
/// Each scan is processed separately, and its messages have its time. A block of 0.1 s at 100 Hz can
/// therefore cause ten attitudes.
struct MotionReports: PipelinePart {
  private(set) var manager: MotionManager
  private var heading: HeadingManager
  private var headingGate: IntervalGate
  private var attitudeGate: AttitudeGate
  /// Time of the first scan that a gyroscope delivered without an accelerometer; nil if there was none.
  private var unsubscribedSince: Timestamp?
  /// Time in s for which a gyroscope's data wait for an accelerometer, because the devices of one chip start
  /// one after the other.
  private static let accelerometerTimeout = 2.0
  private var events: MotionEvents
  /// Euler angles of the last published attitude, in its frame. The next angles are chosen to be continuous
  /// with them.
  private var angles: (frame: AttitudeReferenceFrame, angles: EulerAngles)?
  /// The reference attitude of the command `zero` in its frame; it is adapted when the axes change.
  private var zero: (frame: AttitudeReferenceFrame, attitude: Attitude)?
  /// Tilt measurement in progress, started by the command `level`; nil if there is none.
  private var leveling: LevelMeasurement?
  /// Outcome of the last tilt measurement, until `advance`.
  private var levelOutcome: LevelOutcome?
  /// Outcome of the last tilt measurement, nil before the first; and the number of measurements.
  private(set) var lastLevel: (outcome: LevelOutcome?, count: Int) = (nil, 0)
  /// The available sensors and services as last reported; nil if they must be reported again.
  private var known: Capability?
  private var capabilities: MotionCapabilities?
  /// The reasons why active sources deliver less than they could.
  private var restrictions: [SensorKind: String] = [:]

  /// The available sensors, and whether navigation provides the attitude. Together they determine the motion
  /// services.
  private struct Capability: Hashable {
    var sensors: Set<SensorKind>
    var isNavigated: Bool
  }

  /// The newest navigation estimate; nil while navigation is not aligned.
  private var vehicle: NavigationEstimate?

  /// - Parameter calibration: calibration of the motion sensors from an earlier run.
  init(_ configuration: PipelineConfiguration, calibration: MotionCalibration? = nil) {
    manager = MotionManager(frame: configuration.attitude.frame, calibration: calibration)
    heading = HeadingManager(configuration)
    headingGate = IntervalGate(interval: configuration.heading.interval)
    attitudeGate = AttitudeGate(
      interval: configuration.attitude.interval, filter: configuration.attitude.filter)
    events = MotionEvents(configuration.motion)
  }

  /// Adopts the settings of the context. A settled attitude filter and the state of rest are retained.
  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    let new = context.configuration
    manager.frame = new.attitude.frame
    heading.adopt(new)
    if new.heading != old.heading { headingGate = IntervalGate(interval: new.heading.interval) }
    if new.attitude != old.attitude {
      attitudeGate = AttitudeGate(interval: new.attitude.interval, filter: new.attitude.filter)
    }
    events = events.reconfigured(new.motion)
    (angles, unsubscribedSince, known) = (nil, nil, nil)
    mount(context.mounting)
  }

  // MARK: Inputs

  mutating func observe(_ change: SourceStatus, _ context: inout PipelineContext) {
    manager.observe(change)
    for kind in change.kinds { restrictions[kind] = change.restriction }
  }

  /// Processes a change of the demands on the sensors.
  mutating func observe(_ demands: [SensorKind: SensorDemand]) {
    manager.demand(Set(demands.filter { $0.value.isOn }.keys))
  }

  /// Resets the detector of rest, because the accelerometer became silent.
  mutating func forgetActivity(_ context: inout PipelineContext) {
    events.forgetActivity()
    share(&context)
  }

  /// Shares the state of rest or motion.
  private func share(_ context: inout PipelineContext) {
    (context.activity, context.activitySince) = (events.activity, events.activitySince)
  }

  /// Processes a receiver's report when it arrives, before it is checked.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    events.observe(step.fix)
    share(&context)
  }

  /// Processes wheel speeds, which may end a rest.
  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    for speed in step.speeds { publish(events.observe(speed), &context) }
    share(&context)
  }

  private func publish(_ happened: [MotionEvents.Event], _ context: inout PipelineContext) {
    for (timestamp, event) in happened {
      context.send(
        .motion(
          MotionMessage(
            time: context.timeBase.utc(at: timestamp), event: event, axes: event.hasDirection ? axes : nil)))
    }
  }

  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    manager.update(
      location: location.coordinate, altitude: location.ellipsoidalAltitude,
      time: context.timeBase.utc(of: location))
    heading.declination = manager.declination
    heading.process(location)
  }

  /// Publishes the next attitude at rest. The retained attitude message would otherwise contain the rotation rates
  /// of the drive while the vehicle is parked.
  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    if change.state == .stationary { attitudeGate.reopen() }
  }

  /// Validates a block of scans. The caller then calls `process`, `mount`, `dueMessages` and `publish` for each
  /// `nextScan`.
  mutating func admit(_ block: [InertialScan]) { manager.admit(block) }

  /// The next scan to process, in order of time over all devices; nil if none is ready.
  var nextScan: InertialScan? { manager.nextScan }

  /// Processes `nextScan` in the attitude filter, and publishes the events that it causes.
  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    if let acceleration = step.acceleration { manager.update(acceleration: acceleration) }
    manager.fuseNext()
    let gravity = manager.gravity.map {
      MotionEvents.Gravity(device: $0, leveling: manager.vehicleRotation)
    }
    publish(events.process(step.scan, gravity), &context)
    level(step.scan)
    share(&context)
  }

  /// The messages that are due after a scan.
  struct DueMessages {
    fileprivate var isHeadingDue: Bool
    fileprivate var isAttitudeDue: Bool
  }

  /// Returns the messages that are due after a scan; nil if none is.
  mutating func dueMessages(after scan: InertialScan, _ context: PipelineContext) -> DueMessages? {
    guard manager.isMotionNew(after: scan) else { return nil }
    let due = DueMessages(
      isHeadingDue: context.configuration.heading.isEnabled && headingGate.isOpen(at: scan.timestamp),
      isAttitudeDue: context.configuration.attitude.isEnabled && attitudeGate.isDue(at: scan.timestamp))
    return due.isHeadingDue || due.isAttitudeDue ? due : nil
  }

  /// Updates the attitude filter with the attitude from navigation; nil while navigation is not aligned.
  mutating func observe(_ estimate: NavigationEstimate?) {
    vehicle = estimate
    manager.update(
      attitude: estimate.map { Attitude(quaternion: $0.attitude) },
      at: estimate?.timestamp ?? Timestamp(nanoseconds: 0))
  }

  mutating func publish(
    _ due: DueMessages, at timestamp: Timestamp, _ context: inout PipelineContext
  ) {
    if due.isHeadingDue { publishHeading(at: timestamp, &context) }
    if due.isAttitudeDue { publishAttitude(at: timestamp, &context) }
  }

  // MARK: State

  /// True if navigation provides the vehicle's attitude.
  var isNavigated: Bool { vehicle != nil }

  /// Returns the available services, and the reasons why others are unavailable.
  private func capabilities(_ context: PipelineContext) -> MotionCapabilities {
    let clock: SensorKind = manager.isAvailable(.gyroscope) ? .gyroscope : .accelerometer
    return MotionCapabilities(
      context.configuration, sensors: sensors, isNavigated: isNavigated, context.availability,
      effectiveInterval: manager.effectiveInterval(of: clock), restriction: restrictions[clock])
  }

  /// Schedules a `status` if the available motion services have changed, for example because a reference
  /// frame became available.
  mutating func observeCapabilities(_ context: inout PipelineContext) {
    let now = Capability(sensors: sensors, isNavigated: isNavigated)
    guard now != known else { return }
    known = now
    let capabilities = capabilities(context)
    if let before = self.capabilities, before != capabilities { context.isStatusOutdated = true }
    self.capabilities = capabilities
  }

  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    let capabilities = capabilities(context)
    status.services.merge(capabilities.services.mapValues { $0 ?? "available" }) { $1 }
    status.frames = capabilities.frames.map(\.rawValue)
    status.degradations = capabilities.degradations
    status.orientation = orientation
    status.level = manager.level.map { StatusMessage.Level($0) }
    status.compass = compass(context)
    status.counters.merge(manager.refusals) { $1 }
  }

  /// Adds the inertial sensors for attitude, heading, motion events, recordings and the tilt measurement.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    let configuration = context.configuration
    let inertial = SensorDemand.rate(
      hertz: configuration.inertial.rate, latency: .seconds(configuration.inertialLatency))
    let isFusionWanted = configuration.attitude.isEnabled || configuration.heading.isEnabled
    if isFusionWanted || !configuration.motion.events.isEmpty {
      for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] { needs.inertial[kind] = inertial }
    }
    if isFusionWanted {
      needs.inertial[.thermometer] = .rate(hertz: 0.2, latency: .seconds(configuration.inertialLatency))
    }
    // An impact lasts a hundredth of a second. Its detection may be delayed by two seconds of buffering,
    // which saves energy.
    if configuration.motion.watchesAtRest, !configuration.motion.events.isDisjoint(with: [.impact, .shake]) {
      needs.restless[.accelerometer] = .rate(
        hertz: configuration.inertial.rate, latency: .seconds(PowerPlanner.watchLatency))
    }
    // The accelerometer recording also covers rest.
    if configuration.isRecording { needs.restless[.accelerometer] = inertial }
    if leveling != nil {
      let soon = SensorDemand.rate(
        hertz: configuration.inertial.rate, latency: .seconds(min(1, configuration.inertialLatency)))
      (needs.restless[.accelerometer], needs.inertial[.accelerometer]) = (soon, soon)
    }
  }

  /// The available sensors, including sleeping ones; positioning counts as available after the first
  /// position.
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
      calibration: current?.magneticField?.accuracy, isAtRest: events.activity == .stationary)
  }

  /// The magnetometer's field and its calibration; nil without a magnetometer.
  private func compass(_ context: PipelineContext) -> CompassReport? {
    guard manager.isAvailable(.magnetometer), let field = manager.magneticField else { return nil }
    var report = CompassReport()
    (report.magneticField, report.calibration) = (field.field, field.accuracy)
    // A calibration is only requested if it improves the heading, which also requires an accelerometer.
    report.isCalibrationWanted =
      manager.isAvailable(.accelerometer)
      && heading.heading?.isCalibrationWanted ?? (field.accuracy == .uncalibrated)
    if report.isCalibrationWanted {
      report.instruction = context.configuration.location.activity.calibrationInstruction
    }
    return report
  }

  /// Orientation of the device in its own axes; nil without an accelerometer.
  var orientation: DeviceOrientation? {
    manager.isAvailable(.accelerometer) ? events.orientation : nil
  }

  // MARK: The command level

  func nextDeadline(_ context: PipelineContext) -> Timestamp? { leveling?.deadline }

  /// Starts a tilt measurement, unless one is in progress. It fails immediately without an accelerometer, and
  /// in motion.
  mutating func startLeveling(_ context: inout PipelineContext) {
    if !manager.isAvailable(.accelerometer) {
      endLeveling(.failure(.noAccelerometer))
    } else if events.activity == .moving {
      endLeveling(.failure(.moving))
    } else if leveling == nil {
      leveling = LevelMeasurement(at: context.now)
    }
    finishLeveling(&context)
    context.isPlanOutdated = true
  }

  mutating func clearLevel() {
    leveling = nil
    adopt(nil)
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    if let leveling, leveling.deadline <= timestamp { endLeveling(.failure(leveling.failureAtDeadline)) }
    finishLeveling(&context)
  }

  /// Completes the tilt measurement: sensors return to their normal demands, and attitudes use the
  /// compensated axes.
  private mutating func finishLeveling(_ context: inout PipelineContext) {
    guard let outcome = levelOutcome else { return }
    levelOutcome = nil
    lastLevel = (outcome, lastLevel.count + 1)
    if case .measured = outcome { context.isStatusOutdated = true }
    context.isPlanOutdated = true
  }

  private mutating func level(_ scan: InertialScan) {
    guard leveling != nil, let sample = AccelerometerData(scan) else { return }
    let activity = events.isRestContradicted(at: scan.timestamp) ? .moving : events.activity
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

  /// Changes the tilt compensation. The reference attitude of the command `zero` is converted to the new
  /// axes.
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

  /// Changes the mounting, as determined by navigation.
  /// - Parameter mounting: rotation from the device's axes to the vehicle's; nil to publish values in the
  ///   device's axes.
  mutating func mount(_ mounting: Quaternion?) {
    guard mounting != manager.mounting else { return }
    // Successive estimates of the mounting differ little, so the next Euler angles can still be continuous
    // with the last ones.
    if mounting == nil || manager.mounting == nil { angles = nil }
    turn { $0.mounting = mounting }
  }

  /// The axes in which all values are published.
  var axes: BodyAxes {
    if manager.mounting != nil { return .vehicle }
    return manager.level == nil ? .device : .level
  }

  // MARK: The command zero

  /// Makes the current attitude the reference: from now on, attitudes are also published relative to it.
  /// - Returns: the reference attitude and its frame; nil if no attitude is available, in which case the
  ///   previous reference remains.
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

  /// Publishes the next attitude even if it has not changed, because the broker may not have the last one.
  mutating func beginSession() { attitudeGate.reopen() }

  // MARK: Outputs

  private mutating func publishHeading(
    at timestamp: Timestamp, _ context: inout PipelineContext
  ) {
    guard let heading = heading(at: timestamp) else { return }
    var message = HeadingMessage(time: context.timeBase.utc(at: heading.timestamp), heading: heading)
    // With a magnetometer, its current state replaces the state that the heading contains.
    message.compass = compass(context) ?? message.compass
    context.send(.heading(message))
  }

  /// Returns the heading. Navigation takes precedence over the magnetometer, which a vehicle's steel and
  /// currents disturb.
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

  /// Declination in degrees, positive if magnetic north is east of true north; nil before the first position.
  var declination: Double? { manager.declination }

  /// Heading of the magnetometer in degrees clockwise from magnetic north; nil without a magnetometer. It is
  /// corrected as published headings are.
  private var magneticHeading: Double? {
    manager.magneticAttitude?.heading(for: heading.headingOrientation)
      .map { normalizedDegrees($0 - heading.courseBias) }
  }

  /// Heading of the magnetometer in degrees clockwise from true north, or from magnetic north while the
  /// declination is unknown; nil without a magnetometer.
  var compassHeading: Double? { magneticHeading.map { normalizedDegrees($0 + (declination ?? 0)) } }

  /// The attitude of the motion sensors alone with its time, for programs on this machine; nil without an
  /// accelerometer. It is that of the device, or of the vehicle once the mounting or the tilt is known.
  var localAttitude: (timestamp: Timestamp, attitude: LocalAttitude)? {
    guard let motion = manager.deviceMotion, let tilt = Attitude(gravity: motion.gravity) else { return nil }
    var attitude = LocalAttitude(roll: tilt.roll.degrees, pitch: tilt.pitch.degrees)
    if let magnetic = magneticHeading {
      attitude.magneticHeading = magnetic
      attitude.trueHeading = declination.map { normalizedDegrees(magnetic + $0) }
      attitude.headingAccuracy = manager.headingAccuracy
    }
    // Gravity points down, and a rotation about it is clockwise from above.
    attitude.yawRate = motion.rotationRate.map { $0.dot(motion.gravity).degrees }
    return (motion.timestamp, attitude)
  }

  private mutating func publishAttitude(
    at timestamp: Timestamp, _ context: inout PipelineContext
  ) {
    guard let motion = manager.deviceMotion else {
      // Without an accelerometer, a gyroscope alone still provides the rotation rate.
      let degradation = "no accelerometer: rotation rate only; attach one"
      let since = unsubscribedSince ?? timestamp
      unsubscribedSince = since
      guard !manager.isAvailable(.accelerometer),
        timestamp.seconds(since: since) >= Self.accelerometerTimeout,
        let rate = manager.rotationRate,
        attitudeGate.isOpen(
          at: timestamp, rotationRate: rate, AttitudeGate.State(axes: axes, degradation: degradation))
      else { return }
      var message = AttitudeMessage(time: context.timeBase.utc(at: timestamp), rotationRate: rate)
      message.axes = axes
      message.degradation = degradation
      return context.send(.attitude(message))
    }
    // `status` contains the reason for another frame, so that not every attitude repeats it.
    let degradation = motion.rotationRate == nil ? motion.degradation : nil
    guard
      attitudeGate.isOpen(
        at: timestamp, attitude: motion.attitude, gravity: motion.gravity,
        AttitudeGate.State(frame: motion.frame, axes: axes, degradation: degradation))
    else { return }
    var message = AttitudeMessage(
      time: context.timeBase.utc(at: motion.timestamp), gravity: motion.gravity,
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
    message.degradation = degradation
    context.send(.attitude(message))
  }
}

extension HeadingManager {
  fileprivate init(_ configuration: PipelineConfiguration) {
    self.init()
    adopt(configuration)
  }

  /// Adopts settings; declination and the learned course are retained.
  fileprivate mutating func adopt(_ configuration: PipelineConfiguration) {
    headingFilter = configuration.heading.filter
    headingOrientation = configuration.heading.orientation
    // A boat is moved sideways by wind and currents.
    followsCourse =
      configuration.location.activity == .automotive && configuration.navigation.vehicle != .boat
  }
}

extension MotionMessage.Event {
  fileprivate var hasDirection: Bool {
    if case .impact = self { true } else { false }
  }
}

extension ActivityType {
  /// Instruction to the operator for calibrating the magnetometer with this type of motion.
  var calibrationInstruction: String {
    switch self {
    case .automotive:
      "drive slowly in a full circle on open ground, away from bridges, rails and parked cars, then straight ahead for 30 seconds"
    case .pedestrian, .other:
      "move the device slowly in a figure of eight, about all its axes, away from steel and magnets"
    }
  }
}
