internal import Glibc
internal import Sensors
internal import Spatial

/// A detector of road impacts: potholes, joints and kerbs.
///
/// An impact is a force out of the vehicle's plane, without components that last longer than half a second.
/// It must reach a limit that grows with speed, and exceed the road's vibration. The impacts of both axles on
/// one edge count as one. An impact counts as a kerb if it occurred at low speed and left the vehicle
/// leaning, or if it came from the side.
struct RoadShockDetector: Sendable {
  /// The minimum sample rate in Hz; at lower rates an impact of 50 ms falls between samples.
  private static let lowestRate = 40.0
  /// Speeds in m/s. Impacts below `slowest` come from doors and loads. Up to `fastestKerb` (30 km/h), an
  /// impact can be a kerb.
  private static let (slowest, fastestKerb) = (1.5, 8.3)
  /// The speed in m/s at which the configured limit applies. The limit is proportional to the speed, like the
  /// impact on a wheel, and restricted to the range between these two factors.
  private static let (reference, leastFactor, greatestFactor) = (10.0, 1.0, 2.0)
  /// The minimum ratio of an impact to the root mean square of the road's vibration. Vibration is almost
  /// normal (ISO 8608), so noise of 6.5 standard deviations occurs once in years.
  private static let standsOut = 6.5
  /// The assumed minimum vibration in m/s²: ISO 8608 class A.
  private static let leastShaking = 0.3
  /// The time constant of the vibration estimate in s.
  private static let memory = 4.0
  /// The averaging time in s of lasting forces, which are not impacts (`lasting`), and the time in s for
  /// which an impact is tracked (`blow`).
  private static let (lasting, blow) = (0.5, 0.25)
  /// The largest wheelbase in m, which determines how long to wait for the second axle, and the minimum of
  /// that time in s.
  private static let (wheelbase, leastPause) = (4.0, 1.0)
  /// The minimum lean in rad that remains after a kerb. An edge of 8 cm under one wheel causes 3° at a track
  /// width of 1.5 m; under an axle it causes 1.7° at a wheelbase of 2.7 m.
  private static let lean = 1.5 * Double.pi / 180
  /// The minimum ratio of the lateral force of a side impact to the vertical force.
  private static let sideways = 0.7

  private struct Shock {
    var start: Timestamp
    var last: Timestamp
    var peak: Double
    /// The lateral force, m/s².
    var side: Double
    var limit: Double
    var shaking: Double
    var speed: Double
    var coordinate: Coordinate?
    /// The rotation in rad about right and forward since just before the impact.
    var lean = SIMD2(0.0, 0)
  }

  private let limits: DrivingEventLimits
  private var mean = Vector3.zero
  private var power = 0.0
  private var previous: Timestamp?
  /// The sample interval in s.
  private var interval = 0.0
  private var seconds = 0.0
  private var open: Shock?

  init(limits: DrivingEventLimits) { self.limits = limits }

  /// Resets the detector, because the mounting is unknown or samples were missing.
  mutating func interrupt() { self = RoadShockDetector(limits: limits) }

  /// The navigation data that an event of an impact contains or requires.
  struct Situation {
    /// The rotation from the device to right, forward, up of the vehicle.
    var mounting: Quaternion
    /// The ground speed in m/s.
    var speed: Double
    var coordinate: Coordinate
    /// The gyroscope bias in the device frame, rad/s.
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
    // An impact is not part of the vibration, so it enters the estimate with at most three standard
    // deviations.
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
    open = Shock(
      start: timestamp, last: timestamp, peak: max(abs(quick.z), side), side: side, limit: base * factor,
      shaking: shaking, speed: speed, coordinate: situation.coordinate,
      lean: step * SIMD2(rate.x, rate.y))
    return nil
  }

  /// Returns the event of an impact; nil if the impact left no lean and is below the limit of a pothole.
  private func event(_ blow: Shock) -> DrivingEvent? {
    let leant = (blow.lean * blow.lean).sum().squareRoot()
    let isSlow = blow.speed <= Self.fastestKerb
    let isKerb = isSlow && (leant >= Self.lean || blow.side >= Self.sideways * blow.peak)
    let factor = min(Self.greatestFactor, max(Self.leastFactor, blow.speed / Self.reference))
    let limit = (isKerb ? limits.kerb : limits.pothole) * factor
    guard blow.peak >= limit else { return nil }
    // Two probabilities are multiplied: that the impact is not vibration, and that it exceeded its limit. A
    // device in a loose holder has an error of a quarter.
    let certainty =
      min(1, blow.peak / (2 * Self.standsOut * blow.shaking) + 0.5)
      * chance(blow.peak - limit, deviation: 0.25 * limit)
    return DrivingEvent(
      isKerb ? .kerb : .pothole, start: blow.start, duration: blow.last.seconds(since: blow.start),
      peak: blow.peak, limit: limit, severity: DrivingEvent.Severity(ratio: blow.peak / limit),
      confidence: certainty, coordinate: blow.coordinate, speed: blow.speed)
  }
}
