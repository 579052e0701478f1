internal import Glibc
public import Spatial

/// A recorder that divides the vehicle's motion and its odometer into trips.
///
/// - A trip starts with the first motion, or with the ignition if that is available. It is recorded from 50 m
///   on, and its start is then determined in retrospect. It ends where the vehicle came to rest or where the
///   ignition was switched off, as soon as the rest exceeds the maximum duration of a stop. With the ignition
///   on, a stop may last an hour.
/// - Every metre of the odometer belongs to one trip: each trip counts from the end of the previous one, so
///   that the sum of all trips is the odometer. Creeping while parked belongs to the next trip.
/// - Gaps without observation (`TripRecorder+gaps`) belong to the current trip or are a trip of their own.
/// - A vehicle that moves with its ignition off, or with its wheels at rest, is carried.
///
/// A value type without I/O; time arrives with the samples.
public struct TripRecorder: Hashable, Sendable {
  public struct Settings: Hashable, Sendable {
    /// The maximum duration of a stop within a trip, s.
    public var stop: Double
    /// Interval in s between two records of the current trip; nil if records are created only at the start
    /// and the end.
    public var interval: Double?

    public init(stop: Double = 300, interval: Double? = 300) {
      self.stop = stop
      self.interval = interval
    }
  }

  public internal(set) var state: TripState
  public var settings: Settings
  /// A counter that increases with each change that must survive a power loss. Such changes are new records,
  /// stops, and changes of the ignition.
  public internal(set) var milestones = 0
  /// The records that `drain` has not returned yet.
  var statements: [TripRecord] = []

  // MARK: State of this run
  /// The time of the last observation.
  var watched: Timestamp?
  /// Time and point of the last position; nil before the first.
  var located: Moment?
  var ignition = Ignition()
  /// Time and point at which motion may have started, according to the speeds; nil if there is none.
  var rise: Moment?
  /// Time and point at which motion may have started, according to the accelerometer; nil if there is none.
  var stirred: Moment?

  struct Moment: Hashable, Sendable {
    var timestamp: Timestamp
    var point: TripPoint
  }

  struct Ignition: Hashable, Sendable {
    /// The state of the ignition as reported; nil if unknown.
    var told: Bool?
    /// The state of the ignition as used for trips; nil if unknown.
    var believed: Bool?
    /// The value of `believed` before the ignition was switched on.
    var before: Bool?
  }

  /// The minimum distance of a trip in m; a shorter motion is manoeuvring on the premises.
  static let leastWay = 50.0
  /// The distance in m after which a stop has ended; a shorter distance may be receiver noise.
  static let resumeWay = 5.0
  /// Speeds in m/s: the mean speed over a step above which the vehicle moves, and the speed above which a
  /// single step proves motion. Both equal those in the odometer's detection of rest.
  static let (movingSpeed, clearSpeed) = (0.3, 1.5)
  /// The speed in m/s above which motion can have started; receiver noise at rest is mostly lower.
  private static let risingSpeed = 0.2
  /// The maximum time in s before the first observed motion, within which the start of a trip is assumed.
  static let longestRise = 60.0
  /// The maximum interval in s between two samples that counts as observed; a longer interval is a gap.
  static let longestStep = 10.0
  /// The time at rest in s after which motion of less than `resumeWay` is not a start.
  static let falseStart = 10.0
  /// The maximum time in s that a vehicle with the ignition on can be at rest in a queue.
  static let longestIdle = 3600.0
  /// The minimum time in s without an observation after which a trip ends if the ignition is unknown. Receivers
  /// sleep for up to a quarter of an hour, and the vehicle can have departed meanwhile.
  static let longestSleep = 900.0
  /// The number of event numbers that are reserved in the stored state in one step.
  private static let eventReserve = 64
  /// The maximum number of event names counted in a trip.
  private static let mostEvents = 32

  public init(_ state: TripState, settings: Settings = Settings()) {
    self.state = state
    self.settings = settings
  }

  /// Returns the records created since the last call, in order.
  public mutating func drain() -> [TripRecord] {
    defer { statements.removeAll() }
    return statements
  }

  /// Confirms that a record is in the outbox.
  public mutating func confirm(series: UInt64, number: Int, revision: Int) {
    func isIt(_ record: TripRecord) -> Bool {
      record.series == series && record.number == number && record.revision <= revision
    }
    // The milestone causes the state to be stored. Otherwise, a vehicle whose battery is disconnected at each
    // stop would publish its last trip again at each start.
    if state.unconfirmed.contains(where: { isIt($0) && $0.phase == .ended }) { milestones += 1 }
    state.unconfirmed.removeAll(where: isIt)
  }

  /// Counts an event in the current trip, or in the next trip if there is none.
  public mutating func count(event name: String) {
    guard state.trip != nil else { return }
    guard state.trip?.counts[name] != nil || (state.trip?.counts.count ?? 0) < Self.mostEvents else { return }
    state.trip?.counts[name, default: 0] += 1
  }

  /// Observes the number of a new driving event. Numbers are reserved in the stored state, so that no number
  /// is reused after a restart.
  public mutating func observe(eventNumber number: Int) {
    guard number > state.events - Self.eventReserve / 2, number < Int(Int32.max) - Self.eventReserve else {
      return
    }
    state.events = number + Self.eventReserve
    milestones += 1
  }

  /// Sets the driver from the current trip on; nil if unknown.
  public mutating func set(driver: String?) {
    if state.driver != driver { milestones += 1 }
    state.driver = driver
    tell(.underway)
  }

  /// Sets the purpose of the current trip, or of the next trip if there is none. Nil removes the purpose.
  public mutating func set(purpose: String?) {
    if state.purpose != purpose { milestones += 1 }
    state.purpose = purpose
    tell(.underway)
  }

  /// Records an open trip before a clean stop or at the end of a recording. The next run continues the trip.
  public mutating func recordOpenTrip() {
    guard settings.interval != nil, let trip = state.trip, trip.elapsed > trip.toldElapsed else { return }
    tell(.underway)
  }

  /// Processes a sample. Samples arrive in order of time.
  public mutating func process(_ sample: TripSample) {
    // A sample whose motion is undecided is skipped; its step is part of the step to the next decision.
    guard sample.isSound, sample.motion != .undecided else { return }
    let sample = sample.screened
    if state.boundary.map({ sample.distance < $0.distance }) ?? true { restart(sample) }
    guard let watched else { return resume(sample) }
    observeIgnition(sample)
    guard sample.isWatched, case let step = sample.timestamp.seconds(since: watched), step > 0 else {
      observeUnwatched(sample)
      return advance(to: sample.timestamp)
    }
    let before = state.seen ?? sample.point
    let isPossible = sample.distance - before.distance <= Self.fastest * step + Self.leastWay
    let longestStep = sample.isSpeedDerived ? Odometer.longestDecision + Self.longestStep : Self.longestStep
    if step <= longestStep, isPossible {
      watch(sample, step: step, after: before)
    } else {
      // If the trip ended during the gap, it is finished first.
      advance(to: sample.timestamp)
      close(sample, seconds: step, after: before)
    }
    finishStep(sample)
  }

  /// Advances time without samples and ends a trip after a long stop.
  public mutating func advance(to timestamp: Timestamp) {
    guard let nextDeadline, timestamp >= nextDeadline else { return }
    finish()
  }

  /// The time at which `advance` ends the trip; nil if no trip can end without a sample.
  public var nextDeadline: Timestamp? {
    // In a tunnel, motion that the accelerometer detects can continue the trip.
    guard let trip = state.trip, let watched, isStanding(trip), stirred == nil else { return nil }
    let rest = longestStop - trip.standingFor
    return watched.advanced(bySeconds: ignition.believed == nil ? max(rest, Self.longestSleep) : rest)
  }

  /// True if a trip is in progress and the vehicle moves.
  public var isMoving: Bool { state.trip.map { !isStanding($0) } ?? false }

  /// The maximum duration of the current stop in s.
  var longestStop: Double {
    ignition.believed == true ? max(settings.stop, Self.longestIdle) : settings.stop
  }

  /// Returns whether the vehicle was at rest in the last sample of a trip.
  func isStanding(_ trip: OpenTrip) -> Bool { trip.standingFor > 0 || !trip.hasMoved }

  /// True if the ignition is known to be off.
  var isOff: Bool { ignition.believed == false }

  // MARK: Steps

  private mutating func watch(_ sample: TripSample, step: Double, after before: TripPoint) {
    let way = sample.distance - before.distance
    if sample.isResting == true { stirred = nil }
    let hasMoved = way > Self.movingSpeed * step && sample.isResting != true || way > Self.clearSpeed * step
    if state.trip == nil {
      observeRise(sample, before, step: step)
      guard hasMoved else { return }
      begin(before: before, at: watched ?? sample.timestamp, sample)
    }
    let elapsed = (state.trip?.elapsed ?? 0) + step
    state.trip?.elapsed = elapsed
    if hasMoved { move(sample, step: step) } else { stand(sample, step: step) }
  }

  private mutating func move(_ sample: TripSample, step: Double) {
    guard var trip = state.trip else { return }
    if trip.hasMoved, trip.standingFor > Self.falseStart, trip.stir == nil {
      // The possible motion started at the previous sample.
      (trip.stir, trip.stirElapsed) = (state.seen, trip.elapsed - step)
    }
    // A vehicle that moves with its ignition off is carried, or rolls a short distance.
    if isOff, trip.kind == .driven, trip.number != nil {
      state.trip = trip
      if sample.distance - trip.end.distance >= Self.leastWay { splitCarried(sample) }
      return
    }
    guard
      trip.standingFor - step <= Self.falseStart || sample.distance - trip.end.distance > Self.resumeWay
        || (sample.speed ?? 0) > Self.clearSpeed
    else {
      state.trip = trip
      return
    }
    stirred = nil
    trip.hasMoved = true
    trip.moving += step
    trip.extend(to: sample.point)
    trip.observe(speed: sample.speed ?? sample.wheelSpeed)
    append(sample, to: &trip)
    state.trip = trip
    promote(sample)
  }

  func append(_ sample: TripSample, to trip: inout OpenTrip) {
    guard sample.isExact, let coordinate = sample.coordinate else { return }
    if trip.track.isEmpty, let first = trip.start.coordinate {
      trip.track.append(.init(elapsed: 0, coordinate: first))
    }
    trip.track.append(.init(elapsed: trip.elapsed, coordinate: coordinate))
  }

  private mutating func stand(_ sample: TripSample, step: Double) {
    guard var trip = state.trip else { return }
    stirred = nil
    if ignition.believed == true { trip.pendingIdling += step }
    if trip.standingFor >= Self.falseStart, trip.standingFor - step < Self.falseStart { milestones += 1 }
    if trip.stir != nil, (sample.speed ?? 0) < Self.risingSpeed { trip.stir = nil }
    state.trip = trip
    // The motion was too short for a start; it may have been receiver noise.
    if trip.number == nil, trip.hasMoved, trip.standingFor > Self.falseStart, ignition.believed != true,
      sample.distance - trip.origin < Self.resumeWay
    {
      state.trip = nil
    }
  }

  /// Assigns a number to the current trip once its distance is long enough.
  /// - Parameter kind: kind of the trip; nil to determine the kind from ignition and wheels.
  mutating func promote(_ sample: TripSample, as kind: TripRecord.Kind? = nil) {
    guard var trip = state.trip, trip.number == nil, sample.distance - trip.origin >= Self.leastWay else {
      return
    }
    let isAtRestByWheels = sample.wheelSpeed == 0 && (sample.speed ?? 0) > Self.clearSpeed
    trip.kind = kind ?? (isOff || isAtRestByWheels ? .carried : .driven)
    state.count += 1
    trip.number = state.count
    state.trip = trip
    // An unobserved trip has already ended, so only its final record is required.
    if trip.kind != .unobserved { tell(.started) }
  }

  /// Starts a new trip: the vehicle was at rest with the ignition off and is carried now.
  private mutating func splitCarried(_ sample: TripSample) {
    guard let trip = state.trip else { return }
    let (start, seconds) =
      trip.stir.map { ($0, trip.elapsed - trip.stirElapsed) } ?? (trip.end, trip.standingFor)
    finish()
    open(.carried, at: start, elapsed: seconds, origin: start.distance)
    state.trip?.hasMoved = true
    state.trip?.moving = seconds
    state.trip?.extend(to: sample.point)
    promote(sample)
  }

  /// Starts a trip at the first observed motion. The distance up to this sample is added later.
  private mutating func begin(before: TripPoint, at timestamp: Timestamp, _ sample: TripSample) {
    var start = before
    var since = timestamp
    if let rise, timestamp.seconds(since: rise.timestamp) <= Self.longestRise {
      (start, since) = (rise.point, rise.timestamp)
    }
    if start.coordinate == nil { (start.coordinate, start.accuracy) = (sample.coordinate, sample.accuracy) }
    open(.driven, at: start, elapsed: max(0, timestamp.seconds(since: since)), origin: before.distance)
    // The distance counts from the start, so the time in motion does too.
    let elapsed = state.trip?.elapsed ?? 0
    state.trip?.moving = elapsed
  }

  mutating func open(_ kind: TripRecord.Kind, at start: TripPoint, elapsed: Double, origin: Double) {
    var trip = OpenTrip(kind: kind, start: start, boundary: state.boundary ?? start)
    trip.elapsed = elapsed
    trip.origin = origin
    trip.knowsIgnition = ignition.believed != nil
    state.trip = trip
    (rise, stirred) = (nil, nil)
  }

  private mutating func observeRise(_ sample: TripSample, _ before: TripPoint, step: Double) {
    guard sample.isLocated else { return }
    if let speed = sample.speed, speed > Self.risingSpeed, sample.isResting != true {
      if rise == nil {
        rise =
          stirred.map { sample.timestamp.seconds(since: $0.timestamp) <= Self.longestStep ? $0 : nil } ?? nil
        rise = rise ?? Moment(timestamp: watched ?? sample.timestamp, point: before)
      }
    } else {
      rise = nil
    }
    stirred = nil
  }

  /// Records the start of motion that the accelerometer detects while there is no position.
  private mutating func observeUnwatched(_ sample: TripSample) {
    guard sample.isResting == false, stirred == nil, state.trip.map({ isStanding($0) }) ?? true else {
      return
    }
    var point = state.seen ?? sample.point
    point.time = sample.time ?? point.time
    stirred = Moment(timestamp: sample.timestamp, point: point)
  }
}
