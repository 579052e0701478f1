internal import Glibc
public import Sensors
public import Spatial

/// A detector of driving events. Each `DrivingEvent` is reported once; lasting events are reported at their
/// start and at their end.
///
/// A value type without I/O; time arrives with the data. The detector expects the same scans, fixes and
/// speeds in the same order as the `NavigationFilter`. Events that need the vehicle's axes require a known
/// mounting, and are dropped if the mounting is revoked.
public struct DrivingEventDetector: Sendable {
  public let limits: DrivingEventLimits
  /// The kinds of events that are reported.
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

  /// The time of the last navigation sample.
  private var sampled: Timestamp?
  private var place: Coordinate?
  private var count = 0
  /// The numbers of ongoing events, by kind.
  private var ongoing: [DrivingEvent.Kind: Int] = [:]

  /// The time in s without navigation samples after which a manoeuvre is considered finished.
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

  /// True if mounting and tilt are accurate enough for events that need the vehicle's axes.
  public var isMountingKnown: Bool { sampler.isBegun }

  // MARK: Inertial sensors

  /// Processes a scan that the navigation filter has already processed. While the vehicle is parked, a scan
  /// with only a specific force is sufficient.
  /// - Parameter estimate: the filter's estimate, which is evaluated twenty times a second; nil if there is
  ///   none.
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
    // These monitors do not require a mounting.
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

  /// Drops all events that depend on the mounting, because it is unknown or was revoked.
  private mutating func interrupt() {
    guard situation != nil || sampler.isBegun else { return }
    sampler.interrupt()
    manoeuvres.reset()
    shocks.interrupt()
    situation = nil
  }

  // MARK: Speeds and positions

  /// Processes a fix that the navigation filter has not processed yet.
  /// - Parameters:
  ///   - estimate: navigation's estimate; nil if there is none.
  ///   - isPlausible: false for a fix that other measurements contradict; it does not count as a movement of
  ///     a parked vehicle.
  public mutating func process(
    _ fix: PositionFix, _ estimate: NavigationEstimate?, isPlausible: Bool = true
  ) -> [DrivingEvent] {
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
    if let coordinate = fix.coordinate, isPlausible {
      if estimate == nil { place = coordinate }
      // A 95 % radius is 1.62 times the 68 % radius.
      let accuracy = fix.horizontalError.map { $0 / 1.62 }
      if let event = tow.process(coordinate, accuracy: accuracy, speed: fix.speed, at: now) {
        told.append(event)
      }
    }
    return numbered(told)
  }

  /// Processes a wheel speed.
  public mutating func process(_ speed: WheelSpeed) -> [DrivingEvent] {
    guard speed.speed.isFinite, speed.speed >= 0 else { return [] }
    manoeuvres.observe(speed: speed.speed, at: speed.timestamp)
    contradiction.observe(wheelSpeed: speed.speed, at: speed.timestamp)
    return numbered(park(at: speed.timestamp) { $0.observe(speed: speed.speed) })
  }

  // MARK: Vehicle signals

  /// Updates the states of ignition and engine; nil if the vehicle does not report them.
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

  /// Updates whether the vehicle is at rest according to the accelerometer; nil if undetermined.
  public mutating func observe(isStanding: Bool?, at timestamp: Timestamp) -> [DrivingEvent] {
    numbered(park(at: timestamp) { $0.observe(isStanding: isStanding, at: timestamp) })
  }

  /// Updates whether an external supply is connected; nil if unknown.
  public mutating func observe(hasExternalPower: Bool?, at timestamp: Timestamp) -> [DrivingEvent] {
    supply.place = place
    let event = supply.observe(hasExternalPower: hasExternalPower, at: timestamp)
    return numbered(event.map { [$0] } ?? [])
  }

  /// Updates the voltage of the vehicle's battery in V.
  public mutating func observe(voltage: Double, at timestamp: Timestamp) -> [DrivingEvent] {
    supply.place = place
    return numbered(supply.observe(voltage: voltage, at: timestamp).map { [$0] } ?? [])
  }

  /// Updates the names and speed limits (m/s) of the regions that contain the vehicle.
  public mutating func observe(
    regionLimits: [(region: String, speed: Double)], at timestamp: Timestamp
  ) -> [DrivingEvent] {
    let limits = regionLimits.map { SpeedLimitMonitor.Limit(speed: $0.speed, region: $0.region) }
    return numbered(speeding.observe(limits, at: timestamp).map { [$0] } ?? [])
  }

  // MARK: Time

  /// Advances time without data.
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

  /// Ends all ongoing events with their current values, because the detector stops.
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

  /// The next time at which `advance` can report an event; nil if no event is pending.
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

  // MARK: Output

  /// Continues from a detector with other limits. Adopts the other detector's event numbers, so that none is
  /// used twice. Also adopts the states of ignition and engine and the position, because a parked vehicle may
  /// not report them for days.
  public mutating func goOn(from other: DrivingEventDetector) {
    count = max(count, other.count)
    (parking, place) = (other.parking, other.place)
  }

  /// Assigns numbers to events and drops events of kinds that are not requested.
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
