internal import Glibc
public import Spatial

/// Makes trips of how the vehicle moves and of its odometer.
///
/// - A trip begins with the first motion, or with the ignition where that is known, and is one from 50 m on; what it begins with is looked
///   up then. It ends where the vehicle came to rest, or where the ignition went off, once that is as long ago as a stop may last. With
///   the ignition on a stop may last an hour.
/// - Every metre of the odometer is part of one trip: each begins to count where the one before has ended, so that the sum of trips is
///   the odometer. What a vehicle creeps while it is parked is part of the next trip.
/// - What nobody has watched (`TripRecorder+gaps`) is part of the trip under way, or a trip of its own.
/// - A vehicle that moves with its ignition off, or on wheels that stand, is carried.
///
/// A value type without I/O: time comes with the samples.
public struct TripRecorder: Hashable, Sendable {
  public struct Settings: Hashable, Sendable {
    /// s that a stop within a trip may last.
    public var stop: Double
    /// s between two statements about a trip under way; nil tells only its start and its end.
    public var interval: Double?

    public init(stop: Double = 300, interval: Double? = 300) {
      self.stop = stop
      self.interval = interval
    }
  }

  public internal(set) var state: TripState
  public var settings: Settings
  /// Grows with what should not be lost with the power: statements, stops, the ignition.
  public internal(set) var milestones = 0
  /// Statements that have not been fetched.
  var statements: [TripRecord] = []

  // Of this run.
  /// The newest moment that was watched, and that a place was found at.
  var watched: Timestamp?
  var located: Moment?
  var ignition = Ignition()
  /// Since when it may have been moving, as far as speeds tell, and the accelerometer.
  var rise: Moment?
  var stirred: Moment?

  struct Moment: Hashable, Sendable {
    var timestamp: Timestamp
    var point: TripPoint
  }

  struct Ignition: Hashable, Sendable {
    /// As it is told, and as it is believed.
    var told: Bool?
    var believed: Bool?
    /// As it was believed before it went on.
    var before: Bool?
  }

  /// Metres from which motion is a trip: less is moving a car in its yard.
  static let leastWay = 50.0
  /// Metres after which a stop is over; less is a receiver's noise.
  static let resumeWay = 5.0
  /// m/s: the mean over a step from which the vehicle moves; and from which one step is enough. As the odometer's test of rest.
  static let (movingSpeed, clearSpeed) = (0.3, 1.5)
  /// m/s above which the vehicle may have begun to move: a receiver's noise at rest is less most of the time.
  private static let risingSpeed = 0.2
  /// s that are looked back for a start at most.
  static let longestRise = 60.0
  /// s within which two moments belong to one another.
  static let longestStep = 10.0
  /// s of rest after which what has moved less than `resumeWay` has not begun a trip.
  static let falseStart = 10.0
  /// s that a vehicle with the ignition on may stand in a queue.
  static let longestIdle = 3600.0
  /// Numbers that are kept ahead.
  private static let eventReserve = 64
  /// Names of events that are counted in one trip.
  private static let mostEvents = 32

  public init(_ state: TripState, settings: Settings = Settings()) {
    self.state = state
    self.settings = settings
  }

  /// The statements since the last call, in order.
  public mutating func drain() -> [TripRecord] {
    defer { statements.removeAll() }
    return statements
  }

  /// The outbox has it.
  public mutating func confirm(series: UInt64, number: Int, revision: Int) {
    func isIt(_ record: TripRecord) -> Bool {
      record.series == series && record.number == number && record.revision <= revision
    }
    // A vehicle that is cut off from its battery at each stop does not tell its last trip again at each start.
    if state.unconfirmed.contains(where: { isIt($0) && $0.phase == .ended }) { milestones += 1 }
    state.unconfirmed.removeAll(where: isIt)
  }

  /// An event has happened. It counts where a trip is under way, or about to be.
  public mutating func count(event name: String) {
    guard state.trip != nil else { return }
    guard state.trip?.counts[name] != nil || (state.trip?.counts.count ?? 0) < Self.mostEvents else { return }
    state.trip?.counts[name, default: 0] += 1
  }

  /// A driving event has got this number: those that a restart may give out are kept ahead of it, so that none is given out twice.
  public mutating func observe(eventNumber number: Int) {
    guard number > state.events - Self.eventReserve / 2, number < Int(Int32.max) - Self.eventReserve else {
      return
    }
    state.events = number + Self.eventReserve
    milestones += 1
  }

  /// Who drives, from the trip under way on; nil is nobody who is known.
  public mutating func set(driver: String?) {
    if state.driver != driver { milestones += 1 }
    state.driver = driver
    tell(.underway)
  }

  /// What the trip under way is for, or the next one; nil takes it back.
  public mutating func set(purpose: String?) {
    if state.purpose != purpose { milestones += 1 }
    state.purpose = purpose
    tell(.underway)
  }

  /// Takes what is known of a moment. Moments come in order of time.
  public mutating func process(_ sample: TripSample) {
    // An undecided moment is part of the step to the next decision.
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
      // The end of a stop in between comes first.
      advance(to: sample.timestamp)
      close(sample, seconds: step, after: before)
    }
    finishStep(sample)
  }

  /// Lets time pass: a stop may have lasted long enough.
  public mutating func advance(to timestamp: Timestamp) {
    guard let nextDeadline, timestamp >= nextDeadline else { return }
    finish()
  }

  /// When `advance` ends a trip, if nothing comes before.
  public var nextDeadline: Timestamp? {
    // What stirs in a tunnel may have moved on.
    guard let trip = state.trip, let watched, isStanding(trip), stirred == nil else { return nil }
    return watched.advanced(bySeconds: longestStop - trip.standingFor)
  }

  /// Whether a trip is under way and the vehicle moves.
  public var isMoving: Bool { state.trip.map { !isStanding($0) } ?? false }

  /// s that the stop may last now.
  var longestStop: Double {
    ignition.believed == true ? max(settings.stop, Self.longestIdle) : settings.stop
  }

  /// Whether the vehicle stood at the newest moment that was watched.
  func isStanding(_ trip: OpenTrip) -> Bool { trip.standingFor > 0 || !trip.hasMoved }

  /// Whether its ignition is known to be off.
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
      // From the moment before.
      (trip.stir, trip.stirElapsed) = (state.seen, trip.elapsed - step)
    }
    // With the ignition off it was carried, or rolls a little.
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
    // What nobody would call a start, as a receiver's noise.
    if trip.number == nil, trip.hasMoved, trip.standingFor > Self.falseStart, ignition.believed != true,
      sample.distance - trip.origin < Self.resumeWay
    {
      state.trip = nil
    }
  }

  /// It has gone far enough to be a trip.
  /// - Parameter kind: nil looks what the vehicle moves by.
  mutating func promote(_ sample: TripSample, as kind: TripRecord.Kind? = nil) {
    guard var trip = state.trip, trip.number == nil, sample.distance - trip.origin >= Self.leastWay else {
      return
    }
    let isOnWheelsThatStand = sample.wheelSpeed == 0 && (sample.speed ?? 0) > Self.clearSpeed
    trip.kind = kind ?? (isOff || isOnWheelsThatStand ? .carried : .driven)
    state.count += 1
    trip.number = state.count
    state.trip = trip
    // Of what is over before anybody knew of it, the end says all.
    if trip.kind != .unobserved { tell(.started) }
  }

  /// It stood with the ignition off, and moves.
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

  /// A trip begins with what was seen of its start, before the way to this moment is added.
  private mutating func begin(before: TripPoint, at timestamp: Timestamp, _ sample: TripSample) {
    var start = before
    var since = timestamp
    if let rise, timestamp.seconds(since: rise.timestamp) <= Self.longestRise {
      (start, since) = (rise.point, rise.timestamp)
    }
    if start.coordinate == nil { (start.coordinate, start.accuracy) = (sample.coordinate, sample.accuracy) }
    open(.driven, at: start, elapsed: max(0, timestamp.seconds(since: since)), origin: before.distance)
    // The way is the one that began then.
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

  /// The accelerometer sees motion before any place is found.
  private mutating func observeUnwatched(_ sample: TripSample) {
    guard sample.isResting == false, stirred == nil, state.trip.map({ isStanding($0) }) ?? true else {
      return
    }
    var point = state.seen ?? sample.point
    point.time = sample.time ?? point.time
    stirred = Moment(timestamp: sample.timestamp, point: point)
  }
}
