package import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The driving events' part of the pipeline: creates `driving/event` messages from scans, fixes, CAN signals
/// and the power supply.
struct DrivingEventReports: Sendable {
  private var detector: DrivingEventDetector
  private let settings: PipelineConfiguration.Events
  /// Last state of ignition and engine according to the CAN bus; nil if unknown.
  private var (ignition, isEngineRunning) = (Bool?.none, Bool?.none)
  /// Time of the last reading of the engine speed; nil if there is none.
  private var revolving: Timestamp?
  /// Time of the last speed reading; nil if there was none.
  private var moved: Timestamp?
  /// True if the vehicle was in motion at the last speed reading.
  private var moving = false
  /// Events not published yet, in order.
  private var pending: [DrivingEvent] = []
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
    settings = configuration.events
    detector = DrivingEventDetector(limits: settings.limits, kinds: settings.kinds)
  }

  /// Returns a copy with the same state and another configuration. With other limits or events, detection
  /// restarts, and its numbers continue.
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

  // MARK: Inputs

  /// Processes a scan.
  ///
  /// - Parameter estimate: the navigation estimate that includes the scan; nil if there is none.
  mutating func process(_ scan: InertialScan, _ estimate: NavigationEstimate?) {
    pending += detector.process(scan, estimate)
  }

  /// Processes a report of the receiver, before navigation processes it.
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
    // In motion, `OFF` means that the CAN bus was disconnected: its silence is reported as `OFF`. Ignition
    // and engine are then unknown.
    case "OFF", "LOCK":
      (ignition, isEngineRunning, revolving) = isMoving ? (nil, nil, nil) : (false, false, nil)
    // In other states, such as the accessory position, the driver may be waiting, and the bus may not report
    // the engine.
    default: ignition = nil
    }
  }

  /// - Parameter isStanding: true if the accelerometer reports rest; nil if unknown.
  mutating func observe(isStanding: Bool?, at timestamp: Timestamp) {
    pending += detector.observe(isStanding: isStanding, at: timestamp)
  }

  mutating func observe(_ device: DeviceHealth?, at timestamp: Timestamp) {
    guard let device else { return }
    pending += detector.observe(hasExternalPower: device.externalPower, at: timestamp)
  }

  /// Updates the speed limits of the regions in which the vehicle is.
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

  /// The next time at which `advance` must be called if no event arrives earlier.
  var nextDeadline: Timestamp? { detector.nextDeadline }

  // MARK: Outputs

  /// True if events wait to be published.
  var hasPending: Bool { !pending.isEmpty }

  /// Removes and returns unpublished events, in order.
  mutating func drain() -> [DrivingEvent] {
    defer { pending.removeAll(keepingCapacity: true) }
    return pending
  }

  /// Returns the message about an event.
  ///
  /// - Parameter place: position of the event as far as privacy permits; nil for none.
  static func message(
    _ event: DrivingEvent, _ journal: JournalNumber, place: Location?, _ timeBase: TimeBase
  ) -> DrivingEventMessage {
    // If the exact position must not be published, the exact speed must not be either, because it narrows
    // down the position.
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

    package init(kinds: Set<DrivingEvent.Kind> = [], limits: DrivingEventLimits = DrivingEventLimits()) {
      (self.kinds, self.limits) = (kinds, limits)
    }
  }
}
