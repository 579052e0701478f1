internal import Glibc
internal import Spatial

// Creation of trip records, and updates of the stored state at the end of each step.
extension TripRecorder {
  mutating func finishStep(_ sample: TripSample) {
    let step = watched.map { sample.timestamp.seconds(since: $0) } ?? 0
    (watched, state.seen, state.speed) = (sample.timestamp, seen(sample), sample.speed ?? sample.wheelSpeed)
    if sample.isLocated, let seen = state.seen { located = Moment(timestamp: sample.timestamp, point: seen) }
    if var trip = state.trip {
      trip.observe(sample.time)
      if step <= Self.longestStep {
        if let rate = sample.fuelRate, rate.isFinite, rate >= 0 {
          trip.fuel = (trip.fuel ?? 0) + rate * step / 3600
        }
        if let power = sample.power, power.isFinite {
          trip.electricity = (trip.electricity ?? 0) + power * step / 3.6e6
        }
      }
      state.trip = trip
    }
    if let trip = state.trip, isStanding(trip), stirred == nil, trip.standingFor >= longestStop { finish() }
    guard let interval = settings.interval, let trip = state.trip, trip.number != nil,
      trip.elapsed - trip.toldElapsed >= interval, trip.standingFor == 0
    else { return }
    tell(.underway)
  }

  /// Returns the point for the stored state. If only wheels or the accelerometer observe, the position is
  /// unchanged at rest and unknown otherwise.
  private func seen(_ sample: TripSample) -> TripPoint {
    var point = sample.point
    if !sample.isLocated, let seen = state.seen, seen.distance == sample.distance {
      (point.coordinate, point.accuracy) = (seen.coordinate, seen.accuracy)
    }
    point.time = point.time ?? state.seen?.time.map { $0.advanced(bySeconds: elapsedSinceSeen(sample)) }
    return point
  }

  private func elapsedSinceSeen(_ sample: TripSample) -> Double {
    watched.map { sample.timestamp.seconds(since: $0) } ?? 0
  }

  /// Ends the trip at the position where the vehicle came to rest.
  public mutating func finish() {
    guard let trip = state.trip else { return }
    if trip.number != nil {
      tell(.ended)
      state.boundary = trip.end
      state.purpose = nil
    }
    state.trip = nil
    rise = nil
  }

  mutating func tell(_ phase: TripRecord.Phase) {
    guard state.trip?.number != nil else { return }
    state.trip?.revision += 1
    let elapsed = state.trip?.elapsed ?? 0
    state.trip?.toldElapsed = elapsed
    guard let record = state.trip?.record(state, phase) else { return }
    // A record replaces all earlier records of its trip. Still, one record of each phase is retained.
    state.unconfirmed.removeAll {
      $0.series == record.series && $0.number == record.number && ($0.phase == phase || phase == .ended)
    }
    state.unconfirmed.append(record)
    if state.unconfirmed.count > TripState.mostUnconfirmed { state.unconfirmed.removeFirst() }
    statements.append(record)
    milestones += 1
  }

  /// Continues from a new or replaced odometer. Published trips remain valid; the next trip counts from this
  /// odometer value.
  mutating func restart(_ sample: TripSample) {
    guard state.boundary != nil || sample.isLocated || sample.isWatched else { return }
    finish()
    state.trip = nil
    (state.boundary, state.seen, state.speed, watched) = (sample.point, sample.point, nil, sample.timestamp)
  }
}
