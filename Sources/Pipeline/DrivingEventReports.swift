package import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The driving events' part of the pipeline: creates `driving/event` messages from scans, fixes, CAN signals
/// and the power supply.
struct DrivingEventReports: OptionalPart {
  private var detector: DrivingEventDetector
  /// Last state of ignition and engine according to the CAN bus; nil if unknown.
  private var (ignition, isEngineRunning) = (Bool?.none, Bool?.none)
  /// Time of the last reading of the engine speed; nil if there is none.
  private var revolving: Timestamp?
  /// Time of the last speed reading; nil if there was none.
  private var moved: Timestamp?
  /// True if the vehicle was in motion at the last speed reading.
  private var moving = false
  /// Revision of the regions when their speed limits were last updated.
  private var regionsRevision: Int?

  /// Names of the relevant CAN signals.
  private static let state = "Vehicle.LowVoltageSystemState"
  private static let running = "Vehicle.Powertrain.CombustionEngine.IsRunning"
  private static let revolutions = "Vehicle.Powertrain.CombustionEngine.Speed"
  private static let voltage = "Vehicle.LowVoltageBattery.CurrentVoltage"
  /// Minimum engine speed in revolutions per minute of a running engine; no starter turns an engine that
  /// fast.
  private static let slowestEngine = 400.0

  /// Maximum age in s of an engine speed; readings by OBD-II request arrive every two seconds.
  private static let longestSilence = 10.0
  /// Minimum speed in m/s of a moving vehicle, and maximum age in s of a speed reading. The age exceeds the
  /// ten seconds after which a silent CAN bus is detected.
  private static let (slowest, longestSpeed) = (1.5, 15.0)

  /// Returns nil if no events are enabled.
  init?(_ configuration: PipelineConfiguration) {
    guard !configuration.events.kinds.isEmpty else { return nil }
    detector = DrivingEventDetector(
      limits: configuration.events.limits, kinds: configuration.events.kinds)
  }

  /// Adopts the settings of the context. With other limits or events, detection restarts, and its numbers continue.
  mutating func isRetained(from old: PipelineConfiguration, _ context: inout PipelineContext) -> Bool {
    let new = context.configuration.events
    if new != old.events {
      var next = DrivingEventDetector(limits: new.limits, kinds: new.kinds)
      next.goOn(from: detector)
      (detector, regionsRevision) = (next, nil)
    }
    return !new.kinds.isEmpty
  }

  // MARK: Inputs

  mutating func process(_ step: inout ScanStep, _ context: inout PipelineContext) {
    context.drivingEvents += detector.process(step.scan, step.estimate)
  }

  /// Processes a report of the receiver, before navigation processes it.
  mutating func process(_ step: inout FixStep, _ context: inout PipelineContext) {
    let fix = step.timely
    let isPlausible =
      step.locations.last.map { $0.timestamp == step.fix.timestamp && $0.suspicion == nil } ?? false
    if let speed = fix.speed, fix.mode != .noFix { observe(speed: speed, at: fix.timestamp) }
    context.drivingEvents += detector.process(
      fix, step.estimate, isPlausible: isPlausible || !context.configuration.location.isEnabled)
  }

  private mutating func observe(speed: Double, at timestamp: Timestamp) {
    (moved, moving) = (timestamp, speed > Self.slowest)
  }

  private func isMoving(at timestamp: Timestamp) -> Bool {
    moving && moved.map { timestamp.seconds(since: $0) <= Self.longestSpeed } ?? false
  }

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    for speed in step.speeds {
      if speed.speed.isFinite { observe(speed: speed.speed, at: speed.timestamp) }
      context.drivingEvents += detector.process(speed)
    }
    for reading in step.readings {
      switch (reading.path, reading.value) {
      case (Self.state, .text(let state)?):
        observe(state: state, isMoving: isMoving(at: reading.timestamp))
      case (Self.state, nil): ignition = nil
      case (Self.running, .flag(let isRunning)?): isEngineRunning = isRunning
      case (Self.revolutions, .number(let speed)?):
        (isEngineRunning, revolving) = (speed >= Self.slowestEngine, reading.timestamp)
      case (Self.voltage, .number(let voltage)?):
        context.drivingEvents += detector.observe(voltage: voltage, at: reading.timestamp)
        continue
      default: continue
      }
      context.drivingEvents += detector.observe(
        ignition: ignition, isEngineRunning: isEngineRunning, at: reading.timestamp)
    }
  }

  private mutating func observe(state: String, isMoving: Bool) {
    switch state {
    case "ON", "START": ignition = true
    // In motion, `OFF` means that the CAN bus was disconnected: its silence is reported as `OFF`. Ignition
    // and engine are then unknown.
    case "OFF", "LOCK":
      (ignition, isEngineRunning, revolving) = isMoving ? (nil, nil, nil) : (false, false, nil)
    // In other states, such as the accessory position, the driver may be waiting, and the bus may not report
    // the engine.
    default: ignition = nil
    }
  }

  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    context.drivingEvents += detector.observe(isStanding: change.isAtRest, at: change.timestamp)
  }

  /// Processes the state of the power supply in the environment.
  mutating func observeEnvironment(_ context: inout PipelineContext) {
    guard let device = context.environment.device else { return }
    context.drivingEvents += detector.observe(hasExternalPower: device.externalPower, at: context.now)
  }

  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    if let limits = context.speedLimits, limits.revision != regionsRevision {
      regionsRevision = limits.revision
      context.drivingEvents += detector.observe(regionLimits: limits.limits, at: timestamp)
    }
    if let revolving, timestamp.seconds(since: revolving) > Self.longestSilence {
      (isEngineRunning, self.revolving) = (nil, nil)
      context.drivingEvents += detector.observe(ignition: ignition, isEngineRunning: nil, at: timestamp)
    }
    context.drivingEvents += detector.advance(to: timestamp)
  }

  /// Ends events in progress, because they cannot be observed any more.
  mutating func finish(_ context: inout PipelineContext) {
    context.drivingEvents += detector.finish(at: context.now)
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? { detector.nextDeadline }

  // MARK: Outputs

  /// Returns the message about an event.
  static func message(
    _ event: DrivingEvent, _ journal: JournalNumber, _ context: PipelineContext
  ) -> DrivingEventMessage {
    let place = shownPlace(of: event, context)
    // If the exact position must not be published, the exact speed must not be either, because it narrows
    // down the position.
    let isExact = place != nil && place?.coordinate == event.coordinate
    return DrivingEventMessage(
      time: context.timeBase.utc(at: event.start), event: DrivingEventMessage.Kind(name: event.kind.rawValue),
      journal: journal, isOngoing: event.isOngoing,
      coordinate: place?.shownCoordinate, horizontalAccuracy: place?.horizontalAccuracy,
      speed: isExact ? event.speed : nil,
      peak: isExact || event.kind != .overSpeed ? wire(event.peak, event.kind) : nil,
      limit: wire(event.limit, event.kind), duration: event.duration,
      severity: DrivingEventMessage.Severity(rawValue: event.severity.rawValue) ?? .low,
      confidence: event.confidence, region: event.region)
  }

  /// Returns the position of an event as far as privacy permits; nil if it is private or unknown.
  private static func shownPlace(of event: DrivingEvent, _ context: PipelineContext) -> ShownLocation? {
    guard context.configuration.location.isEnabled, !context.isReduced, let coordinate = event.coordinate
    else { return nil }
    return context.shown(Location(timestamp: event.start, coordinate: coordinate))
  }

  /// Converts a peak or limit to the unit of the message; nil for kinds of events that have neither.
  private static func wire(_ value: Double, _ kind: DrivingEvent.Kind) -> Double? {
    switch kind {
    case .tilt: value.radians
    case .unplugged, .idling: nil
    default: value
    }
  }
}

extension PipelineConfiguration {
  /// The enabled driving events and their limits.
  package struct Events: Sendable, Hashable {
    package var kinds: Set<DrivingEvent.Kind>
    package var limits: DrivingEventLimits

    package init(
      kinds: Set<DrivingEvent.Kind> = Set(DrivingEvent.Kind.allCases),
      limits: DrivingEventLimits = DrivingEventLimits()
    ) {
      (self.kinds, self.limits) = (kinds, limits)
    }
  }
}
