internal import Motion
internal import Sensors
internal import Spatial
internal import Telemetry

/// Watches the samples for what a `motion` message tells: shakes, blows, changes of orientation, rest and movement.
struct MotionEvents: Sendable {
  private let enabled: Set<PipelineConfiguration.Motion.Event>
  private var shakes = ShakeDetector()
  private var impacts = ImpactDetector()
  private var orientation = OrientationDetector()
  /// The one detector of rest, whichever events are enabled.
  private var stationary = StationaryDetector()

  init(_ enabled: Set<PipelineConfiguration.Motion.Event>) { self.enabled = enabled }

  /// Goes on with other events enabled: whether the vehicle rests stays known.
  func reconfigured(_ enabled: Set<PipelineConfiguration.Motion.Event>) -> MotionEvents {
    guard enabled != self.enabled else { return self }
    var next = MotionEvents(enabled)
    next.stationary = stationary
    return next
  }

  /// The accelerometer has fallen silent: nobody sees the end of a rest.
  mutating func forgetActivity() { stationary = StationaryDetector() }

  /// Whether the vehicle stands or moves, and since when; nil until that is known.
  var activity: StationaryDetector.State? { stationary.state }
  var activitySince: Timestamp? { stationary.since }

  typealias Event = (timestamp: Timestamp, event: MotionMessage.Event)

  /// - Parameters:
  ///   - scan: as it was admitted.
  ///   - gravity: g, device frame, from the newest motion; nil while it is not known.
  mutating func process(_ scan: InertialScan, gravity: Vector3?) -> [Event] {
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
    if !enabled.contains(.activity) {
      events.removeAll { if case .activity = $0.event { true } else { false } }
    }
    return events
  }

  private mutating func watch(_ sample: AccelerometerData, _ gravity: Vector3, into events: inout [Event]) {
    let user = sample.acceleration - gravity
    if enabled.contains(.shake) {
      for event in shakes.process(userAcceleration: user, at: sample.timestamp) {
        events.append((event.timestamp, .shake(Self.phase(of: event))))
      }
    }
    if enabled.contains(.impact), let impact = impacts.process(userAcceleration: user, at: sample.timestamp) {
      events.append(
        (impact.timestamp, .impact(side: impact.side, peak: impact.peak, direction: impact.direction)))
    }
    if enabled.contains(.orientation), let new = orientation.process(gravity: gravity, at: sample.timestamp) {
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
