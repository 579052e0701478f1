internal import Glibc
internal import Spatial

// What nobody has watched: receivers in tunnels, and asleep at rest; an agent that did not run, a device without power.
//
// The odometer has closed the way. It is part of the trip under way where no stop fits in between that would have ended it, at the pace
// of a town. Of what was parked a short way is the beginning of the trip that is seen now, as a receiver needs a while for its first place.
// What is left is a trip of its own: carried where the ignition was off, else unobserved.
extension TripRecorder {
  /// m/s of a way that nobody has watched: the mean of vehicles in towns, 20 to 35 km/h with their stops.
  private static let townSpeed = 8.0
  /// m/s: queues go some 5 km/h, and seldom less than a third of it.
  private static let slowestQueue = 0.5
  /// m/s: the mean of the first metres of a slow start.
  private static let slowestStart = 2.0
  /// Metres that a receiver may need for its first place: two minutes in a town.
  private static let nearWay = 2000.0
  /// s between two positions of one drive, and the least share of its way that a vehicle has driven at its speed of now.
  private static let (longestContinuous, leastShare) = (180.0, 0.5)
  /// m/s: a greater way in a step was closed between two places, whatever else was watched in between.
  static let fastest = 60.0

  /// The first moments of a run. Wheels count from the first place on.
  mutating func resume(_ sample: TripSample) {
    guard sample.isLocated, state.boundary != nil else { return }
    if state.trip.map({ $0.end.distance > sample.distance }) == true {
      // The last metres before a loss of power may have been lost.
      state.trip?.end.distance = sample.distance
      state.trip?.end.estimated = sample.estimated
    }
    let before = state.seen ?? sample.point
    watched = sample.timestamp
    let seconds = before.time.flatMap { since in sample.time.map { $0.seconds(since: since) } }
    close(sample, seconds: seconds.flatMap { $0 >= 0 ? $0 : nil }, after: before)
    observeIgnition(sample)
    finishStep(sample)
    // A stop goes on through the next restart, however soon that comes.
    if state.trip != nil, (sample.speed ?? .infinity) < Self.movingSpeed { milestones += 1 }
  }

  /// Takes a moment that does not follow the one before.
  /// - Parameter seconds: between the two; nil where no clock says.
  mutating func close(_ sample: TripSample, seconds: Double?, after before: TripPoint) {
    let way = max(0, sample.distance - before.distance)
    let isMoving = (sample.speed ?? 0) > Self.clearSpeed && sample.isResting != true
    let driving = min(way / Self.townSpeed, seconds ?? .infinity)
    if state.trip != nil, goOn(sample, way: way, driving: driving, seconds: seconds, isMoving: isMoving) {
      return
    }
    guard way >= (isMoving ? Self.resumeWay : Self.leastWay) else {
      look(back: sample, isMoving: isMoving)
      return
    }
    // Seldom positions of a vehicle that drives on: the way agrees with the speed.
    let isContinuous =
      seconds.map { $0 <= Self.longestContinuous && way > Self.leastShare * (sample.speed ?? 0) * $0 }
      ?? false
    if isMoving, way <= Self.nearWay || isContinuous, !isOff {
      startUnseen(sample, way: way, seconds: seconds, after: before)
    } else {
      report(sample, driving: driving, seconds: seconds, after: before)
    }
  }

  /// - Returns: whether all of the way is the trip's, which may have ended with it.
  private mutating func goOn(
    _ sample: TripSample, way: Double, driving: Double, seconds: Double?, isMoving: Bool
  ) -> Bool {
    guard var trip = state.trip else { return false }
    if !trip.hasMoved, way > Self.fastest * (trip.elapsed + (seconds ?? .infinity)) + Self.leastWay {
      reportBefore(trip, sample)
      return true
    }
    let wasStanding = isStanding(trip)
    let wasQueueing = !wasStanding && isMoving && way > Self.slowestQueue * (seconds ?? 0)
    let isCarried = trip.kind == .carried && isOff
    let rest = max(0, (seconds ?? 0) - driving)
    let isShort = (wasStanding ? trip.standingFor : 0) + rest < longestStop
    // It stood at the last moment that was watched, as that of a run that was killed soon after; its end is known by then.
    let stoodAtLast = wasStanding || (state.speed ?? .infinity) < Self.movingSpeed && !isMoving
    if way < Self.leastWay, stoodAtLast {
      trip.elapsed += seconds ?? 0
      if let stirred, !sample.isLocated, trip.hasMoved,
        case let moved = sample.timestamp.seconds(since: stirred.timestamp), moved > Self.falseStart
      {
        // In a tunnel: only the accelerometer has seen that it moved on.
        trip.moving += moved
        trip.extend(to: sample.point)
        self.stirred = nil
        state.trip = trip
        return true
      }
      state.trip = trip
      guard trip.standingFor >= longestStop else { return true }
      finish()
      return false
    }
    if wasStanding, isOff, trip.kind == .driven, trip.number != nil {
      finish()
      return false
    }
    if isShort || wasQueueing || isCarried {
      trip.elapsed += seconds ?? driving
      trip.moving += wasQueueing ? seconds ?? driving : driving
      trip.hasMoved = true
      trip.extend(to: sample.point)
      trip.observe(speed: sample.speed)
      if !isMoving { trip.elapsed = max(trip.elapsed, trip.endElapsed) }
      append(sample, to: &trip)
      state.trip = trip
      promote(sample)
      return true
    }
    guard !wasStanding, !isMoving, way <= Self.nearWay else {
      finish()
      return false
    }
    // It came to rest where it stands now, and nobody knows when.
    trip.elapsed += driving
    trip.moving += driving
    var end = sample.point
    end.time = trip.end.time.map { $0.advanced(bySeconds: trip.elapsed - trip.endElapsed) } ?? end.time
    trip.extend(to: end)
    trip.elapsed += rest
    append(sample, to: &trip)
    state.trip = trip
    promote(sample)
    finish()
    return true
  }

  /// The beginning of a trip that is under way now.
  private mutating func startUnseen(
    _ sample: TripSample, way: Double, seconds: Double?, after before: TripPoint
  ) {
    // From rest to the speed of now at a constant acceleration, and no slower than through a town.
    let mean = min(max((sample.speed ?? 0) / 2, Self.slowestStart), Self.townSpeed)
    let took = min(way / mean, seconds ?? .infinity)
    let since = stirred.map { sample.timestamp.seconds(since: $0.timestamp) } ?? took
    var start = before
    start.time = sample.time?.advanced(bySeconds: -since)
    open(.driven, at: start, elapsed: since, origin: before.distance)
    goOnMoving(sample, moving: since)
    state.trip?.observe(speed: sample.speed)
    promote(sample)
  }

  /// A trip of which only the places before and after are known.
  private mutating func report(
    _ sample: TripSample, driving: Double, seconds: Double?, after before: TripPoint
  ) {
    var start = before
    var took = seconds ?? driving
    // The accelerometer saw it rest, as on a ship: it moved since the last place.
    if let located, let watched, watched > located.timestamp {
      took = max(took, sample.timestamp.seconds(since: located.timestamp))
      start = located.point
    }
    open(isOff ? .carried : .unobserved, at: start, elapsed: took, origin: before.distance)
    goOnMoving(sample, moving: min(took, (sample.distance - before.distance) / Self.townSpeed))
    state.trip?.track = TripTrack()
    promote(sample, as: isOff ? .carried : .unobserved)
    if !isOff { finish() }
  }

  /// The ignition went on before it was known how far the vehicle had come until then.
  private mutating func reportBefore(_ trip: OpenTrip, _ sample: TripSample) {
    var moment = sample
    moment.timestamp = sample.timestamp.advanced(bySeconds: -trip.elapsed)
    moment.time = sample.time?.advanced(bySeconds: -trip.elapsed)
    let (known, before) = (ignition.believed, state.boundary ?? trip.start)
    state.trip = nil
    ignition.believed = ignition.before
    report(moment, driving: 0, seconds: nil, after: before)
    finish()
    ignition.believed = known
    var start = trip.start
    (start.coordinate, start.accuracy) = (sample.coordinate, sample.accuracy)
    open(.driven, at: start, elapsed: trip.elapsed, origin: sample.distance)
  }

  private mutating func goOnMoving(_ sample: TripSample, moving: Double) {
    guard var trip = state.trip else { return }
    trip.hasMoved = true
    trip.moving = moving
    trip.extend(to: sample.point)
    append(sample, to: &trip)
    state.trip = trip
  }

  private mutating func look(back sample: TripSample, isMoving: Bool) {
    if isMoving, let stirred, sample.timestamp.seconds(since: stirred.timestamp) <= Self.longestRise {
      rise = stirred
    }
    if sample.isLocated { stirred = nil }
  }
}
