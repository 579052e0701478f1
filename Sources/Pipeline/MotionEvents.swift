internal import Motion
internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// Detects the events of `motion` messages: shakes, impacts, changes of orientation, rest and motion.
struct MotionEvents: Sendable {
  private let settings: PipelineConfiguration.Motion
  private var shakes: ShakeDetector
  private var impacts: ImpactDetector
  private var orientations: OrientationDetector
  /// Detector of rest, which always runs, even if no rest or motion events are enabled.
  private var stationary = StationaryDetector()

  init(_ settings: PipelineConfiguration.Motion) {
    self.settings = settings
    shakes = ShakeDetector(settings: settings.shake)
    impacts = ImpactDetector(settings: settings.impact)
    orientations = OrientationDetector(settings: settings.orientation)
  }

  /// Returns a copy with other settings. The state of rest or motion is retained, and detectors with
  /// unchanged settings continue.
  func reconfigured(_ new: PipelineConfiguration.Motion) -> MotionEvents {
    var next = MotionEvents(new)
    next.stationary = stationary
    if new.orientation == settings.orientation { next.orientations = orientations }
    guard new.events == settings.events else { return next }
    if new.shake == settings.shake { next.shakes = shakes }
    if new.impact == settings.impact { next.impacts = impacts }
    return next
  }

  /// Resets the detector of rest, because the accelerometer became silent.
  mutating func forgetActivity() { stationary = StationaryDetector() }

  /// State of rest or motion; nil if unknown.
  var activity: StationaryDetector.State? { stationary.state }
  var activitySince: Timestamp? { stationary.since }

  /// Orientation of the device, which need not be published; nil if unknown.
  var orientation: DeviceOrientation? { orientations.orientation }

  /// Processes the speed in a receiver's report.
  mutating func observe(_ fix: PositionFix) {
    guard let speed = fix.speed else { return }
    stationary.observe(
      speed: speed, accuracy: AccuracyModel.deviation(fix.speedError), at: fix.timestamp)
  }

  /// Processes a wheel speed; returns the events that it causes.
  mutating func observe(_ wheels: WheelSpeed) -> [Event] {
    guard let state = stationary.observe(wheelSpeed: wheels.speed, at: wheels.timestamp),
      settings.events.contains(.activity)
    else { return [] }
    return [(wheels.timestamp, .activity(state))]
  }

  /// Returns whether the receiver or the wheels have recently reported motion; this overrules rest by the
  /// accelerometer.
  func isRestContradicted(at timestamp: Timestamp) -> Bool { stationary.isContradicted(at: timestamp) }

  /// Gravity at the time of a scan.
  struct Gravity {
    /// Direction of gravity in g, in the axes of the device.
    var device: Vector3
    /// Rotation from the device's axes to the vehicle's; nil if they coincide.
    var leveling: Quaternion?

    /// Direction of gravity in g, in the axes of the vehicle.
    var vehicle: Vector3 { leveling?.rotate(device) ?? device }
  }

  typealias Event = (timestamp: Timestamp, event: MotionMessage.Event)

  /// - Parameters:
  ///   - scan: a valid scan, in order of time.
  ///   - gravity: gravity at the time of the scan; nil if unknown.
  mutating func process(_ scan: InertialScan, _ gravity: Gravity?) -> [Event] {
    let timestamp = scan.timestamp
    var events: [Event] = []
    if let sample = AccelerometerData(scan) {
      if let state = stationary.process(acceleration: sample.acceleration, at: timestamp) {
        events.append((timestamp, .activity(state)))
      }
      if let gravity { watch(sample, gravity, into: &events) }
    }
    if let rate = scan.rotationRate, let state = stationary.process(rotationRate: rate, at: timestamp) {
      events.append((timestamp, .activity(state)))
    }
    if !settings.events.contains(.activity) {
      events.removeAll { if case .activity = $0.event { true } else { false } }
    }
    return events
  }

  private mutating func watch(_ sample: AccelerometerData, _ gravity: Gravity, into events: inout [Event]) {
    let acceleration = gravity.leveling?.rotate(sample.acceleration) ?? sample.acceleration
    let down = gravity.vehicle
    let user = acceleration - down
    if settings.events.contains(.shake) {
      for event in shakes.process(userAcceleration: user, gravity: down, at: sample.timestamp) {
        events.append((event.timestamp, .shake(Self.phase(of: event), axis: event.axis)))
      }
    }
    if settings.events.contains(.impact),
      let impact = impacts.process(userAcceleration: user, at: sample.timestamp)
    {
      events.append(
        (impact.timestamp, .impact(side: impact.side, peak: impact.peak, direction: impact.direction)))
    }
    if let new = orientations.process(gravity: gravity.device, at: sample.timestamp),
      settings.events.contains(.orientation)
    {
      events.append((sample.timestamp, .orientation(new)))
    }
  }

  private static func phase(of event: ShakeDetector.Event) -> MotionMessage.ShakePhase {
    switch event {
    case .began: .began
    case .ended: .ended
    case .cancelled: .cancelled
    }
  }
}
