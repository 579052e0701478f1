internal import Glibc
public import Sensors
internal import Spatial

extension NavigationFilter {
  /// Takes the speed of the wheels.
  public mutating func process(_ speed: WheelSpeed) {
    guard origin != nil, speed.speed.isFinite, speed.speed >= 0, speed.speed < 150 else { return }
    let time = seconds(speed.timestamp)
    guard time > now - 2, time < now + 5 else { return }
    pendingSpeed = (time, speed.speed, speed.deviation)
  }

  /// Takes the pressure of the air, Pa; once a second is enough. Through an outage it keeps the height.
  public mutating func process(_ pressure: PressureData) {
    // A height that the receiver has not told yet is none to go on from.
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

  /// Takes the newest speed when the samples have reached it.
  mutating func takeSpeed() {
    guard let speed = pendingSpeed, speed.time <= now else { return }
    pendingSpeed = nil
    let age = now - speed.time
    // One that says how exact it is may be an OBD answer, which is some tenths of a second late.
    guard age < (speed.deviation == nil ? 0.3 : 0.8) else { return }
    let outcome = filter.update(
      wheelSpeed: speed.speed, age: age, deviation: speed.deviation, parameters)
    if outcome.isRefused { counters.refusedSpeeds += 1 }
  }

  // MARK: Outages

  /// s since the last position that was believed.
  var sinceAccepted: Double { receiver.lastAccepted.map { max(0, now - $0) } ?? .infinity }

  /// Whether a position is overdue.
  var isOutage: Bool { sinceAccepted > 1.5 * receiver.interval + 0.5 }

  /// Remembers the way through an outage, and for ten seconds after it corrects it.
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

  /// m/s: what a receiver says beyond it is not taken either; and m from the origin, which is moved along before.
  private static let (fastest, farthest) = (200.0, 1e5)

  /// Whether it is where and as fast as a vehicle can be. A receiver that is believed after all may be a continent away.
  private var isOnTheRoad: Bool {
    filter.state.velocity.length < Self.fastest
      && hypot(filter.state.position.x, filter.state.position.y) < Self.farthest
  }

  /// Gives up what is of no more use or contradicts itself.
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

/// Where the way through an outage stands.
enum OutagePhase: Hashable, Sendable {
  case none
  /// No receiver, since this time (s).
  case running(since: Double)
  /// The receiver is back since this time (s), and what it says still corrects the way.
  case settling(since: Double)
  /// The way can be taken.
  case finished
}
