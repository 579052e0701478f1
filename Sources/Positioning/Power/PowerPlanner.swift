internal import Glibc
public import Sensors
public import Spatial

/// Decides in one place what every sensor has to deliver: how soon could anything happen that must be told? Until then the
/// receiver sleeps; at rest the gyroscope and the magnetometer are off too, and the accelerometer runs just fast enough to
/// notice that the rest is over.
///
/// - The position is *held* between fixes: whoever follows the device takes it to go on at the speed and course last told.
///   It may stray from that by `Mobility.manoeuvre`; the receiver is woken so far ahead that the next fix comes before the
///   desired accuracy is used up, by what was learned of its time to a fix.
/// - With a distance filter, or an edge of a region within reach, what counts is how soon the device could get there.
/// - A region may ask for an accuracy of its own. Where its edge can be reached within half a minute, the position is held no
///   longer than it is that exact, whatever else is wanted; a rest that is confirmed is rest there, too.
/// - Where other sensors carry the position on, everybody gets it from there, and the receiver sleeps until twice its radius
///   would be the desired accuracy.
/// - Rest is believed when the accelerometer saw it and a fix taken since does not contradict. Its end wakes everything
///   at once.
/// - Where a kilometre or more is accurate enough and radios know the place, they are asked shortly before the receiver would have to be
///   woken, if that is cheaper; a position of theirs counts as a fix. Where they know nothing, the receiver is woken as without them.
/// - While fixes are only collected (deferred updates) they may wait in gpsd's socket, and the processor sleeps.
/// - At accuracies finer than a hundred metres the receiver sleeps at rest only while locations are paused, and the inertial
///   sensors keep their demands.
/// - A one-shot request powers the receiver in every state until it is answered or its time limit is over. A receiver that was
///   woken for a request alone returns to the sleep it was woken from. Radios answer first where they are accurate enough and cheaper.
///
/// A value type without I/O. Call `demands(for:at:)` after each change, and at `nextDeadline`.
public struct PowerPlanner: Sendable {
  /// Metres: from this accuracy on, rest is a reason to sleep.
  public static let restfulAccuracy = 100.0
  /// Hz and seconds: the accelerometer while it only watches for motion, which shows below 4 Hz. Two seconds
  /// make one wakeup of each 25 samples.
  public static let watchRate = 12.5
  public static let watchLatency = 2.0
  /// Seconds without a look at the position, however restful: a tow on rails may go unnoticed.
  public static let longestSleep = 1800.0
  /// Seconds: a shorter sleep costs more than it saves.
  public static let shortestSleep = 1.5
  /// Seconds between two looks of a receiver that has paused where no accelerometer watches; and what is as good as never.
  public static let blindSleep = 60.0
  private static let endless = 1e7
  /// Seconds after which a search for satellites is given up where none can be heard, and for how long, as a multiple of
  /// that: moving, and at rest, where nothing changes.
  public static let searchLimit = 90.0
  /// Seconds: a region asks for its own accuracy while its edge can be reached within so long.
  public static let approachTime = 30.0
  static let searchPause = (moving: 1.0, atRest: 9.0)

  /// m/s: a fix that is faster contradicts the accelerometer's rest.
  public static let restSpeed = 1.5
  /// m/s, one standard deviation: a receiver measures its speed by the Doppler shift to this at worst, while what gpsd
  /// says of it is derived from positions and far too much.
  private static let speedAccuracy = 0.5
  /// Metres, for a receiver that does not say.
  private static let horizontalAccuracy = 10.0
  /// m/s²: a speed that changes faster between two fixes is not believed before the next.
  private static let hardestBraking = 10.0
  /// Seconds between two fixes that are held against each other.
  private static let comparable = 3.0
  /// Seconds between positions by radios where the receiver has not found the sky since the start.
  private static let blindScans = 30.0
  /// Seconds after which radios are asked where the receiver that was woken finds nothing.
  private static let searchPatience = 15.0
  /// Seconds: a sleep as they are on the way.
  private static let briefSleep = 30.0
  /// Seconds kept as a reserve when the receiver is woken.
  private static let reserve = 0.3

  private enum Receiver: Sendable, Hashable {
    case off
    /// `slept`: seconds before it woke; infinite when its time to a fix teaches nothing (any more).
    case awake(since: Timestamp, slept: Double)
    /// At rest: nothing happens before the device sets off.
    case asleep(since: Timestamp, atRest: Bool)
  }

  private let mobility: Mobility
  private var receiver = Receiver.off
  /// Whether the receiver would be asleep without the one-shot request that woke it.
  private var isAwakeForRequest = false
  private var rest: (isAtRest: Bool, since: Timestamp)?
  private var pausedUntil: Timestamp?
  private var radios = RadioPlan()
  /// The fixes seen last: the newest, and whether the one before it bears it out.
  private var newest: (seen: Timestamp, speed: Double?)?
  private var isBorneOut = true
  /// What was learned of the receiver.
  public private(set) var fixTime: FixTimeEstimate
  /// When `demands` may say something else although nothing has happened; nil when only an event can change anything.
  public private(set) var nextDeadline: Timestamp?

  public init(mobility: Mobility = .vehicle, fixTime: FixTimeEstimate = FixTimeEstimate()) {
    self.mobility = mobility
    self.fixTime = fixTime
  }

  /// Whether the receiver is on, as of the last decision.
  public var isReceiverOn: Bool {
    if case .awake = receiver { true } else { false }
  }

  /// Learns what the accelerometer says of motion, and since when; nil when it cannot say (any more).
  public mutating func observe(isAtRest: Bool?, since: Timestamp) {
    guard isAtRest != rest?.isAtRest else { return }
    rest = isAtRest.map { ($0, since) }
    // What was given up at one place may be had at the next.
    pausedUntil = nil
  }

  /// What every kind of sensor must deliver from `time` on.
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

  /// What every kind of sensor must deliver while nothing sleeps.
  public static func fullDemands(for needs: PowerNeeds) -> [SensorKind: SensorDemand] {
    var demands = PowerPlanner().inertialDemands(for: needs)
    if needs.isPositionWanted { demands[.positioning] = receiverDemand(latency: 1) }
    return demands
  }

  private static func receiverDemand(latency: Double) -> SensorDemand {
    .rate(hertz: 1, latency: .seconds(latency))
  }

  // MARK: Radios

  /// A scan at once; the demand ends with it.
  private static let radioDemand = SensorDemand.rate(
    hertz: 1 / RadioPlan.longest, latency: .seconds(1))

  /// When radios have to be asked so that the receiver need not be woken; nil for not before something happens.
  /// - Parameter needs: with the newest position of any kind.
  private func radiosDue(_ needs: PowerNeeds, at time: Timestamp) -> Timestamp? {
    guard let coarse = needs.coarse, needs.isPositionWanted else { return nil }
    if coarse.isLearning { return time }
    // The first position after a start.
    if needs.location.timestamp == nil {
      guard !needs.takesCoarsePositions, let answered = coarse.answered else { return time }
      return answered.advanced(bySeconds: Self.blindScans)
    }
    guard needs.takesCoarsePositions else { return nil }
    switch receiver {
    case .off: return nil
    case .awake(let since, _):
      // It has been looking for the sky for longer than it should.
      return since.advanced(bySeconds: Self.searchPatience)
    case .asleep(let since, let atRest):
      guard isWorthAsking(coarse, atRest: atRest) else { return nil }
      if isRequested(needs, at: time) { return time }
      if atRest, rest?.isAtRest != true { return time }
      return wakeTime(needs, slept: time.seconds(since: since))?.advanced(bySeconds: -RadioPlan.lead(coarse))
    }
  }

  /// Whether radios cost less than the fix that they spare. Where the receiver finds none, everything does.
  private func isWorthAsking(_ coarse: CoarseSupply, atRest: Bool) -> Bool {
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

  /// Whether a one-shot request waits for a fix.
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
        // Until it has set off where radios say it is, it is at rest.
        receiver = .asleep(since: since, atRest: atRest)
      } else if isDue {
        wake(at: time, slept: slept, forRequest: !isDueAnyway)
      } else {
        receiver = .asleep(since: since, atRest: isRestConfirmed(needs))
        nextDeadline = due
      }
    }
  }

  /// A receiver that hangs repeats itself, and then catches up with a leap. Such a fix stays doubtful until the next: one
  /// that stands while the accelerometer feels motion, and one whose speed no brakes and no engine explain.
  private mutating func compareFixes(_ location: LocationNeeds) {
    guard let seen = location.timestamp else { return }
    let before = newest
    newest = (seen, location.speed)
    isBorneOut = true
    guard let speed = location.speed else { return }
    if let before, case let step = seen.seconds(since: before.seen), step > 0, step <= Self.comparable {
      if let known = before.speed, abs(speed - known) > Self.hardestBraking * step { isBorneOut = false }
    } else if speed < Self.restSpeed, rest?.isAtRest == false {
      isBorneOut = false
    }
  }

  private mutating func wake(at time: Timestamp, slept: Double, forRequest: Bool = false) {
    receiver = .awake(since: time, slept: slept)
    isAwakeForRequest = forRequest
    // A search that was given up stays given up after the request.
    if !forRequest { pausedUntil = nil }
    nextDeadline = time.advanced(bySeconds: Self.searchLimit)
  }

  /// While it is awake: a fix that is good enough may send it to sleep, and so does a search in vain.
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
    // Whoever asked for the best there is wants the search to go on.
    guard needs.tolerance >= Self.restfulAccuracy else { return }
    let giveUp = max(since, seen ?? since).advanced(bySeconds: Self.searchLimit)
    guard time >= giveUp else {
      nextDeadline = giveUp
      return
    }
    let pause = rest?.isAtRest == true ? Self.searchPause.atRest : Self.searchPause.moving
    pausedUntil = time.advanced(bySeconds: pause * Self.searchLimit)
    receiver = .asleep(since: time, atRest: false)
    nextDeadline = pausedUntil
  }

  /// When the receiver must be woken so that the next fix comes in time; nil for not before something happens.
  private func wakeTime(_ needs: PowerNeeds, slept: Double) -> Timestamp? {
    if let pausedUntil, !needs.isSeenByRadios { return pausedUntil }
    guard let seen = needs.location.timestamp else { return Timestamp(nanoseconds: .min) }
    if isRestConfirmed(needs) {
      return needs.location.isPaused ? nil : seen.advanced(bySeconds: Self.longestSleep)
    }
    let seconds = max(secondsUntilNeeded(needs), secondsCarried(needs, since: seen))
    guard seconds < Self.endless else {
      // Paused. Without an accelerometer only the receiver sees the end of that.
      return rest?.isAtRest == true ? nil : seen.advanced(bySeconds: Self.blindSleep)
    }
    let ahead = fixTime.seconds(afterSleeping: max(slept, seconds)) + Self.reserve
    let due = seen.advanced(bySeconds: seconds - ahead)
    guard let notBefore = needs.location.notBefore, needs.distanceToBoundary == nil else { return due }
    return max(due, notBefore.advanced(bySeconds: -ahead))
  }

  /// Seconds from the moment when the device was last seen until something may have to be told.
  private func secondsUntilNeeded(_ needs: PowerNeeds) -> Double {
    let location = needs.location
    let position = 2 * (location.horizontalAccuracy ?? Self.horizontalAccuracy)
    let speedError = 2 * min(location.speedAccuracy ?? Self.speedAccuracy, Self.speedAccuracy)
    let speed = location.speed.map { $0 + speedError } ?? mobility.topSpeed
    var seconds = Double.infinity
    if location.isWanted {
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

  /// Seconds from the moment when the device was last seen for which other sensors are as good as the receiver.
  private func secondsCarried(_ needs: PowerNeeds, since seen: Timestamp) -> Double {
    guard let carried = needs.carried, needs.tolerance > 0 else { return 0 }
    return carried.seconds(since: seen, until: needs.tolerance / 2)
  }

  private func isGoodEnough(_ needs: PowerNeeds) -> Bool {
    if needs.isSeenByRadios { return true }
    guard isBorneOut else { return false }
    if let speed = needs.location.speed, speed > mobility.topSpeed { return false }
    return 2 * (needs.location.horizontalAccuracy ?? Self.horizontalAccuracy) <= max(needs.tolerance, 20) / 2
  }

  /// Whether the device rests and was seen since where it rests.
  private func isRestConfirmed(_ needs: PowerNeeds) -> Bool {
    guard needs.mayRest, let rest, rest.isAtRest, let seen = needs.location.timestamp, seen >= rest.since
    else {
      return false
    }
    return needs.location.speed.map { $0 < Self.restSpeed } ?? true
  }
}

/// How fast a thing that moves can get away from where it was last seen, or from where it was taken to go.
public struct Mobility: Hashable, Sendable {
  /// m/s, at most.
  public var topSpeed: Double
  /// m/s²: the largest acceleration, braking or turning that is kept up for some seconds.
  public var manoeuvre: Double

  public init(topSpeed: Double, manoeuvre: Double) {
    self.topSpeed = topSpeed
    self.manoeuvre = manoeuvre
  }

  /// A road vehicle. On recorded city drives the way off a straight line over eight seconds amounted to 3.3 m/s² once, in
  /// a bend taken fast, and otherwise to less than 2.
  public static let vehicle = Mobility(topSpeed: 60, manoeuvre: 3.5)
  /// A person or a bicycle.
  public static let pedestrian = Mobility(topSpeed: 12, manoeuvre: 1.5)
  /// Anything that moves, aircraft excepted.
  public static let other = Mobility(topSpeed: 90, manoeuvre: 5)

  /// - Parameter activity: what carries the device.
  public init(_ activity: ActivityType) {
    switch activity {
    case .automotive: self = .vehicle
    case .pedestrian: self = .pedestrian
    case .other: self = .other
    }
  }

  /// Seconds until it may be `distance` metres from where it would be if it went on at constant speed and course: that
  /// speed may be wrong by `error` m/s already. Zero when the distance is not positive.
  public func secondsToStray(_ distance: Double, from speed: Double, error: Double) -> Double {
    // What comes the other way moves apart at both speeds.
    seconds(for: distance, startingAt: error, limit: min(max(0, speed), topSpeed) + topSpeed)
  }

  /// Seconds until it may have covered `distance` metres in any direction, from `speed` m/s on. Zero when the distance
  /// is not positive.
  public func secondsToCover(_ distance: Double, startingAt speed: Double) -> Double {
    seconds(for: distance, startingAt: speed, limit: topSpeed)
  }

  /// Metres that it may cover in so many seconds, from `speed` m/s on.
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
