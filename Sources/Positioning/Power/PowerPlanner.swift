internal import Glibc
public import Sensors
public import Spatial

/// Decides the demands on all sensors, by the earliest time at which something may have to be published.
/// Until then the receiver sleeps. At rest the gyroscope and the magnetometer are off too, and the
/// accelerometer runs just fast enough to detect the end of the rest.
///
/// - The position is *held* between fixes: consumers assume that the device continues with the last published
///   speed and course. Its deviation is limited by `Mobility.manoeuvre`. The receiver is powered early enough
///   that the next fix arrives before the desired accuracy is exceeded, according to the learned time to fix.
/// - With a distance filter, or a boundary of a region within reach, the earliest possible arrival there
///   counts.
/// - A region may require an accuracy of its own. If its boundary can be reached within half a minute, the
///   position is held only as long as it has that accuracy, whatever else is required. A confirmed rest near
///   a boundary is treated like any other rest.
/// - If other sensors continue the position, all consumers use it, and the receiver sleeps until twice its
///   radius would reach the desired accuracy.
/// - A rest is accepted if the accelerometer reports it and no later fix contradicts it. Its end activates
///   all sensors immediately.
/// - If an accuracy of a kilometre or more is sufficient and radios can provide the position, they are
///   scanned shortly before the receiver would be powered. This requires that a scan costs less. The position
///   from radios then counts as a fix. If the radios find nothing, the receiver is powered as if there were
///   no radios.
/// - While fixes are only collected (deferred updates) they may wait in gpsd's socket, and the processor
///   sleeps.
/// - At accuracies finer than a hundred metres the receiver sleeps at rest only while locations are paused,
///   and the inertial sensors keep their demands.
/// - No sleep at rest lasts longer than `longestSleep`, because an accelerometer may fail silently.
/// - A one-shot request powers the receiver in every state until it is answered or its time limit is over. A
///   receiver powered for a request alone then returns to its sleep. Radios answer first if they are accurate
///   enough and cheaper.
///
/// A value type without I/O. Call `demands(for:at:)` after each change, and at `nextDeadline`.
public struct PowerPlanner: Sendable {
  /// Accuracy in m from which the receiver may sleep at rest.
  public static let restfulAccuracy = 100.0
  /// Rate in Hz of the accelerometer while it only detects motion, which appears below 4 Hz.
  public static let watchRate = 12.5
  /// Latency in s of the accelerometer while it only detects motion. Two seconds cause one wakeup per 25
  /// samples.
  public static let watchLatency = 2.0
  /// Maximum time in s without a check of the position at rest, also while locations are paused. The
  /// accelerometer may miss transport on rails, and may fail without a report.
  public static let longestSleep = 1800.0
  /// Minimum duration of a sleep in s. Shorter sleeps cost more energy than they save.
  public static let shortestSleep = 1.5
  /// Interval in s between checks of the position, while locations are paused and no accelerometer is
  /// available.
  public static let blindSleep = 60.0
  /// A time in s that counts as never.
  private static let endless = 1e7
  /// Time in s after which an unsuccessful search for satellites ends.
  public static let searchLimit = 90.0
  /// Time in s to reach the boundary of a region, below which the region's own accuracy is required.
  public static let approachTime = 30.0
  /// Pause after an unsuccessful search for satellites, in multiples of `searchLimit`. It is longer at rest, where
  /// reception does not change. Without an accelerometer it doubles with each unsuccessful search, up to the
  /// pause at rest: a vehicle that drives out of a hall is found within 15 minutes.
  static let searchPause = (moving: 1.0, atRest: 9.0)

  /// Speed in m/s above which a fix contradicts a rest reported by the accelerometer.
  public static let restSpeed = 1.5
  /// Maximum assumed standard deviation in m/s of a receiver's Doppler speed. gpsd reports a much larger
  /// value, which it derives from positions.
  private static let speedAccuracy = 0.5
  /// Assumed accuracy in m (68 %) of a receiver that reports no accuracy.
  private static let horizontalAccuracy = 10.0
  /// Acceleration in m/s² between two fixes above which a speed is not accepted before the next fix.
  private static let hardestBraking = 10.0
  /// Maximum time in s between two fixes whose speeds are compared.
  private static let comparable = 3.0
  /// Interval in s between radio positions before the receiver's first fix.
  private static let blindScans = 30.0
  /// Time in s without a fix, after which radios are scanned in addition to the receiver's search.
  private static let searchTimeout = 15.0
  /// Typical duration in s of a sleep in motion.
  private static let briefSleep = 30.0
  /// Margin in s by which the receiver is powered early.
  private static let reserve = 0.3

  private enum Receiver: Sendable, Hashable {
    case off
    /// `slept`: duration in s of the preceding sleep; infinite if the time to fix cannot be used for
    /// learning.
    case awake(since: Timestamp, slept: Double)
    /// `atRest`: true if the receiver sleeps until the device departs from a confirmed rest.
    case asleep(since: Timestamp, atRest: Bool)
  }

  /// Speed and acceleration of which the vehicle is capable.
  public var mobility: Mobility
  private var receiver = Receiver.off
  /// True if the receiver would be asleep without the current one-shot request.
  private var isAwakeForRequest = false
  private var rest: (isAtRest: Bool, since: Timestamp)?
  private var pausedUntil: Timestamp?
  /// Number of unsuccessful searches since the newest fix.
  private var failedSearches = 0
  private var radios = RadioPlan()
  /// Time and speed in m/s of the newest fix; nil before the first.
  private var newest: (seen: Timestamp, speed: Double?)?
  /// True unless the newest fix contradicts the previous one or the accelerometer.
  private var isCorroborated = true
  /// Learned time to fix of the receiver.
  public private(set) var fixTime: FixTimeEstimate
  /// The next time at which `demands` may change without an event; nil if only an event can change them.
  public private(set) var nextDeadline: Timestamp?

  public init(mobility: Mobility = .vehicle, fixTime: FixTimeEstimate = FixTimeEstimate()) {
    self.mobility = mobility
    self.fixTime = fixTime
  }

  /// True if the last decision powers the receiver.
  public var isReceiverOn: Bool {
    if case .awake = receiver { true } else { false }
  }

  /// Updates the accelerometer's state, and the time since which it has been in that state; nil if unknown.
  public mutating func observe(isAtRest: Bool?, since: Timestamp) {
    guard isAtRest != rest?.isAtRest else { return }
    rest = isAtRest.map { ($0, since) }
    // After motion, a new search for satellites may succeed.
    pausedUntil = nil
  }

  /// Returns the demands on all kinds of sensors from `time` on.
  public mutating func demands(for needs: PowerNeeds, at time: Timestamp) -> [SensorKind: SensorDemand] {
    var demands = inertialDemands(for: needs)
    let isNews = needs.location.timestamp != newest?.seen
    if isNews { compareFixes(needs.location) }
    let seen = needs.withCoarsePosition(isAtRest: rest?.isAtRest == true)
    radios.update(needs.coarse, due: radiosDue(seen, at: time), at: time)
    decideReceiver(seen, isNews: isNews, at: time)
    demands[.positioning] = isReceiverOn ? Self.receiverDemand(latency: needs.latency) : .off
    if radios.asked != nil {
      for kind in needs.coarse?.radios ?? [] { demands[kind] = Self.radioDemand }
    }
    let due = needs.location.deadline.flatMap { $0 > time ? $0 : nil }
    nextDeadline = [nextDeadline, radios.nextDeadline, due].compactMap { $0 }.min()
    return demands
  }

  /// Returns the maximum demands on all kinds of sensors, which apply if no sensor may sleep.
  public static func fullDemands(for needs: PowerNeeds) -> [SensorKind: SensorDemand] {
    var demands = PowerPlanner().inertialDemands(for: needs)
    if needs.isPositionWanted { demands[.positioning] = receiverDemand(latency: 1) }
    return demands
  }

  private static func receiverDemand(latency: Double) -> SensorDemand {
    .rate(hertz: 1, latency: .seconds(latency))
  }

  // MARK: Radios

  /// A demand for an immediate scan, which ends with the answer.
  private static let radioDemand = SensorDemand.rate(
    hertz: 1 / RadioPlan.longest, latency: .seconds(1))

  /// Returns when radios must be scanned to avoid powering the receiver; nil if not before the next event.
  /// - Parameter needs: the needs with the newest position of any kind.
  private func radiosDue(_ needs: PowerNeeds, at time: Timestamp) -> Timestamp? {
    guard let coarse = needs.coarse, needs.isPositionWanted else { return nil }
    if coarse.isLearning { return time }
    // After a start no position is known, so radios are scanned immediately.
    if needs.location.timestamp == nil {
      guard !needs.takesCoarsePositions, let answered = coarse.answered else { return time }
      return answered.advanced(bySeconds: Self.blindScans)
    }
    guard needs.takesCoarsePositions else { return nil }
    switch receiver {
    case .off: return nil
    case .awake(let since, _):
      // Radios are scanned if the search for satellites lasts longer than usual.
      return since.advanced(bySeconds: Self.searchTimeout)
    case .asleep(let since, let atRest):
      guard isQueryUseful(coarse, atRest: atRest) else { return nil }
      if isRequested(needs, at: time) { return time }
      if atRest, rest?.isAtRest != true { return time }
      return wakeTime(needs, slept: time.seconds(since: since))?.advanced(bySeconds: -RadioPlan.lead(coarse))
    }
  }

  /// Returns whether a scan of radios costs less energy than the fix that it replaces. True also after an
  /// unsuccessful search of the receiver, and if the receiver's power is unknown.
  private func isQueryUseful(_ coarse: CoarseSupply, atRest: Bool) -> Bool {
    let sleep = atRest ? Self.longestSleep : Self.briefSleep
    let seconds = fixTime.seconds(afterSleeping: sleep) + Self.reserve
    return pausedUntil != nil || coarse.receiverPower == 0 || coarse.joules <= coarse.receiverPower * seconds
  }

  // MARK: Inertial sensors

  private func inertialDemands(for needs: PowerNeeds) -> [SensorKind: SensorDemand] {
    var demands = Dictionary(uniqueKeysWithValues: SensorKind.allCases.map { ($0, SensorDemand.off) })
    demands.merge(needs.restless) { $1 }
    if !(needs.isCoarse && rest?.isAtRest == true) { demands.merge(needs.inertial) { $1 } }
    let isMotionOfInterest = needs.isCoarse || needs.isPositionWanted && needs.watchesMotion
    if isMotionOfInterest, demands[.accelerometer] == .off {
      demands[.accelerometer] = .rate(hertz: Self.watchRate, latency: .seconds(Self.watchLatency))
    }
    return demands
  }

  // MARK: The receiver

  /// Returns whether a one-shot request waits for a fix.
  private func isRequested(_ needs: PowerNeeds, at time: Timestamp) -> Bool {
    needs.location.request.map { time < $0.deadline } ?? false
  }

  private mutating func decideReceiver(_ needs: PowerNeeds, isNews: Bool, at time: Timestamp) {
    nextDeadline = nil
    guard needs.isPositionWanted else {
      (receiver, isAwakeForRequest) = (.off, false)
      return
    }
    switch receiver {
    case .off: wake(at: time, slept: .infinity)
    case .awake(let since, let slept):
      considerSleep(needs, isNews: isNews, awakeSince: since, slept: slept, at: time)
    case .asleep(let since, let atRest):
      let slept = time.seconds(since: since)
      let isSeenSince =
        needs.isSeenByRadios && rest.map { needs.location.timestamp ?? $0.since > $0.since } ?? false
      let hasSetOff = atRest && rest?.isAtRest != true && !isSeenSince
      let due = wakeTime(needs, slept: slept)
      let isDueAnyway = hasSetOff || due.map { $0 <= time } ?? false
      let isDue = isDueAnyway || isRequested(needs, at: time)
      if isDue, radios.isAwaited(needs.coarse, at: time) {
        // `atRest` is unchanged until the radios have answered, because a rest at an older position confirms
        // nothing.
        receiver = .asleep(since: since, atRest: atRest)
      } else if isDue {
        wake(at: time, slept: slept, forRequest: !isDueAnyway)
      } else {
        receiver = .asleep(since: since, atRest: isRestConfirmed(needs))
        nextDeadline = due
      }
    }
  }

  /// Compares consecutive fixes. A receiver that hangs repeats a fix, and then jumps to the current position.
  /// Two kinds of fixes are therefore not corroborated before the next fix. One is a stationary fix while the
  /// accelerometer reports motion. The other is a fix whose change of speed exceeds that of any brakes or
  /// engine.
  private mutating func compareFixes(_ location: LocationNeeds) {
    guard let seen = location.timestamp else { return }
    failedSearches = 0
    let before = newest
    newest = (seen, location.speed)
    isCorroborated = true
    guard let speed = location.speed else { return }
    if let before, case let step = seen.seconds(since: before.seen), step > 0, step <= Self.comparable {
      if let known = before.speed, abs(speed - known) > Self.hardestBraking * step { isCorroborated = false }
    } else if speed < Self.restSpeed, rest?.isAtRest == false {
      isCorroborated = false
    }
  }

  private mutating func wake(at time: Timestamp, slept: Double, forRequest: Bool = false) {
    receiver = .awake(since: time, slept: slept)
    isAwakeForRequest = forRequest
    // A search that was abandoned is not resumed after the request.
    if !forRequest { pausedUntil = nil }
    nextDeadline = time.advanced(bySeconds: Self.searchLimit)
  }

  /// Considers sleep while the receiver is on, after a sufficient fix or an unsuccessful search.
  private mutating func considerSleep(
    _ needs: PowerNeeds, isNews: Bool, awakeSince since: Timestamp, slept: Double, at time: Timestamp
  ) {
    let seen = needs.location.timestamp
    if let seen, seen >= since, isGoodEnough(needs) {
      if slept.isFinite, !needs.isSeenByRadios {
        fixTime.observe(seconds: seen.seconds(since: since), afterSleeping: slept)
        receiver = .awake(since: since, slept: .infinity)
      }
      pausedUntil = nil
      if isRequested(needs, at: time) { return }
      let due = wakeTime(needs, slept: 0)
      if due.map({ $0.seconds(since: time) >= Self.shortestSleep }) ?? true {
        receiver = .asleep(since: time, atRest: isRestConfirmed(needs))
        nextDeadline = due
        return
      }
      if isNews { fixTime.forget() }
    }
    if isRequested(needs, at: time) { return }
    if isAwakeForRequest {
      isAwakeForRequest = false
      let due = wakeTime(needs, slept: 0)
      if due.map({ $0 > time }) ?? true {
        receiver = .asleep(since: time, atRest: isRestConfirmed(needs))
        nextDeadline = due
        return
      }
    }
    // At finer accuracies the search continues, except that of a check during a pause at rest.
    let isCheck = needs.location.isPaused && rest?.isAtRest == true
    guard needs.tolerance >= Self.restfulAccuracy || isCheck else { return }
    let giveUp = max(since, seen ?? since).advanced(bySeconds: Self.searchLimit)
    guard time >= giveUp else {
      nextDeadline = giveUp
      return
    }
    pausedUntil = time.advanced(bySeconds: isCheck ? Self.longestSleep : pauseAfterSearch)
    failedSearches += 1
    receiver = .asleep(since: time, atRest: false)
    nextDeadline = pausedUntil
  }

  /// Pause in s after an unsuccessful search, by the accelerometer's state and the number of earlier ones.
  private var pauseAfterSearch: Double {
    let (least, most) = Self.searchPause
    let pauses =
      switch rest?.isAtRest {
      case true?: most
      case false?: least
      case nil: min(most, least * Double(1 << min(failedSearches, 8)))
      }
    return Self.searchLimit * pauses
  }

  /// Returns the time at which the receiver must be switched on so that the next fix is in time; nil if it
  /// can stay off until the next event.
  private func wakeTime(_ needs: PowerNeeds, slept: Double) -> Timestamp? {
    if let pausedUntil, !needs.isSeenByRadios { return pausedUntil }
    guard let seen = needs.location.timestamp else { return Timestamp(nanoseconds: .min) }
    if isRestConfirmed(needs) { return seen.advanced(bySeconds: Self.longestSleep) }
    let seconds = max(secondsUntilNeeded(needs), secondsCarried(needs, since: seen))
    guard seconds < Self.endless else {
      // Locations are paused. Without an accelerometer, or against a fix in motion, only the receiver can
      // detect the end of the pause.
      let isBlind = rest?.isAtRest != true || needs.location.speed.map { $0 >= Self.restSpeed } ?? false
      return seen.advanced(bySeconds: isBlind ? Self.blindSleep : Self.longestSleep)
    }
    let ahead = fixTime.seconds(afterSleeping: max(slept, seconds)) + Self.reserve
    let due = seen.advanced(bySeconds: seconds - ahead)
    guard let notBefore = needs.location.notBefore, needs.distanceToBoundary == nil else { return due }
    return max(due, notBefore.advanced(bySeconds: -ahead))
  }

  /// Returns the time in s from the last observation until something may have to be published.
  private func secondsUntilNeeded(_ needs: PowerNeeds) -> Double {
    let location = needs.location
    let position = 2 * (location.horizontalAccuracy ?? Self.horizontalAccuracy)
    let speedError = 2 * min(location.speedAccuracy ?? Self.speedAccuracy, Self.speedAccuracy)
    let speed = location.speed.map { $0 + speedError } ?? mobility.topSpeed
    var seconds = Double.infinity
    if location.isWanted, location.distance == 0, let seen = location.timestamp, let due = location.notBefore
    {
      // The distance has been driven, so the location is published as soon as its interval has passed.
      seconds = max(0, due.seconds(since: seen))
    } else if location.isWanted {
      let room = needs.tolerance - position
      if let known = location.speed, location.distance == nil {
        seconds = mobility.secondsToStray(room, from: known, error: speedError)
      } else {
        seconds = mobility.secondsToCover(room + (location.distance ?? 0), startingAt: speed)
      }
    }
    if let unwatched = needs.secondsUnwatched { seconds = min(seconds, unwatched) }
    if let accuracy = needs.boundaryAccuracy {
      let room = accuracy - position
      let known = location.speed.map { mobility.secondsToStray(room, from: $0, error: speedError) }
      seconds = min(seconds, known ?? mobility.secondsToCover(room, startingAt: speed))
    }
    if let edge = needs.distanceToBoundary {
      seconds = min(seconds, mobility.secondsToCover(edge - position, startingAt: speed))
    }
    return seconds
  }

  /// Returns the time in s from the last observation, until the position continued by other sensors has a
  /// radius of half the required accuracy.
  private func secondsCarried(_ needs: PowerNeeds, since seen: Timestamp) -> Double {
    guard let carried = needs.carried, needs.tolerance > 0 else { return 0 }
    return carried.seconds(since: seen, until: needs.tolerance / 2)
  }

  private func isGoodEnough(_ needs: PowerNeeds) -> Bool {
    if needs.isSeenByRadios { return true }
    guard isCorroborated else { return false }
    if let speed = needs.location.speed, speed > mobility.topSpeed { return false }
    return 2 * (needs.location.horizontalAccuracy ?? Self.horizontalAccuracy) <= max(needs.tolerance, 20) / 2
  }

  /// Returns whether the device is at rest, and a fix since the start of the rest confirms it.
  private func isRestConfirmed(_ needs: PowerNeeds) -> Bool {
    guard needs.mayRest, let rest, rest.isAtRest, let seen = needs.location.timestamp, seen >= rest.since
    else {
      return false
    }
    return needs.location.speed.map { $0 < Self.restSpeed } ?? true
  }
}

/// Limits of motion: how fast a device can leave its last observed or its predicted position.
public struct Mobility: Hashable, Sendable {
  /// Maximum speed in m/s.
  public var topSpeed: Double
  /// Maximum acceleration in m/s² by accelerating, braking or turning for some seconds.
  public var manoeuvre: Double

  public init(topSpeed: Double, manoeuvre: Double) {
    self.topSpeed = topSpeed
    self.manoeuvre = manoeuvre
  }

  /// A road vehicle. The deviation from a straight line over eight seconds was evaluated on recorded city
  /// drives. It was equivalent to an acceleration of 3.3 m/s² once, in a fast bend, and otherwise to less
  /// than 2 m/s².
  public static let vehicle = Mobility(topSpeed: 60, manoeuvre: 3.5)
  /// A person or a bicycle.
  public static let pedestrian = Mobility(topSpeed: 12, manoeuvre: 1.5)
  /// Any vehicle except aircraft.
  public static let other = Mobility(topSpeed: 90, manoeuvre: 5)

  /// - Parameter activity: type of motion.
  public init(_ activity: ActivityType) {
    switch activity {
    case .automotive: self = .vehicle
    case .pedestrian: self = .pedestrian
    case .other: self = .other
    }
  }

  /// Returns the time in s until the device may be `distance` metres away from the position predicted with
  /// constant speed and course. `error` is the possible error of that speed in m/s. Zero if the distance is
  /// not positive.
  public func secondsToStray(_ distance: Double, from speed: Double, error: Double) -> Double {
    // If the device turns back, its distance from the predicted position grows by the sum of both speeds.
    seconds(for: distance, startingAt: error, limit: min(max(0, speed), topSpeed) + topSpeed)
  }

  /// Returns the time in s until the device may have travelled `distance` metres in any direction, starting
  /// at `speed` m/s. Zero if the distance is not positive.
  public func secondsToCover(_ distance: Double, startingAt speed: Double) -> Double {
    seconds(for: distance, startingAt: speed, limit: topSpeed)
  }

  /// Returns the distance in m that the device may travel in a time in s, starting at `speed` m/s.
  public func metersCovered(in seconds: Double, startingAt speed: Double) -> Double {
    let start = min(max(0, speed), topSpeed)
    let rise = min(seconds, (topSpeed - start) / manoeuvre)
    return start * rise + manoeuvre * rise * rise / 2 + topSpeed * (seconds - rise)
  }

  private func seconds(for distance: Double, startingAt speed: Double, limit: Double) -> Double {
    guard distance > 0 else { return 0 }
    let start = min(max(0, speed), limit)
    let rise = (limit - start) / manoeuvre
    let covered = (start + limit) / 2 * rise
    if distance > covered { return rise + (distance - covered) / limit }
    return ((start * start + 2 * manoeuvre * distance).squareRoot() - start) / manoeuvre
  }
}
