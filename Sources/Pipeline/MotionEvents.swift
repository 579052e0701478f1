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
  private var stationary = StationaryDetector()
  private let watchesActivity: Bool

  /// - Parameter watchesActivity: whether `activity` is wanted, told or not.
  init(_ enabled: Set<PipelineConfiguration.Motion.Event>, watchesActivity: Bool = false) {
    self.enabled = enabled
    self.watchesActivity = watchesActivity || enabled.contains(.activity)
  }

  /// Whether the vehicle stands or moves; nil until that is known.
  var activity: StationaryDetector.State? { stationary.state }

  typealias Event = (timestamp: Timestamp, event: MotionMessage.Event)

  /// - Parameter gravity: g, device frame, from the newest motion; nil while it is not known.
  mutating func process(_ block: [AccelerometerData], gravity: Vector3?) -> [Event] {
    guard !enabled.isEmpty || watchesActivity else { return [] }
    var events: [Event] = []
    for sample in block {
      let timestamp = sample.timestamp
      if watchesActivity, let state = stationary.process(acceleration: sample.acceleration, at: timestamp),
        enabled.contains(.activity)
      {
        events.append((timestamp, .activity(state)))
      }
      guard let gravity else { continue }
      let user = sample.acceleration - gravity
      if enabled.contains(.shake) {
        for event in shakes.process(userAcceleration: user, at: timestamp) {
          events.append((event.timestamp, .shake(Self.phase(of: event))))
        }
      }
      if enabled.contains(.impact), let impact = impacts.process(userAcceleration: user, at: timestamp) {
        events.append(
          (impact.timestamp, .impact(side: impact.side, peak: impact.peak, direction: impact.direction)))
      }
      if enabled.contains(.orientation), let new = orientation.process(gravity: gravity, at: timestamp) {
        events.append((timestamp, .orientation(new)))
      }
    }
    return events
  }

  mutating func process(_ block: [GyroData]) -> [Event] {
    guard watchesActivity else { return [] }
    return block.compactMap { sample in
      let state = stationary.process(rotationRate: sample.rotationRate, at: sample.timestamp)
      return enabled.contains(.activity) ? state.map { (sample.timestamp, .activity($0)) } : nil
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
