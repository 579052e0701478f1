internal import Glibc
public import Sensors
public import Spatial

/// Tells what a driver, a road or a thief did to the vehicle: `DrivingEvent`s, each once, those that last when they begin and when they
/// are over.
///
/// A value type without I/O; time comes in with the data. Scans, fixes and speeds are those that the `NavigationFilter` takes, in the
/// same order. What needs the vehicle's axes waits until navigation has found the mounting, and is dropped where that is contradicted.
public struct DrivingEventDetector: Sendable {
  public let limits: DrivingEventLimits
  /// What is told.
  public let kinds: Set<DrivingEvent.Kind>

  private var sampler = DrivingSampler()
  private var manoeuvres: ManoeuvreDetector
  private var shocks: RoadShockDetector
  private var situation: RoadShockDetector.Situation?
  private var speeding: SpeedLimitMonitor
  private var idling: IdlingMonitor
  private var parking = ParkingState()
  private var tilt: ParkedTiltMonitor
  private var tow: TowMonitor
  private var supply: SupplyMonitor
  private var contradiction: PositionContradiction

  /// Of the newest sample of navigation.
  private var sampled: Timestamp?
  private var place: Coordinate?
  private var count = 0
  /// The numbers of those that go on.
  private var ongoing: [DrivingEvent.Kind: Int] = [:]

  /// s without navigation's samples after which nobody waits for the end of a manoeuvre.
  private static let longestWait = 2.0

  public init(
    limits: DrivingEventLimits = DrivingEventLimits(),
    kinds: Set<DrivingEvent.Kind> = Set(DrivingEvent.Kind.allCases)
  ) {
    (self.limits, self.kinds) = (limits, kinds)
    manoeuvres = ManoeuvreDetector(limits: limits)
    shocks = RoadShockDetector(limits: limits)
    speeding = SpeedLimitMonitor(limits: limits)
    idling = IdlingMonitor(limit: limits.idling)
    tilt = ParkedTiltMonitor(limit: limits.tilt)
    tow = TowMonitor(limit: limits.tow)
    supply = SupplyMonitor(limit: limits.supply)
    contradiction = PositionContradiction(limit: limits.contradiction)
  }

  /// Whether mounting and tilt are known well enough to tell what needs the vehicle's axes.
  public var isMountingKnown: Bool { sampler.isBegun }

  // MARK: Inertial sensors

  /// Takes a scan after navigation has taken it. While the vehicle is parked one with a force is enough.
  /// - Parameter estimate: navigation's, which is asked for twenty times a second; nil where it knows nothing.
  public mutating func process(
    _ scan: InertialScan, _ estimate: @autoclosure () -> NavigationEstimate?
  ) -> [DrivingEvent] {
    var told: [DrivingEvent] = []
    let now = scan.timestamp
    if let force = scan.specificForce, let event = tilt.process(force: force, at: now) { told.append(event) }
    if sampled.map({ now.seconds(since: $0) >= DrivingSampler.interval - 1e-6 || now < $0 }) ?? true {
      sampled = now
      if let estimate = estimate() { told += follow(estimate) } else { interrupt() }
    }
    if let situation, let event = shocks.process(scan, situation) { told.append(event) }
    return numbered(told)
  }

  private mutating func follow(_ estimate: NavigationEstimate) -> [DrivingEvent] {
    place = estimate.coordinate
    // These need no mounting.
    var told = speeding.process(
      speed: estimate.speed, deviation: estimate.velocityDeviation, coordinate: place, at: estimate.timestamp)
    if let event = idling.observe(speed: estimate.speed, coordinate: place, at: estimate.timestamp) {
      told.append(event)
    }
    guard let sample = sampler.process(estimate) else {
      if !sampler.isBegun { interrupt() }
      return told
    }
    situation = RoadShockDetector.Situation(estimate)
    return told + manoeuvres.process(sample)
  }

  /// The mounting is not known, or not any more: what was begun by it is not told.
  private mutating func interrupt() {
    guard situation != nil || sampler.isBegun else { return }
    sampler.interrupt()
    manoeuvres.reset()
    shocks.interrupt()
    situation = nil
  }

  // MARK: Speeds and positions

  /// Takes a report of the receiver before navigation does.
  /// - Parameter estimate: navigation's; nil where it knows nothing.
  public mutating func process(_ fix: PositionFix, _ estimate: NavigationEstimate?) -> [DrivingEvent] {
    var told: [DrivingEvent] = []
    let now = fix.timestamp
    if let event = contradiction.process(fix, estimate) { told.append(event) }
    guard fix.mode != .noFix else { return numbered(told) }
    if let speed = fix.speed {
      manoeuvres.observe(speed: speed, at: now)
      told += park(at: now) { $0.observe(speed: speed) }
      if estimate == nil {
        let deviation = fix.speedError.map { $0 / 1.96 }
        told += speeding.process(speed: speed, deviation: deviation, coordinate: fix.coordinate, at: now)
        if let event = idling.observe(speed: speed, coordinate: fix.coordinate, at: now) {
          told.append(event)
        }
      }
    }
    if let coordinate = fix.coordinate {
      if estimate == nil { place = coordinate }
      // A radius that holds 95 % is 1.62 times that of 68 %.
      let accuracy = fix.horizontalError.map { $0 / 1.62 }
      if let event = tow.process(coordinate, accuracy: accuracy, speed: fix.speed, at: now) {
        told.append(event)
      }
    }
    return numbered(told)
  }

  /// Takes a speed of the wheels.
  public mutating func process(_ speed: WheelSpeed) -> [DrivingEvent] {
    guard speed.speed.isFinite, speed.speed >= 0 else { return [] }
    manoeuvres.observe(speed: speed.speed, at: speed.timestamp)
    contradiction.observe(wheelSpeed: speed.speed, at: speed.timestamp)
    return numbered(park(at: speed.timestamp) { $0.observe(speed: speed.speed) })
  }

  // MARK: The vehicle's own word

  /// Learns whether the ignition is on, and whether the engine runs; nil where the vehicle does not say.
  public mutating func observe(
    ignition: Bool?, isEngineRunning: Bool?, at timestamp: Timestamp
  ) -> [DrivingEvent] {
    var told = park(at: timestamp) {
      $0.observe(ignition: ignition)
      $0.observe(isEngineRunning: isEngineRunning)
    }
    if let event = idling.observe(isEngineRunning: isEngineRunning, at: timestamp) { told.append(event) }
    return numbered(told)
  }

  /// Learns whether the vehicle stands by its accelerometer; nil where that does not say.
  public mutating func observe(isStanding: Bool?, at timestamp: Timestamp) -> [DrivingEvent] {
    numbered(park(at: timestamp) { $0.observe(isStanding: isStanding, at: timestamp) })
  }

  /// Learns whether there is a supply from outside; nil where nobody says.
  public mutating func observe(hasExternalPower: Bool?, at timestamp: Timestamp) -> [DrivingEvent] {
    supply.place = place
    let event = supply.observe(hasExternalPower: hasExternalPower, at: timestamp)
    return numbered(event.map { [$0] } ?? [])
  }

  /// Learns the V of the vehicle's battery.
  public mutating func observe(voltage: Double, at timestamp: Timestamp) -> [DrivingEvent] {
    supply.place = place
    return numbered(supply.observe(voltage: voltage, at: timestamp).map { [$0] } ?? [])
  }

  /// Learns the limits of the regions that the vehicle is in, m/s, with their names.
  public mutating func observe(
    regionLimits: [(region: String, speed: Double)], at timestamp: Timestamp
  ) -> [DrivingEvent] {
    let limits = regionLimits.map { SpeedLimitMonitor.Limit(speed: $0.speed, region: $0.region) }
    return numbered(speeding.observe(limits, at: timestamp).map { [$0] } ?? [])
  }

  // MARK: Time

  /// Lets time pass without data.
  public mutating func advance(to timestamp: Timestamp) -> [DrivingEvent] {
    var told = park(at: timestamp) { $0.advance(to: timestamp) }
    if let sampled, situation != nil, timestamp.seconds(since: sampled) > Self.longestWait {
      told += manoeuvres.finish()
      interrupt()
    }
    if let event = idling.advance(to: timestamp) { told.append(event) }
    told += supply.advance(to: timestamp)
    return numbered(told)
  }

  /// Nobody looks any longer: what goes on is over, with what is known of it so far.
  public mutating func finish(at timestamp: Timestamp) -> [DrivingEvent] {
    var told = manoeuvres.finish()
    interrupt()
    let lasting = [
      speeding.finish(at: timestamp), idling.finish(at: timestamp), tilt.finish(at: timestamp),
      tow.finish(at: timestamp), contradiction.finish(at: timestamp),
    ]
    told += lasting.compactMap { $0 }
    told += supply.finish(at: timestamp)
    return numbered(told)
  }

  /// When `advance` may have something to say, if nothing comes before.
  public var nextDeadline: Timestamp? {
    let wait = situation == nil ? nil : sampled?.advanced(bySeconds: Self.longestWait + 0.001)
    return [wait, idling.nextDeadline, supply.nextDeadline, parking.nextDeadline].compactMap { $0 }.min()
  }

  private mutating func park(
    at now: Timestamp, _ change: (inout ParkingState) -> Void
  ) -> [DrivingEvent] {
    change(&parking)
    return [
      tilt.observe(isParked: parking.isParked, coordinate: place, at: now),
      tow.observe(isParked: parking.isLocked, at: now),
    ].compactMap { $0 }
  }

  // MARK: Telling

  /// Goes on where another has stopped that had other limits: with its numbers, so that none is given twice, and with what it knows of the
  /// ignition, the engine and the place, as a parked vehicle says nothing of them for days.
  public mutating func goOn(from other: DrivingEventDetector) {
    count = max(count, other.count)
    (parking, place) = (other.parking, other.place)
  }

  /// Gives numbers, and leaves out what is not wanted.
  private mutating func numbered(_ events: [DrivingEvent]) -> [DrivingEvent] {
    events.compactMap { event in
      guard kinds.contains(event.kind) else { return nil }
      var event = event
      if event.kind.isLasting, !event.isOngoing, let number = ongoing.removeValue(forKey: event.kind) {
        event.number = number
        return event
      }
      count += 1
      event.number = count
      if event.isOngoing { ongoing[event.kind] = count }
      return event
    }
  }
}
