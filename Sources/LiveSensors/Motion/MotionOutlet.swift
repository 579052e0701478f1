public import Motion
internal import Sensors
public import Spatial

/// Delivers samples to one consumer at the interval that this consumer requested.
struct MotionOutlet<Sample: Sendable>: Sendable {
  let consumer: Int
  /// Interval in s between delivered samples; nil delivers every sample.
  private let interval: Double?
  private let outlet: SampleOutlet<Sample>
  private var next: Timestamp?

  init(_ outlet: SampleOutlet<Sample>, as consumer: Int, interval: Double?) {
    (self.outlet, self.consumer, self.interval) = (outlet, consumer, interval)
  }

  var finish: @Sendable () -> Void { outlet.finish }

  mutating func offer(_ sample: Sample, at timestamp: Timestamp) {
    if let interval {
      // Samples are due on a fixed time grid that does not drift. A sample may be early by a twentieth of the
      // interval. If timestamps go back, a new grid starts.
      if let next, timestamp < next.advanced(bySeconds: -interval / 20),
        timestamp > next.advanced(bySeconds: -2 * interval)
      {
        return
      }
      let following = (next ?? timestamp).advanced(bySeconds: interval)
      next = following > timestamp ? following : timestamp.advanced(bySeconds: interval)
    }
    outlet.push(sample)
  }
}

extension Array {
  mutating func offer<Sample>(_ sample: Sample, at timestamp: Timestamp)
  where Element == MotionOutlet<Sample> {
    for index in indices { self[index].offer(sample, at: timestamp) }
  }
}

/// A detector of one consumer: device motion in, events out.
protocol MotionDetector<Event>: Sendable {
  associatedtype Event: Sendable

  /// - Parameter gravity: direction of gravity in g, in the axes of the device; nil if the gravity of `motion` is of
  ///   another time than its force. `motion` may be in the axes of the vehicle.
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) -> [Event]
}

extension ShakeDetector: MotionDetector {
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) -> [Event] {
    guard gravity != nil else { return [] }
    return process(userAcceleration: motion.userAcceleration, gravity: motion.gravity, at: motion.timestamp)
  }
}

extension ImpactDetector: MotionDetector {
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) -> [Impact] {
    guard gravity != nil else { return [] }
    return process(userAcceleration: motion.userAcceleration, at: motion.timestamp).map { [$0] } ?? []
  }
}

extension OrientationDetector: MotionDetector {
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) -> [DeviceOrientation] {
    guard let gravity else { return [] }
    return process(gravity: gravity, at: motion.timestamp).map { [$0] } ?? []
  }
}

/// Rest or motion of the device. The corresponding type of Core Motion is `CMMotionActivity`.
public struct MotionActivity: Hashable, Sendable {
  public var state: StationaryDetector.State
  /// Start of the rest or of the motion, on the device's clock.
  public var startDate: Timestamp

  public init(state: StationaryDetector.State, startDate: Timestamp) {
    (self.state, self.startDate) = (state, startDate)
  }
}

extension StationaryDetector: MotionDetector {
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) -> [MotionActivity] {
    let acceleration = motion.gravity + motion.userAcceleration
    var new = process(acceleration: acceleration, at: motion.timestamp)
    if let rate = motion.rotationRate { new = process(rotationRate: rate, at: motion.timestamp) ?? new }
    return new.map { [MotionActivity(state: $0, startDate: since ?? motion.timestamp)] } ?? []
  }
}

/// A detector and the outlet of its consumer.
protocol DetectorOutlet: Sendable {
  var consumer: Int { get }
  var finish: @Sendable () -> Void { get }
  mutating func process(_ motion: DeviceMotion, gravity: Vector3?)
}

struct TypedDetectorOutlet<Detector: MotionDetector>: DetectorOutlet {
  let consumer: Int
  let outlet: SampleOutlet<Detector.Event>
  var detector: Detector

  var finish: @Sendable () -> Void { outlet.finish }

  mutating func process(_ motion: DeviceMotion, gravity: Vector3?) {
    for event in detector.process(motion, gravity: gravity) { outlet.push(event) }
  }
}
