package import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The side of the pipeline that tells how the vehicle is driven and what is done to it: from scans, fixes, the vehicle's bus and the
/// computer's supply to `driving/event`.
struct DrivingEventReports: Sendable {
  private var detector: DrivingEventDetector
  private let settings: PipelineConfiguration.Events
  /// What the vehicle's bus said last.
  private var (ignition, isEngineRunning) = (Bool?.none, Bool?.none)
  /// When the engine last said how fast it turns.
  private var revolving: Timestamp?
  /// When a speed was last known, and whether the vehicle moved then.
  private var moved: Timestamp?
  private var moving = false
  /// Not told yet, in order.
  private var pending: [DrivingEvent] = []
  /// Of the regions' states when their limits were last looked at.
  private var regionsRevision: Int?

  /// The bus's names of what counts here.
  private static let state = "Vehicle.LowVoltageSystemState"
  private static let running = "Vehicle.Powertrain.CombustionEngine.IsRunning"
  private static let revolutions = "Vehicle.Powertrain.CombustionEngine.Speed"
  private static let voltage = "Vehicle.LowVoltageBattery.CurrentVoltage"
  /// Revolutions a minute of an engine that runs: no starter turns one as fast.
  private static let slowestEngine = 400.0

  /// s after which revolutions say nothing of now: diagnostic ones come every two seconds.
  private static let longestSilence = 10.0
  /// m/s from which the vehicle moves, and s for which a speed says so: that a bus is silent is found out after ten.
  private static let (slowest, longestSpeed) = (1.5, 15.0)

  /// Nil where nothing is wanted.
  init?(_ configuration: PipelineConfiguration) {
    guard !configuration.events.kinds.isEmpty else { return nil }
    settings = configuration.events
    detector = DrivingEventDetector(limits: settings.limits, kinds: settings.kinds)
  }

  /// Goes on under another configuration; with other limits it begins anew, but for its numbers.
  func reconfigured(_ new: PipelineConfiguration) -> DrivingEventReports? {
    guard new.events != settings, var next = DrivingEventReports(new) else {
      return new.events.kinds.isEmpty ? nil : self
    }
    next.detector.goOn(from: detector)
    (next.ignition, next.isEngineRunning) = (ignition, isEngineRunning)
    (next.revolving, next.moved, next.moving) = (revolving, moved, moving)
    next.pending = pending
    return next
  }

  // MARK: What goes in

  /// - Parameter estimate: of navigation after the scan.
  mutating func process(_ scan: InertialScan, _ estimate: NavigationEstimate?) {
    pending += detector.process(scan, estimate)
  }

  /// Processes a report of the receiver, before navigation does.
  mutating func process(_ fix: PositionFix, _ estimate: NavigationEstimate?, isPlausible: Bool) {
    if let speed = fix.speed, fix.mode != .noFix { observe(speed: speed, at: fix.timestamp) }
    pending += detector.process(fix, estimate, isPlausible: isPlausible)
  }

  private mutating func observe(speed: Double, at timestamp: Timestamp) {
    (moved, moving) = (timestamp, speed > Self.slowest)
  }

  private func isMoving(at timestamp: Timestamp) -> Bool {
    moving && moved.map { timestamp.seconds(since: $0) <= Self.longestSpeed } ?? false
  }

  mutating func process(_ readings: [VehicleReading], _ speeds: [WheelSpeed]) {
    for speed in speeds {
      if speed.speed.isFinite { observe(speed: speed.speed, at: speed.timestamp) }
      pending += detector.process(speed)
    }
    for reading in readings {
      switch (reading.path, reading.value) {
      case (Self.state, .text(let state)?):
        observe(state: state, isMoving: isMoving(at: reading.timestamp))
      case (Self.state, nil): ignition = nil
      case (Self.running, .flag(let isRunning)?): isEngineRunning = isRunning
      case (Self.revolutions, .number(let speed)?):
        (isEngineRunning, revolving) = (speed >= Self.slowestEngine, reading.timestamp)
      case (Self.voltage, .number(let voltage)?):
        pending += detector.observe(voltage: voltage, at: reading.timestamp)
        continue
      default: continue
      }
      pending += detector.observe(
        ignition: ignition, isEngineRunning: isEngineRunning, at: reading.timestamp)
    }
  }

  private mutating func observe(state: String, isMoving: Bool) {
    switch state {
    case "ON", "START": ignition = true
    // A bus that falls silent in motion is lost, and says nothing of the ignition or the engine.
    case "OFF", "LOCK":
      (ignition, isEngineRunning, revolving) = isMoving ? (nil, nil, nil) : (false, false, nil)
    // A driver may wait, and a bus that is awake may say nothing of its engine.
    default: ignition = nil
    }
  }

  /// - Parameter isStanding: by the accelerometer; nil where it does not say.
  mutating func observe(isStanding: Bool?, at timestamp: Timestamp) {
    pending += detector.observe(isStanding: isStanding, at: timestamp)
  }

  mutating func observe(_ device: DeviceHealth?, at timestamp: Timestamp) {
    guard let device else { return }
    pending += detector.observe(hasExternalPower: device.externalPower, at: timestamp)
  }

  /// Learns the limits of the regions that the vehicle is in.
  mutating func observe(_ regions: borrowing RegionMonitor, at timestamp: Timestamp) {
    guard regions.revision != regionsRevision else { return }
    regionsRevision = regions.revision
    pending += detector.observe(regionLimits: regions.speedLimits, at: timestamp)
  }

  mutating func advance(to timestamp: Timestamp) {
    if let revolving, timestamp.seconds(since: revolving) > Self.longestSilence {
      (isEngineRunning, self.revolving) = (nil, nil)
      pending += detector.observe(ignition: ignition, isEngineRunning: nil, at: timestamp)
    }
    pending += detector.advance(to: timestamp)
  }

  mutating func finish(at timestamp: Timestamp) { pending += detector.finish(at: timestamp) }

  /// When `advance` has something to do, if nothing comes before.
  var nextDeadline: Timestamp? { detector.nextDeadline }

  // MARK: What comes out

  /// Whether events wait to be published.
  var hasPending: Bool { !pending.isEmpty }

  /// What has not been told yet, in order, each once.
  mutating func drain() -> [DrivingEvent] {
    defer { pending.removeAll(keepingCapacity: true) }
    return pending
  }

  /// - Parameter place: where it was, as far as others may know; nil for nothing.
  static func message(
    _ event: DrivingEvent, _ journal: JournalNumber, place: Location?, _ timeBase: TimeBase
  ) -> DrivingEventMessage {
    // Where the place is nobody's business or only known to a cell, the speed says too much.
    let isExact = place != nil && place?.coordinate == event.coordinate
    return DrivingEventMessage(
      time: timeBase.utc(at: event.start), event: DrivingEventMessage.Kind(name: event.kind.rawValue),
      journal: journal, isOngoing: event.isOngoing,
      coordinate: place?.coordinate, horizontalAccuracy: place?.horizontalAccuracy,
      speed: isExact ? event.speed : nil,
      peak: isExact || event.kind != .overSpeed ? wire(event.peak, event.kind) : nil,
      limit: wire(event.limit, event.kind), duration: event.duration,
      severity: DrivingEventMessage.Severity(rawValue: event.severity.rawValue) ?? .low,
      confidence: event.confidence, region: event.region)
  }

  /// In the unit of the message; nil where there is nothing to measure.
  private static func wire(_ value: Double, _ kind: DrivingEvent.Kind) -> Double? {
    switch kind {
    case .tilt: value.radians
    case .unplugged, .idling: nil
    default: value
    }
  }
}

extension PipelineConfiguration {
  /// Which driving events are told, and from where on something is one.
  package struct Events: Sendable, Hashable {
    package var kinds: Set<DrivingEvent.Kind>
    package var limits: DrivingEventLimits

    package init(kinds: Set<DrivingEvent.Kind> = [], limits: DrivingEventLimits = DrivingEventLimits()) {
      (self.kinds, self.limits) = (kinds, limits)
    }
  }
}
