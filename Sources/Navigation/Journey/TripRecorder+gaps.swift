internal import Glibc
internal import Spatial

// Gaps without observation: receivers in tunnels or asleep at rest, an agent that was not running, a device
// without power.
//
// The odometer has estimated the distance. It belongs to the current trip, unless a drive of this distance at
// the average speed in slow city centres leaves time for a stop that would have ended the trip. After parking, a
// short distance is the start of the trip that is observed now, because a receiver needs time for its first
// position. So is a distance that leaves no time for a stop between two trips. Any other distance is a separate
// trip: carried if the ignition was off, otherwise unobserved.
extension TripRecorder {
  /// The assumed speed in m/s of an unobserved drive. The mean in towns is 20 to 35 km/h including stops.
  private static let townSpeed = 8.0
  /// The assumed speed in m/s of an unobserved drive when the rest in a gap decides whether the trip ended. It is
  /// the mean of slow city centres (15 km/h), because a stop that is shorter than the limit must not split a trip.
  private static let slowTownSpeed = 4.0
  /// The minimum mean speed in a queue in m/s: queues move at about 5 km/h, and seldom at less than a third
  /// of that.
  private static let slowestQueue = 0.5
  /// The mean speed in m/s over the first metres of a slow start.
  private static let slowestStart = 2.0
  /// The distance in m that a vehicle can drive before the receiver's first position: two minutes in a town.
  private static let nearWay = 2000.0
  /// Limits for rare positions of a moving vehicle: maximum seconds between two positions of one drive, and
  /// minimum ratio of the distance to that at the current speed.
  private static let (longestContinuous, leastShare) = (180.0, 0.5)
  /// The largest plausible mean speed of a step in m/s. A larger distance was estimated between two
  /// positions, whatever else was observed during the step.
  static let fastest = 60.0

  /// Processes the first samples after a restart. Wheel speeds count only from the first position on.
  mutating func resume(_ sample: TripSample) {
    guard sample.isLocated, state.boundary != nil else { return }
    if state.trip.map({ $0.end.distance > sample.distance }) == true {
      // The stored distance can be larger, because the odometer's last metres before a power loss can be
      // missing.
      state.trip?.end.distance = sample.distance
      state.trip?.end.estimated = sample.estimated
    }
    let before = state.seen ?? sample.point
    watched = sample.timestamp
    let seconds = before.time.flatMap { since in sample.time.map { $0.seconds(since: since) } }
    close(sample, seconds: seconds.flatMap { $0 >= 0 ? $0 : nil }, after: before)
    observeIgnition(sample)
    finishStep(sample)
    // The stored state then contains the stop, so that the stop continues across another restart that follows
    // immediately.
    if state.trip != nil, (sample.speed ?? .infinity) < Self.movingSpeed { milestones += 1 }
  }

  /// Processes a sample after a gap.
  /// - Parameter seconds: the length of the gap; nil if unknown.
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
    // Positions of a moving vehicle can be rare. It was moving all the time if the distance agrees with the
    // speed. A drive that leaves no time for a stop that ends a trip is part of the current drive as well.
    let isContinuous =
      seconds.map {
        $0 <= Self.longestContinuous && way > Self.leastShare * (sample.speed ?? 0) * $0
          || $0 <= Self.longestSleep && $0 - driving < settings.stop
      } ?? false
    if isMoving, way <= Self.nearWay || isContinuous, !isOff {
      startUnseen(sample, way: way, seconds: seconds, after: before)
    } else {
      report(sample, driving: driving, seconds: seconds, after: before)
    }
  }

  /// Continues the current trip across the gap.
  /// - Returns: true if the whole distance belongs to the trip, which may then have ended.
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
    // In a gap that is longer than a receiver sleeps, something has failed, and two trips may not become one.
    let shownRest =
      (seconds ?? 0) <= Self.longestSleep ? max(0, (seconds ?? 0) - way / slowestDrive(trip)) : rest
    let isShort = (wasStanding ? trip.standingFor : 0) + shownRest < longestStop
    // The vehicle was at rest in the last observed sample, for example in a run of the agent that was killed
    // shortly after. The end of the trip is then known.
    let stoodAtLast = wasStanding || (state.speed ?? .infinity) < Self.movingSpeed && !isMoving
    if way < Self.leastWay, stoodAtLast {
      trip.elapsed += seconds ?? 0
      if let stirred, !sample.isLocated, trip.hasMoved,
        case let moved = sample.timestamp.seconds(since: stirred.timestamp), moved > Self.falseStart
      {
        // The vehicle drove in a tunnel, where only the accelerometer observed the motion.
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
      trip.hasMoved = true
      if isShort, !wasQueueing, !isCarried, !wasStanding, !isMoving, let seconds {
        // The vehicle has arrived. Otherwise a stop, which is within the limit, would begin only now.
        arrive(&trip, sample, after: seconds - shownRest)
        trip.elapsed += shownRest
      } else {
        trip.elapsed += seconds ?? driving
        trip.moving += wasQueueing ? seconds ?? driving : driving
        trip.extend(to: sample.point)
      }
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
    // The vehicle came to rest at its current position at an unknown time, so the duration of the drive is
    // estimated.
    arrive(&trip, sample, after: driving)
    trip.elapsed += rest
    append(sample, to: &trip)
    state.trip = trip
    promote(sample)
    finish()
    return true
  }

  /// Ends the way of a trip at the position of a sample, some seconds after the last one.
  private func arrive(_ trip: inout OpenTrip, _ sample: TripSample, after seconds: Double) {
    trip.elapsed += seconds
    trip.moving += seconds
    var end = sample.point
    end.time = trip.end.time.map { $0.advanced(bySeconds: trip.elapsed - trip.endElapsed) } ?? end.time
    trip.extend(to: end)
  }

  /// Returns the lowest mean speed in m/s that is assumed for an unobserved drive of this trip.
  private func slowestDrive(_ trip: OpenTrip) -> Double {
    guard trip.moving > Self.longestRise else { return Self.slowTownSpeed }
    let mean = (trip.end.distance - trip.origin) / trip.moving
    return min(max(mean, Self.slowestQueue), Self.slowTownSpeed)
  }

  /// Starts a trip whose first part was not observed, and which is in progress now.
  private mutating func startUnseen(
    _ sample: TripSample, way: Double, seconds: Double?, after before: TripPoint
  ) {
    // The vehicle accelerated constantly from rest to the current speed. The mean is limited to between a
    // slow start and the speed in towns. Over a long distance, it drove at the current speed.
    let speed = sample.speed ?? 0
    let mean =
      way > Self.nearWay
      ? max(Self.townSpeed, speed) : min(max(speed / 2, Self.slowestStart), Self.townSpeed)
    let took = min(way / mean, seconds ?? .infinity)
    let since = stirred.map { sample.timestamp.seconds(since: $0.timestamp) } ?? took
    var start = before
    start.time = sample.time?.advanced(bySeconds: -since)
    open(.driven, at: start, elapsed: since, origin: before.distance)
    continueMoving(sample, moving: since)
    state.trip?.observe(speed: sample.speed)
    promote(sample)
  }

  /// Creates a trip for the unobserved distance, from the positions before and after the gap.
  private mutating func report(
    _ sample: TripSample, driving: Double, seconds: Double?, after before: TripPoint
  ) {
    var start = before
    var took = seconds ?? driving
    // The accelerometer observed rest after the last position, as on a ship. The motion therefore started
    // after that position.
    if let located, let watched, watched > located.timestamp {
      took = max(took, sample.timestamp.seconds(since: located.timestamp))
      start = located.point
    }
    // The distance counts from the end of the previous trip, which can be before `start`.
    let origin = state.boundary ?? before
    let since = origin.time.flatMap { time in sample.time.map { $0.seconds(since: time) } }
    let moving = min(max(took, since ?? took), (sample.distance - origin.distance) / Self.townSpeed)
    if moving > took { start.time = sample.time?.advanced(bySeconds: -moving) }
    open(isOff ? .carried : .unobserved, at: start, elapsed: max(took, moving), origin: before.distance)
    continueMoving(sample, moving: moving)
    state.trip?.track = TripTrack()
    promote(sample, as: isOff ? .carried : .unobserved)
    if !isOff { finish() }
  }

  /// Reports the distance before the ignition was switched on as a separate trip. It was not known before
  /// this sample.
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

  private mutating func continueMoving(_ sample: TripSample, moving: Double) {
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
