internal import Glibc
public import Sensors
internal import Spatial

extension NavigationFilter {
  /// Processes a wheel speed.
  public mutating func process(_ speed: WheelSpeed) {
    guard origin != nil, speed.speed.isFinite, speed.speed >= 0, speed.speed < 150 else { return }
    let time = seconds(speed.timestamp)
    guard time > now - 2, time < now + 5 else { return }
    pendingSpeed = (time, speed.speed, speed.deviation)
  }

  /// Processes an air pressure in Pa; one value a second is sufficient. Stabilizes the height during an
  /// outage.
  public mutating func process(_ pressure: PressureData) {
    // A barometric height is relative, so a first height of the receiver is required.
    guard origin != nil, state == .aligned, receiver.isEllipsoidal != nil, pressure.pressure.isFinite else {
      return
    }
    let time = seconds(pressure.timestamp)
    guard time > now - 2, time < now + 5 else { return }
    let own = PressureHeight.Measurement(
      height: filter.state.position.z + frameAltitude, variance: filter.covariance.variance(2))
    let speed = hypot(filter.state.velocity.x, filter.state.velocity.y)
    guard
      let measured = height.process(
        pressure: pressure.pressure, time: time, height: own, speed: speed, isOutage: isOutage)
    else { return }
    filter.update(
      pressureHeight: measured.height - frameAltitude, variance: measured.variance, gate: parameters.gate)
  }

  /// Applies the latest wheel speed as soon as a sample with the same or a later time was processed.
  mutating func takeSpeed() {
    guard let speed = pendingSpeed, speed.time <= now else { return }
    pendingSpeed = nil
    let age = now - speed.time
    // A speed with a stated deviation may come from an OBD response, which is some tenths of a second late.
    guard age < (speed.deviation == nil ? 0.3 : 0.8) else { return }
    let outcome = filter.update(
      wheelSpeed: speed.speed, age: age, deviation: speed.deviation, parameters)
    if outcome.isRefused { counters.refusedSpeeds += 1 }
  }

  // MARK: Outages

  /// The time since the last accepted position, s.
  var sinceAccepted: Double { receiver.lastAccepted.map { max(0, now - $0) } ?? .infinity }

  /// True if no position has been accepted for longer than usual.
  var isOutage: Bool { sinceAccepted > 1.5 * receiver.interval + 0.5 }

  /// Records the track during an outage. For ten seconds after the outage, fixes still correct the recorded
  /// track.
  mutating func rememberOutage() {
    switch outage {
    case .none, .finished:
      guard isOutage else { return }
      filter.track.reset()
      filter.track.append(filter.state, filter.covariance, at: now)
      outage = .running(since: now)
    case .running(let since):
      if isOutage {
        filter.track.append(filter.state, filter.covariance, at: now)
      } else {
        outage = now - since < 2 ? .none : .settling(since: now)
        if outage == .none { filter.track.reset() }
      }
    case .settling(let since):
      if isOutage {
        outage = .running(since: since)
      } else if now - since >= 10 {
        filter.track.freeze()
        outage = .finished
      }
    }
  }

  /// The largest plausible speed in m/s, and the largest plausible distance from the origin in m. The origin
  /// is moved long before that distance is reached.
  private static let (fastest, farthest) = (200.0, 1e5)

  /// True if position and speed are plausible. A position that is accepted after repeated rejections may be
  /// on another continent.
  private var isOnTheRoad: Bool {
    filter.state.velocity.length < Self.fastest
      && hypot(filter.state.position.x, filter.state.position.y) < Self.farthest
  }

  /// Revokes the alignment if the position is too uncertain or implausible.
  mutating func judgeAccuracy() {
    guard filter.state.isFinite, filter.covariance.isValid, isOnTheRoad else {
      kept = nil
      return giveUp(.contradicted)
    }
    if walk.isWalking, hypot(filter.state.velocity.x, filter.state.velocity.y) < 5 || isOutage {
      kept = calibration
      return giveUp(.walking)
    }
    if consistency.isContradicted {
      kept = nil
      return giveUp(.contradicted)
    }
    guard isOutage else { return }
    let radius = radii().share95
    if !(radius <= parameters.largestRadius) {
      kept = calibration
      giveUp(.uncertain)
    }
  }
}

/// The state of the track through an outage.
enum OutagePhase: Hashable, Sendable {
  case none
  /// The outage has lasted since this time (s since the first scan).
  case running(since: Double)
  /// The receiver returned at this time (s since the first scan), and its fixes still correct the track.
  case settling(since: Double)
  /// The track is final and is no longer corrected.
  case finished
}
