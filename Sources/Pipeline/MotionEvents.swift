internal import Motion
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
  /// Detector of rest, independent of the enabled events.
  private var stationary = StationaryDetector()

  init(_ settings: PipelineConfiguration.Motion) {
    self.settings = settings
    shakes = ShakeDetector(settings: settings.shake)
    impacts = ImpactDetector(settings: settings.impact)
    orientations = OrientationDetector(settings: settings.orientation)
  }

  /// Returns the state with other settings: rest or motion remains known, and unchanged detectors continue.
  func reconfigured(_ new: PipelineConfiguration.Motion) -> MotionEvents {
    var next = MotionEvents(new)
    next.stationary = stationary
    if new.orientation == settings.orientation { next.orientations = orientations }
    guard new.events == settings.events else { return next }
    if new.shake == settings.shake { next.shakes = shakes }
    if new.impact == settings.impact { next.impacts = impacts }
    return next
  }

  /// Resets the detector of rest after the accelerometer became silent.
  mutating func forgetActivity() { stationary = StationaryDetector() }

  /// Rest or motion, and since when; nil until known.
  var activity: StationaryDetector.State? { stationary.state }
  var activitySince: Timestamp? { stationary.since }

  /// Orientation of the device, whether published or not; nil until known.
  var orientation: DeviceOrientation? { orientations.orientation }

  /// Processes a receiver's speed.
  mutating func observe(_ fix: PositionFix) {
    guard let speed = fix.speed else { return }
    stationary.observe(
      speed: speed, accuracy: AccuracyModel.deviation(fix.speedError), at: fix.timestamp)
  }

  /// Returns whether a receiver has recently reported motion, regardless of the sensors.
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
