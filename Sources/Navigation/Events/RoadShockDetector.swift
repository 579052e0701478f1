internal import Glibc
internal import Sensors
internal import Spatial

/// Tells blows of the road: holes and joints, and kerbs.
///
/// A blow is a force out of the vehicle's plane, without what lasts longer than half a second, that reaches a limit which grows with speed
/// and stands out of the road's own shaking. Both axles over one edge are one blow. It is a kerb where it was slow and the vehicle leans afterwards,
/// or where it came from the side.
struct RoadShockDetector: Sendable {
  /// Hz below which a blow of 50 ms falls between the samples.
  private static let lowestRate = 40.0
  /// m/s: what is slower is doors and loads; up to the second it may be a kerb (30 km/h).
  private static let (slowest, fastestKerb) = (1.5, 8.3)
  /// m/s at which the limit is that of the settings; above it grows with the speed as a wheel's blow does, within these factors.
  private static let (reference, leastFactor, greatestFactor) = (10.0, 1.0, 2.0)
  /// Times the road's own root mean square that a blow must have. A road's shaking is all but normal (ISO 8608): 6.5 deviations
  /// come once in years.
  private static let standsOut = 6.5
  /// m/s²: what a road shakes by at the least for that: ISO 8608 class A.
  private static let leastShaking = 0.3
  /// s over which it is learned.
  private static let memory = 4.0
  /// s that the force is averaged for what lasts, and the way of a blow is followed.
  private static let (lasting, blow) = (0.5, 0.25)
  /// m between axles, at the most; s that a blow is waited for the other axle at the least.
  private static let (wheelbase, leastPause) = (4.0, 1.0)
  /// rad of lean left after a kerb: an edge of 8 cm under one side of 1.5 m is 3°, under an axle of 2.7 m 1.7°.
  private static let lean = 1.5 * Double.pi / 180
  /// Share of the force out of the plane that one from the side must have.
  private static let sideways = 0.7

  private struct Blow {
    var start: Timestamp
    var last: Timestamp
    var peak: Double
    /// m/s² to the side.
    var side: Double
    var limit: Double
    var shaking: Double
    var speed: Double
    var coordinate: Coordinate?
    /// rad: about right and forward since just before.
    var lean = SIMD2(0.0, 0)
  }

  private let limits: DrivingEventLimits
  private var mean = Vector3.zero
  private var power = 0.0
  private var previous: Timestamp?
  /// s between samples.
  private var interval = 0.0
  private var seconds = 0.0
  private var open: Blow?

  init(limits: DrivingEventLimits) { self.limits = limits }

  /// Forgets what it has seen: nothing is known of the mounting, or samples were missing.
  mutating func interrupt() { self = RoadShockDetector(limits: limits) }

  /// What of navigation a blow is told with.
  struct Situation {
    /// From the device to right, forward, up of the vehicle.
    var mounting: Quaternion
    /// m/s over ground.
    var speed: Double
    var coordinate: Coordinate
    /// rad/s, device frame.
    var gyroscopeBias: Vector3

    init(_ estimate: NavigationEstimate) {
      (mounting, speed) = (estimate.mounting, estimate.speed)
      (coordinate, gyroscopeBias) = (estimate.coordinate, estimate.gyroscopeBias)
    }
  }

  mutating func process(_ scan: InertialScan, _ situation: Situation) -> DrivingEvent? {
    guard let force = scan.specificForce, force.isFinite else { return nil }
    let vehicle = situation.mounting.rotate(force)
    guard let previous, case let step = scan.timestamp.seconds(since: previous), step < 0.5 else {
      let told = open.flatMap { event($0) }
      interrupt()
      (self.previous, mean) = (scan.timestamp, vehicle)
      return told
    }
    guard step > 0 else { return nil }
    self.previous = scan.timestamp
    interval += min(1, step / Self.memory) * (step - interval)
    seconds += step
    mean += min(1, step / Self.lasting) * (vehicle - mean)
    let quick = vehicle - mean
    let size = abs(quick.z)
    let shaking = max(Self.leastShaking, power.squareRoot())
    // A blow is not the road: it counts for no more than three deviations.
    let counted = min(size, 3 * shaking)
    power += min(1, step / Self.memory) * (counted * counted - power)
    let rate = scan.rotationRate.map { situation.mounting.rotate($0 - situation.gyroscopeBias) }
    return follow(quick, rate ?? .zero, step, at: scan.timestamp, situation, shaking: shaking)
  }

  private mutating func follow(
    _ quick: Vector3, _ rate: Vector3, _ step: Double, at timestamp: Timestamp, _ situation: Situation,
    shaking: Double
  ) -> DrivingEvent? {
    let speed = situation.speed
    let factor = min(Self.greatestFactor, max(Self.leastFactor, speed / Self.reference))
    let base = speed <= Self.fastestKerb ? min(limits.kerb, limits.pothole) : limits.pothole
    let needed = max(base * factor, Self.standsOut * shaking)
    let side = abs(quick.x)
    let isLoud = abs(quick.z) >= needed || side >= needed && speed <= Self.fastestKerb
    if var blow = open {
      blow.lean += step * SIMD2(rate.x, rate.y)
      let age = timestamp.seconds(since: blow.last)
      if isLoud || age <= Self.blow {
        if isLoud { blow.last = timestamp }
        blow.peak = max(blow.peak, abs(quick.z), side)
        blow.side = max(blow.side, side)
      }
      open = blow
      guard age > max(Self.leastPause, Self.wheelbase / max(blow.speed, Self.slowest)) else { return nil }
      open = nil
      return event(blow)
    }
    guard isLoud, speed >= Self.slowest, seconds > 3 * Self.memory, interval < 1 / Self.lowestRate else {
      return nil
    }
    open = Blow(
      start: timestamp, last: timestamp, peak: max(abs(quick.z), side), side: side, limit: base * factor,
      shaking: shaking, speed: speed, coordinate: situation.coordinate,
      lean: step * SIMD2(rate.x, rate.y))
    return nil
  }

  /// Nil for a blow that is neither: a slow one that leaves no lean and stays below what a hole has.
  private func event(_ blow: Blow) -> DrivingEvent? {
    let leant = (blow.lean * blow.lean).sum().squareRoot()
    let isSlow = blow.speed <= Self.fastestKerb
    let isKerb = isSlow && (leant >= Self.lean || blow.side >= Self.sideways * blow.peak)
    let factor = min(Self.greatestFactor, max(Self.leastFactor, blow.speed / Self.reference))
    let limit = (isKerb ? limits.kerb : limits.pothole) * factor
    guard blow.peak >= limit else { return nil }
    // One chance that it is none of the road's shaking, and one that it passed its limit; a device in a loose holder errs by a quarter.
    let certainty =
      min(1, blow.peak / (2 * Self.standsOut * blow.shaking) + 0.5)
      * chance(blow.peak - limit, deviation: 0.25 * limit)
    return DrivingEvent(
      isKerb ? .kerb : .pothole, start: blow.start, duration: blow.last.seconds(since: blow.start),
      peak: blow.peak, limit: limit, severity: DrivingEvent.Severity(ratio: blow.peak / limit),
      confidence: certainty, coordinate: blow.coordinate, speed: blow.speed)
  }
}
