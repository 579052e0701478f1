internal import Glibc
internal import Spatial

// If the state of the ignition is available, the ignition starts and ends trips.
extension TripRecorder {
  mutating func observeIgnition(_ sample: TripSample) {
    guard sample.ignition != ignition.told else { return }
    ignition.told = sample.ignition
    // Without a trip, a parked CAN bus that wakes up changes no state that must be stored.
    if state.trip != nil || sample.ignition == true { milestones += 1 }
    let since = max(
      watched ?? sample.timestamp, min(sample.ignitionSince ?? sample.timestamp, sample.timestamp))
    if sample.ignition != nil { state.trip?.knowsIgnition = true }
    switch sample.ignition {
    case true?:
      (ignition.before, ignition.believed) = (ignition.believed, true)
      switchOn(sample, at: since)
    case false?:
      // A CAN bus that becomes silent while the vehicle moves has failed, and does not indicate that the
      // ignition is off.
      let isMoving = state.trip.map { !isStanding($0) && (state.speed ?? 0) > Self.clearSpeed } ?? false
      ignition.believed = isMoving ? nil : false
      if !isMoving { switchOff(sample, at: min(since, sample.ignitionSince ?? since)) }
    case nil: ignition.believed = nil
    }
    state.ignition = ignition.believed
  }

  private mutating func switchOn(_ sample: TripSample, at timestamp: Timestamp) {
    if state.trip?.kind == .carried { finish() }
    guard state.trip == nil else { return }
    var start = state.seen ?? sample.point
    start.time =
      sample.time.map { $0.advanced(bySeconds: timestamp.seconds(since: sample.timestamp)) } ?? start.time
    (start.distance, start.estimated) = (sample.distance, sample.estimated)
    open(.driven, at: start, elapsed: 0, origin: sample.distance)
    watched = sample.timestamp
    state.trip?.elapsed = max(0, sample.timestamp.seconds(since: timestamp))
  }

  /// Moves the end of the trip to the time of ignition off. The trip continues if the ignition is switched on
  /// again soon.
  private mutating func switchOff(_ sample: TripSample, at timestamp: Timestamp) {
    guard var trip = state.trip, let watched else { return }
    guard trip.hasMoved else {
      state.trip = nil
      return
    }
    let off = trip.elapsed + timestamp.seconds(since: watched)
    guard off > trip.endElapsed else { return }
    let time = trip.end.time.map { $0.advanced(bySeconds: off - trip.endElapsed) }
    trip.elapsed = max(trip.elapsed, off)
    trip.pendingIdling = min(trip.pendingIdling, off - trip.endElapsed)
    trip.standing = max(0, off - trip.moving)
    trip.idling += trip.pendingIdling
    (trip.pendingIdling, trip.endElapsed, trip.end.time) = (0, off, time)
    state.trip = trip
    self.watched = max(watched, timestamp)
  }
}
